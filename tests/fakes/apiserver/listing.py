"""Lists: what is selected, at which version, in which pages.

Responsible for list options, continue tokens and the bytes of a list. It must not know connections or faults, except
that a list may be asked for as it was at an earlier version.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping

import msgspec

from tests.fakes.apiserver.kinds import Document, Resource
from tests.fakes.apiserver.requests import Call, number
from tests.fakes.apiserver.selectors import Matches, fields_selector, labels_selector
from tests.fakes.apiserver.statuses import (
    INCONSISTENT,
    Problem,
    RefusedError,
    bad_request,
    failure,
    invalid,
)
from tests.fakes.apiserver.store import Form, Store, Stored, type_fields

_TOO_OLD = "The resourceVersion for the provided list is too old."
_INCONSISTENT_VERSION = -1


class Token(msgspec.Struct, frozen=True):
    """A continue token; `start` is what the next page begins behind or at. `rv` is -1 where any version will do."""

    v: str
    rv: int
    start: str


class View(msgspec.Struct, frozen=True):
    """Which objects of a resource a request is about."""

    resource: Resource
    namespace: str
    matches: Matches

    def shows(self, stored: Stored) -> bool:
        in_namespace = not self.namespace or stored.key[0] == self.namespace
        return in_namespace and self.matches(stored.document)

    def of(self, objects: list[Stored]) -> list[Stored]:
        return [stored for stored in objects if self.shows(stored)]


def view_of(call: Call, resource: Resource) -> View:
    """Raises `RefusedError`, 400, for a selector that cannot be read. A path may name the one object to watch, too."""
    labels = labels_selector(call.query.get("labelSelector", ""))
    fields = fields_selector(call.query.get("fieldSelector", ""), resource)
    if not call.query.get("labelSelector") and not call.query.get("fieldSelector") and not call.name:
        return View(resource, call.namespace, lambda _: True)

    def matches(document: Document) -> bool:
        is_named = call.name in ("", document["metadata"]["name"])
        return is_named and labels(document) and fields(document)

    return View(resource, call.namespace, matches)


def list_body(
    store: Store, view: View, query: Mapping[str, str], *, form: Form, has_cache: bool, at: int | None = None
) -> bytes:
    """The answer to a list. With `at`, a server that has seen nothing since that version answers.

    Raises `RefusedError` with 400, 410, 422 or 504. With `has_cache`, a list at version 0 comes from the watch cache,
    which knows no pages.
    """
    _check_options(query)
    token = _token_of(query)
    version, objects = _snapshot(store, view.resource, query, token=token, at=at)
    selected = [stored for stored in view.of(objects) if token is None or _place(stored, view) >= token.start]
    limit = number(query, "limit")
    if has_cache and query.get("resourceVersion") == "0":
        limit = 0
    page, rest = (selected[:limit], selected[limit:]) if limit else (selected, [])
    metadata: dict[str, object] = {"resourceVersion": str(version)}
    if rest:
        kept = _INCONSISTENT_VERSION if token and token.rv == _INCONSISTENT_VERSION else version
        metadata["continue"] = _written(Token("meta.k8s.io/v1", kept, _place(page[-1], view) + "\0"))
        if not query.get("labelSelector") and not query.get("fieldSelector"):
            metadata["remainingItemCount"] = len(rest)
    return _list_bytes(view.resource, form, metadata, page)


def _check_options(query: Mapping[str, str]) -> None:
    match, version = query.get("resourceVersionMatch", ""), query.get("resourceVersion", "")
    if query.get("sendInitialEvents"):
        raise _forbidden("sendInitialEvents", "is forbidden for list")
    if match and not version:
        raise _forbidden("resourceVersionMatch", "is forbidden unless resourceVersion is provided")
    if match == "Exact" and version == "0":
        raise _forbidden("resourceVersionMatch", '"exact" is forbidden for resourceVersion "0"')
    if query.get("continue") and version not in ("", "0"):
        raise bad_request("specifying resource version is not allowed when using continue")


def _forbidden(field: str, text: str) -> RefusedError:
    problem = Problem(field, "FieldValueForbidden", f"Forbidden: {field} {text}")
    return invalid("ListOptions", "meta.k8s.io", "", [problem])


def _snapshot(
    store: Store, resource: Resource, query: Mapping[str, str], *, token: Token | None, at: int | None
) -> tuple[int, list[Stored]]:
    version = at if at is not None else store.version
    asked = number(query, "resourceVersion")
    if token is not None and token.rv != _INCONSISTENT_VERSION:
        objects = store.objects_at(resource.kind, token.rv)
        if objects is None:
            again = _written(Token(token.v, _INCONSISTENT_VERSION, token.start.removeprefix("/")))
            raise RefusedError(failure(410, INCONSISTENT) | {"metadata": {"continue": again}})
        return token.rv, objects
    if asked > version:
        raise _too_large(asked, version)
    match = query.get("resourceVersionMatch", "")
    if asked and (match == "Exact" or (number(query, "limit") and not match)):
        version = asked
    objects = store.objects_at(resource.kind, version)
    if objects is None:
        raise RefusedError(failure(410, _TOO_OLD))
    return version, objects


def _too_large(asked: int, version: int) -> RefusedError:
    message = f"Too large resource version: {asked}, current: {version}"
    cause = {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
    details = {"causes": [cause], "retryAfterSeconds": 1}
    return RefusedError(failure(504, f"Timeout: {message}", details=details))


def _place(stored: Stored, view: View) -> str:
    """Where an object stands in the order of the list, as a continue token names it."""
    namespace, name = stored.key
    return f"/{name}" if view.namespace or not view.resource.is_namespaced else f"/{namespace}/{name}"


def _token_of(query: Mapping[str, str]) -> Token | None:
    text = query.get("continue", "")
    if not text:
        return None
    try:
        token = msgspec.json.decode(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)), type=Token)
    except (binascii.Error, ValueError, msgspec.DecodeError):
        problem = r"continue key is not valid: invalid character '\x81' looking for beginning of value"
        raise bad_request(f"invalid continue token: {problem}") from None
    return msgspec.structs.replace(token, start="/" + token.start.removeprefix("/"))


def _written(token: Token) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode(token)).rstrip(b"=").decode()


def _list_bytes(resource: Resource, form: Form, metadata: Mapping[str, object], page: list[Stored]) -> bytes:
    kind, version = f"{resource.kind}List", resource.api_version
    opening = b"{"
    if form is Form.METADATA:
        kind, version = "PartialObjectMetadataList", "meta.k8s.io/v1"
        opening = type_fields(resource, form)
    head = msgspec.json.encode({"kind": kind, "apiVersion": version, "metadata": metadata})
    items = b",".join(opening + stored.fields(resource, form) for stored in page)
    return b'%b,"items":[%b]}\n' % (head[:-1], items)
