"""What the definitions of Gateway API v1.6 add to an object that is stored, as their schemas say it.

Responsible for the fields of spec and status that nobody writes. It must not know the store.
"""

from __future__ import annotations

import copy
from typing import Any

from tests.fakes.apiserver.kinds import GATEWAY_GROUP, Document

_ROOT: Document = {"type": "PathPrefix", "value": "/"}
_OBJECT = ("group", ""), ("kind", "Service")
_SAME: Document = {"from": "Same"}

_PARENTS = {"spec.parentRefs[].group": GATEWAY_GROUP, "spec.parentRefs[].kind": "Gateway"}
_BACKENDS = {f"spec.rules[].backendRefs[].{name}": value for name, value in (*_OBJECT, ("weight", 1))}
_FILTERS = {
    f"{place}.filters[].{field}.{name}": value
    for place in ("spec.rules[]", "spec.rules[].backendRefs[]")
    for field in ("requestMirror.backendRef", "externalAuth.backendRef")
    for name, value in _OBJECT
} | {
    f"{place}.filters[].{field}": value
    for place in ("spec.rules[]", "spec.rules[].backendRefs[]")
    for field, value in (
        ("requestRedirect.statusCode", 302),
        ("requestMirror.fraction.denominator", 100),
        ("cors.maxAge", 5),
    )
}
_SESSIONS = {
    "spec.rules[].sessionPersistence.type": "Cookie",
    "spec.rules[].sessionPersistence.cookieConfig.lifetimeType": "Session",
}
_LISTENERS = {
    "spec.listeners[].allowedRoutes": {"namespaces": _SAME},
    "spec.listeners[].allowedRoutes.namespaces": _SAME,
    "spec.listeners[].allowedRoutes.namespaces.from": "Same",
    "spec.listeners[].allowedRoutes.kinds[].group": GATEWAY_GROUP,
    "spec.listeners[].tls.mode": "Terminate",
    "spec.listeners[].tls.certificateRefs[].group": "",
    "spec.listeners[].tls.certificateRefs[].kind": "Secret",
}
_CLIENTS = {
    f"spec.tls.frontend.{place}.validation.mode": "AllowValidOnly" for place in ("default", "perPort[].tls")
} | {"spec.tls.backend.clientCertificateRef.group": "", "spec.tls.backend.clientCertificateRef.kind": "Secret"}


def _waiting(*types: str) -> Document:
    """The status of an object that no controller has seen."""
    said = {"status": "Unknown", "reason": "Pending", "message": "Waiting for controller"}
    at = "1970-01-01T00:00:00Z"
    return {"conditions": [{"type": each, **said, "lastTransitionTime": at} for each in types]}


_DEFAULTS: dict[str, Document] = {
    "GatewayClass": {"status": _waiting("Accepted")},
    "Gateway": {
        **_LISTENERS,
        **_CLIENTS,
        "spec.allowedListeners.namespaces": {"from": "None"},
        "spec.allowedListeners.namespaces.from": "None",
        "spec.addresses[].type": "IPAddress",
        "status": _waiting("Accepted", "Programmed"),
    },
    "ListenerSet": {
        **_LISTENERS,
        "spec.parentRef.group": GATEWAY_GROUP,
        "spec.parentRef.kind": "Gateway",
        "status": _waiting("Accepted", "Programmed"),
    },
    "HTTPRoute": {
        **_PARENTS,
        "spec.rules": [{"matches": [{"path": _ROOT}]}],
        "spec.rules[].matches": [{"path": _ROOT}],
        "spec.rules[].matches[].path": _ROOT,
        "spec.rules[].matches[].path.type": "PathPrefix",
        "spec.rules[].matches[].path.value": "/",
        "spec.rules[].matches[].headers[].type": "Exact",
        "spec.rules[].matches[].queryParams[].type": "Exact",
        **_BACKENDS,
        **_FILTERS,
        **_SESSIONS,
    },
    "GRPCRoute": {
        **_PARENTS,
        "spec.rules[].matches[].method.type": "Exact",
        "spec.rules[].matches[].headers[].type": "Exact",
        **_BACKENDS,
        **_FILTERS,
        **_SESSIONS,
    },
    "TLSRoute": {**_PARENTS, **_BACKENDS},
    "TCPRoute": {**_PARENTS, **_BACKENDS},
    "UDPRoute": {**_PARENTS, **_BACKENDS},
}
"""For each kind: a field, and its value where the object around it is there and has no such field."""


class _Field:
    """A field of an object: its default, and the fields of the objects in it."""

    __slots__ = ("default", "inner")

    def __init__(self) -> None:
        self.default: Any = None
        self.inner: dict[str, _Field] = {}


def _tree(defaults: Document) -> dict[str, _Field]:
    """The fields of an object and of all in it, so that each object is looked at once."""
    root = _Field()
    for path, value in defaults.items():
        field = root
        for step in path.split("."):
            field = field.inner.setdefault(step.removesuffix("[]"), _Field())
        field.default = value
    return root.inner


_TREES = {kind: _tree(defaults) for kind, defaults in _DEFAULTS.items()}


def defaulted(kind: str, document: Document) -> Document:
    """The object with the defaults of its kind; `document` stays as it is."""
    return _filled(document, _TREES.get(kind, {}))


def _filled(value: Document, fields: dict[str, _Field]) -> Document:
    whole = dict(value)
    for name, field in fields.items():
        found = whole.get(name)
        if found is None and field.default is not None:
            found = whole[name] = copy.deepcopy(field.default)
        if not field.inner:
            continue
        if isinstance(found, dict):
            whole[name] = _filled(found, field.inner)
        elif isinstance(found, list):
            whole[name] = [_filled(each, field.inner) if isinstance(each, dict) else each for each in found]
    return whole
