"""Makes the manifest that zonal serves of one that another controller serves: a second object beside the first.

Keeps everything that says what is served, and leaves out what belongs to somebody else. Does not know files.
"""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from ingress.migration.belongings import OF_OWNERS, OF_THE_SERVER, foreign
from ingress.migration.round_trips import rename_key, without_key
from ingress.objects.names import SUBDOMAIN
from ingress.settings.table.option import NGINX_PREFIX
from ingress.translation.ingress.acceptance import CLASS_ANNOTATION

RawObject = dict[str, Any]

PREFERRED: Mapping[str, str] = {
    "whitelist-source-range": "allowlist-source-range",
    "limit-whitelist": "limit-allowlist",
}
"""Annotations, without the prefix, that have a better name. ingress-nginx reads the old one if the other is absent."""

SUGGESTED: Mapping[str, str] = {
    "body-size": "proxy-body-size may be meant",
    "client-max-body-size": "proxy-body-size may be meant",
    "from-to-www": "from-to-www-redirect may be meant",
    "grpc-backend": "backend-protocol may be meant",
    "secure-backends": "backend-protocol may be meant",
    "upstream-fail-timeout": "zonal-ingress.io/ejection-time does this",
    "upstream-max-fails": "zonal-ingress.io/ejection-consecutive-errors does this",
    "use-forwarded-headers": "the key of the ConfigMap does this",
}
"""Annotations that ingress-nginx ignores, and what their author may want. They are kept as they are."""

_NAME_MOST = 253
_DIGEST_LENGTH = 8


class Moved(msgspec.Struct, frozen=True):
    """The new object, and a sentence for each thing in it that is another than in the old one."""

    document: RawObject
    changes: tuple[str, ...]


def moved_ingress(document: RawObject, *, class_name: str, suffix: str) -> Moved:
    """The Ingress with the class `class_name` and a name that ends in `suffix`."""
    new = copy.deepcopy(document)
    metadata, changes = new["metadata"], list[str]()
    changes += _without_foreign(metadata)
    metadata["name"] = name_beside(metadata["name"], suffix)
    given = metadata.get("annotations") or {}
    if CLASS_ANNOTATION in given:
        without_key(given, CLASS_ANNOTATION)
        changes.append(f"{CLASS_ANNOTATION} is spec.ingressClassName now.")
    changes += _renamed(given)
    changes += [f"{name} has no effect in ingress-nginx: {SUGGESTED[name]}." for name in _named(given, SUGGESTED)]
    for field in ("labels", "annotations"):
        if not metadata.get(field):
            metadata.pop(field, None)
    new.pop("status", None)
    if not new.get("spec"):
        new["spec"] = {}
    new["spec"]["ingressClassName"] = class_name
    return Moved(new, tuple(changes))


def moved_config_map(document: Mapping[str, Any], *, namespace: str, name: str) -> RawObject:
    """The ConfigMap with all of its keys, under the name that zonal reads."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": namespace},
        "data": {
            str(key): str(text) if isinstance(text, str) else text for key, text in (document.get("data") or {}).items()
        },
    }


def name_beside(name: str, suffix: str) -> str:
    """`name` with `suffix`, as another valid name; a name that would be too long is cut, and told apart by a digest."""
    found = f"{name}-{suffix}"
    if SUBDOMAIN.fullmatch(found):
        return found
    digest = hashlib.sha256(name.encode()).hexdigest()[:_DIGEST_LENGTH]
    kept = name[: _NAME_MOST - len(suffix) - _DIGEST_LENGTH - 2].rstrip("-.")
    return f"{kept}-{digest}-{suffix}"


def _renamed(annotations: dict[str, Any]) -> Iterator[str]:
    """Renames annotations in place."""
    for old in _named(annotations, PREFERRED):
        new = PREFERRED[old]
        if not str(annotations.get(NGINX_PREFIX + new) or "").strip():
            if NGINX_PREFIX + new in annotations:
                without_key(annotations, NGINX_PREFIX + new)
            rename_key(annotations, NGINX_PREFIX + old, NGINX_PREFIX + new)
            yield f"{old} is called {new} now."


def _named(annotations: Mapping[str, Any], table: Mapping[str, str]) -> list[str]:
    return [name for name in table if NGINX_PREFIX + name in annotations]


def _without_foreign(metadata: RawObject) -> Iterator[str]:
    """Takes away in place what belongs to the API server and to other programs."""
    for field in OF_THE_SERVER:
        metadata.pop(field, None)
    for field in OF_OWNERS:
        if metadata.pop(field, None):
            yield f"metadata.{field} is left out: the new Ingress belongs to nobody else."
    for field in ("labels", "annotations"):
        for name, owner in tuple(foreign(metadata.get(field) or {})):
            without_key(metadata[field], name)
            if owner:
                yield f"{name} is left out: it belongs to {owner}."
