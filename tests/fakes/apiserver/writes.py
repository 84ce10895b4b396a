"""Create, update, patch and delete: what a write request makes of the store.

Responsible for the order of checks, for stale versions, for the status subresource and for writes that change nothing.
It must not know HTTP beyond the media types of patches.
"""

from __future__ import annotations

import random
import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import msgspec
import yaml

from tests.fakes.apiserver.defaults import completed, identified
from tests.fakes.apiserver.events import as_core, from_core
from tests.fakes.apiserver.kinds import CORE_EVENT, EVENT, Document, Resource
from tests.fakes.apiserver.patching import json_patched, merged, strategically_merged
from tests.fakes.apiserver.statuses import (
    Problem,
    RefusedError,
    already_exists,
    bad_request,
    conflict,
    failure,
    invalid,
    not_found,
)
from tests.fakes.apiserver.store import Key, Store, Stored
from tests.fakes.apiserver.validation import check, check_times

_SUFFIX_LETTERS = "bcdfghjklmnpqrstvwxz2456789"
_APPLY = "application/apply-patch+yaml"
_PATCHES: dict[str, Callable[[Document, Any], Any]] = {
    "application/merge-patch+json": merged,
    "application/json-patch+json": json_patched,
    "application/strategic-merge-patch+json": strategically_merged,
    _APPLY: merged,
}


def decoded(body: bytes) -> Document:
    """A request's body as a JSON object, or a YAML one as `kubectl apply --server-side` sends it."""
    try:
        document = msgspec.json.decode(body)
    except msgspec.DecodeError:
        try:
            document = yaml.safe_load(body)
        except yaml.YAMLError as error:
            raise bad_request(f"the object provided is unrecognized: {error}") from None
    if not isinstance(document, dict):
        raise bad_request("the object provided is unrecognized (must be of type Object)")
    return document


def put(store: Store, resource: Resource, document: Document) -> Stored:
    """Create or replace an object whole, as the test says, with uid and creationTimestamp if it gives them."""
    if resource is CORE_EVENT or (document.get("apiVersion") == CORE_EVENT.api_version and resource is EVENT):
        resource, document = EVENT, from_core(document)
    metadata = dict(document["metadata"])
    if resource.is_namespaced:
        metadata.setdefault("namespace", "default")
    old = store.find(resource.kind, (metadata.get("namespace", ""), metadata["name"]))
    given = {name: metadata[name] for name in ("uid", "creationTimestamp") if metadata.get(name)}
    return _write(store, resource, document | {"metadata": metadata}, old, given=given)


def create(store: Store, resource: Resource, namespace: str, body: bytes, *, manager: str = "") -> Stored:
    """POST. Raises `RefusedError` with 400, 409 or 422."""
    document = _placed(resource, decoded(body), namespace)
    metadata = document["metadata"]
    if not metadata.get("name"):
        if not metadata.get("generateName"):
            problem = Problem("metadata.name", "FieldValueRequired", "Required value: name or generateName is required")
            raise invalid(resource.kind, resource.group, "", [problem])
        metadata["name"] = metadata["generateName"] + "".join(random.choices(_SUFFIX_LETTERS, k=5))
    check_times(resource, document)
    document = _stored_shape(resource, document)
    if resource.has_status and resource.kind != "Node":
        document.pop("status", None)
    check(resource, document)
    if store.find(resource.kind, (namespace, metadata["name"])):
        raise already_exists(resource, metadata["name"])
    return _write(store, resource, managed(document, manager, ""), None)


def update(store: Store, resource: Resource, key: Key, *, subresource: str, body: bytes, manager: str = "") -> Stored:
    """PUT. Raises `RefusedError` with 400, 404, 409 or 422."""
    document = _placed(resource, decoded(body), key[0])
    check_times(resource, document)
    if document["metadata"].setdefault("name", key[1]) != key[1]:
        name = document["metadata"]["name"]
        raise bad_request(f"the name of the object ({name}) does not match the name on the URL ({key[1]})")
    old = store.find(resource.kind, key)
    if old is None:
        if not resource.creates_on_update or subresource:
            raise not_found(resource, key[1])
        return _write(store, resource, managed(_stored_shape(resource, document), manager, ""), None)
    if not document["metadata"].get("resourceVersion") and resource.needs_version_to_update:
        problem = Problem(
            "metadata.resourceVersion", "FieldValueInvalid", "Invalid value: 0x0: must be specified for an update"
        )
        raise invalid(resource.kind, resource.group, key[1], [problem])
    shaped = _stored_shape(resource, document)
    return _replace(store, resource, old, document=shaped, subresource=subresource, manager=manager)


def patch(
    store: Store,
    resource: Resource,
    key: Key,
    *,
    subresource: str,
    content_type: str,
    body: bytes,
    manager: str = "",
) -> tuple[Stored, bool]:
    """PATCH; also whether it created the object, as applying does. Raises `RefusedError`: 400, 404, 409, 415, 422."""
    apply = _PATCHES.get(content_type)
    if apply is None:
        listed = ", ".join(_PATCHES)
        message = f"the body of the request was in an unknown format - accepted media types include: {listed}"
        raise RefusedError(failure(415, message))
    change = decoded(body) if content_type != "application/json-patch+json" else _operations(body)
    old = store.find(resource.kind, key)
    if old is None and content_type == _APPLY:
        return create(store, resource, key[0], msgspec.json.encode(change), manager=manager), True
    if old is None:
        raise not_found(resource, key[1])
    before = as_core(old.document) if resource is CORE_EVENT else old.document
    asked = change.get("metadata", {}).get("resourceVersion") if isinstance(change, dict) else None
    document = apply(before, change)
    if not asked:
        document = document | {"metadata": document["metadata"] | {"resourceVersion": ""}}
    check_times(resource, document)
    shaped = _stored_shape(resource, document)
    return _replace(store, resource, old, document=shaped, subresource=subresource, manager=manager), False


def _operations(body: bytes) -> Any:
    try:
        return msgspec.json.decode(body)
    except msgspec.DecodeError as error:
        raise bad_request(f"error decoding patch: {error}") from None


def delete(store: Store, resource: Resource, key: Key, body: bytes) -> Stored:
    """DELETE. Raises `RefusedError` with 404, or 409 where the preconditions of DeleteOptions do not hold."""
    old = store.find(resource.kind, key)
    if old is None:
        raise not_found(resource, key[1])
    wanted = (decoded(body).get("preconditions") or {}) if body else {}
    for field, is_called in (("uid", "UID"), ("resourceVersion", "ResourceVersion")):
        actual = old.document["metadata"][field]
        if wanted.get(field, actual) != actual:
            problem = f"Precondition failed: {is_called} in precondition: {wanted[field]}, "
            raise conflict(resource, key[1], f"{problem}{is_called} in object meta: {actual}")
    metadata = old.document["metadata"]
    if metadata.get("finalizers"):
        at = metadata.get("deletionTimestamp") or _now()
        return store.write(resource.kind, old.document | {"metadata": metadata | {"deletionTimestamp": at}})
    return store.remove(resource.kind, key)


def _placed(resource: Resource, document: Document, namespace: str) -> Document:
    """The document as one of this resource in this namespace, which is what its path says."""
    kind, version = document.get("kind", resource.kind), document.get("apiVersion", resource.api_version)
    if (kind, version) != (resource.kind, resource.api_version):
        group_version = f"{resource.group or 'v1'}/{resource.version}" if resource.group else resource.version
        raise bad_request(
            f"the API version in the data ({version}) does not match the expected API version ({group_version})"
        )
    metadata = dict(document.get("metadata") or {})
    if resource.is_namespaced and metadata.setdefault("namespace", namespace) != namespace:
        raise bad_request("the namespace of the provided object does not match the namespace sent on the request")
    return document | {"metadata": metadata}


def _stored_shape(resource: Resource, document: Document) -> Document:
    return from_core(document) if resource is CORE_EVENT else document


def _replace(
    store: Store, resource: Resource, old: Stored, *, document: Document, subresource: str, manager: str
) -> Stored:
    metadata = document["metadata"]
    if metadata.get("resourceVersion") not in (None, "", str(old.version)):
        raise conflict(resource, old.key[1])
    if metadata.get("uid", "") not in ("", old.document["metadata"]["uid"]):
        uids = f"Precondition failed: UID in precondition: {metadata['uid']}"
        raise conflict(resource, old.key[1], f"{uids}, UID in object meta: {old.document['metadata']['uid']}")
    if subresource:
        document = {**old.document, "metadata": metadata, "status": document.get("status", {})}
    elif resource.has_status and "status" in old.document:
        document = document | {"status": old.document["status"]}
    check(resource, document)
    whole = _whole(store, resource, document, old)
    if _is_same(whole, old.document):
        return old
    if metadata.get("deletionTimestamp") and not metadata.get("finalizers"):
        return store.remove(resource.kind, old.key)
    return store.write(_stored_as(resource).kind, managed(whole, manager, subresource))


def managed(document: Document, manager: str, subresource: str) -> Document:
    """The document with `manager` as the one that wrote it last; without a name nobody is noted."""
    if not manager:
        return document
    known = document["metadata"].get("managedFields", [])
    kept = [each for each in known if (each["manager"], each.get("subresource", "")) != (manager, subresource)]
    entry = {"manager": manager, "operation": "Update", "time": _now()}
    entry |= {"subresource": subresource} if subresource else {}
    return document | {"metadata": document["metadata"] | {"managedFields": [*kept, entry]}}


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _stored_as(resource: Resource) -> Resource:
    return EVENT if resource is CORE_EVENT else resource


def _write(
    store: Store, resource: Resource, document: Document, old: Stored | None, *, given: Document | None = None
) -> Stored:
    return store.write(_stored_as(resource).kind, _whole(store, resource, document, old, given=given))


def _whole(
    store: Store, resource: Resource, document: Document, old: Stored | None, *, given: Document | None = None
) -> Document:
    """The document with what the server adds to it."""
    stored_as = _stored_as(resource)
    address = f"10.96.{store.version // 250 % 250}.{store.version % 250 + 1}"
    whole = completed(stored_as, document, cluster_ip=_address(old) or address)
    identity = old.document["metadata"] if old else {"uid": str(uuid.uuid4()), "creationTimestamp": _now()}
    whole = identified(stored_as, whole, old.document if old else None, identity=identity | (given or {}))
    known = (old.document if old else document)["metadata"].get("managedFields")
    return whole | {"metadata": whole["metadata"] | {"managedFields": known}} if known else whole


def _address(old: Stored | None) -> str:
    address: str = (old.document.get("spec") or {}).get("clusterIP", "") if old else ""
    return address


def _is_same(document: Document, old: Document) -> bool:
    metadata = document["metadata"] | {"resourceVersion": old["metadata"]["resourceVersion"]}
    return document | {"metadata": metadata} == old
