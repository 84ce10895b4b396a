"""Which form each annotation of an Ingress has in Gateway API. Values and tables only.

Reads the tables that the translation reads. Does not know how a form is written.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Final

import msgspec

from ingress.findings import QUOTED_LIMIT, printable
from ingress.migration.differences import HIDDEN_VALUES
from ingress.settings.table.hooks import HOOK_PREFIX
from ingress.settings.table.option import NGINX_PREFIX, OWN_PREFIX
from ingress.settings.table.whole import INGRESS_OPTIONS, SERVICE_OPTIONS
from ingress.settings.unsupported import FOREIGN_ANNOTATIONS, SATISFIED_ANNOTATIONS, UNSUPPORTED_ANNOTATIONS, Closes
from ingress.translation.gateway.annotations import ROUTE_ANNOTATIONS
from ingress.translation.ingress.refusals import is_protective


class Form(Enum):
    """What an annotation becomes. The values are what people read."""

    FIELD = "becomes"
    ANNOTATION = "becomes our annotation"
    DIFFERS = "differs"
    NOTHING = "not needed"
    NONE = "has no form"
    """Lost, but no path is closed for it."""
    WITHHOLDS = "has no form, so its paths are not written"
    """What it protects or chooses would be lost."""


class NameForm(msgspec.Struct, frozen=True):
    """An annotation, without the prefix of ingress-nginx, and what becomes of it. `how` is a field, a name or a
    clause.
    """

    name: str
    value: str
    form: Form
    how: str = ""


_UNKNOWN: Final = "neither ingress-nginx nor zonal knows the name"
_STAY: Final = "leave the path to an Ingress, which zonal serves beside Gateways"

FIELDS: Final[Mapping[str, str]] = {
    "app-root": "a rule for / with RequestRedirect",
    "backend-protocol": "GRPCRoute or BackendTLSPolicy",
    "canary": "backendRefs of the other Ingress's rules",
    "canary-by-cookie": "matches.headers (cookie)",
    "canary-by-header": "matches.headers",
    "canary-by-header-pattern": "matches.headers, RegularExpression",
    "canary-by-header-value": "matches.headers",
    "canary-weight": "backendRefs.weight",
    "canary-weight-total": "backendRefs.weight",
    "custom-headers": "ResponseHeaderModifier",
    "force-ssl-redirect": "a route of the HTTP listener with RequestRedirect",
    "from-to-www-redirect": "a route of the other name with RequestRedirect",
    "mirror-target": "RequestMirror",
    "permanent-redirect": "RequestRedirect",
    "permanent-redirect-code": "RequestRedirect.statusCode",
    "rewrite-target": "URLRewrite",
    "server-alias": "hostnames",
    "ssl-redirect": "a route of the HTTP listener with RequestRedirect",
    "temporal-redirect": "RequestRedirect",
    "temporal-redirect-code": "RequestRedirect.statusCode",
    "upstream-vhost": "URLRewrite.hostname",
    "use-regex": "matches.path",
    "x-forwarded-prefix": "RequestHeaderModifier",
    **dict.fromkeys(
        ("affinity", "session-cookie-name", "session-cookie-expires", "session-cookie-max-age"), "sessionPersistence"
    ),
    **dict.fromkeys(
        (
            "enable-cors",
            "cors-allow-origin",
            "cors-allow-methods",
            "cors-allow-headers",
            "cors-expose-headers",
            "cors-allow-credentials",
            "cors-max-age",
        ),
        "CORS",
    ),
    "proxy-ssl-secret": "BackendTLSPolicy (ca.crt), and spec.tls.backend of the Gateway (tls.crt)",
    **dict.fromkeys(("proxy-ssl-verify", "proxy-ssl-name"), "BackendTLSPolicy"),
}
"""Annotations that become fields, with the field."""

DIFFERENCES: Final[Mapping[str, str]] = {
    "affinity-mode": "a client always stays with its endpoint, as with persistent",
    "mirror-request-body": "copies always have the body",
    "proxy-ssl-protocols": "the versions are those of the ConfigMap",
    "proxy-ssl-server-name": "the name is always sent",
    "proxy-ssl-verify-depth": "chains may have nine intermediate certificates",
    "session-cookie-path": "the cookie has the path /",
    "ssl-ciphers": "the ciphers are those of the ConfigMap",
}
"""Annotations that something else stands for."""

ADVICE: Final[Mapping[str, str]] = {
    "auth-tls-secret": "spec.tls.frontend of a Gateway asks all clients of a port for certificates",
    "auth-url": "write a hook (docs/hooks.md) and name it by a filter ExtensionRef",
    "configuration-snippet": "write fields as RequestHeaderModifier and ResponseHeaderModifier, the rest as a hook",
    "custom-http-errors": "endpoints have to send their error pages themselves",
    "default-backend": "endpoints have to send their error pages themselves",
    "load-balance": "the ConfigMap sets it for every backend",
    "hooks": "a filter ExtensionRef of the kind Hook names a hook",
    "proxy-cookie-domain": "endpoints have to know the host that clients see",
    "proxy-cookie-path": "endpoints have to know the path that clients see",
    "proxy-redirect-from": "endpoints have to know the path that clients see",
    "ssl-passthrough": "write a TLSRoute and a listener of the mode Passthrough",
    "upstream-hash-by": "sessionPersistence keeps a client at an endpoint by a cookie",
}
"""What to write instead of annotations without a form."""

# They choose what a value of another annotation means, and are lost with that one only.
_CHOOSING: Final = frozenset({"server-snippet", "configuration-snippet", "service-upstream"})


def form_of(name: str, value: str) -> NameForm:
    """What becomes of an annotation. `name` is without the prefix of ingress-nginx, and with any other."""
    shown = "(hidden)" if name in HIDDEN_VALUES else printable(value, limit=QUOTED_LIMIT)
    form, how = _form(name, value)
    return NameForm(name, shown, form, how)


def _form(name: str, value: str) -> tuple[Form, str]:
    if (found := _by_table(name)) is not None:
        return found
    option = INGRESS_OPTIONS.get(NGINX_PREFIX + name) or INGRESS_OPTIONS.get(name)
    if option is not None:
        if option.fills is None:
            return Form.NOTHING, ""
        bare = option.name
        return (Form.WITHHOLDS if option.closes or bare in _CHOOSING else Form.NONE), ADVICE.get(bare, _STAY)
    loss = UNSUPPORTED_ANNOTATIONS.get(name)
    if loss is None:
        return (Form.WITHHOLDS, "correct or remove it") if is_protective(name) else (Form.NOTHING, _UNKNOWN)
    if not loss.is_asked_for(value):
        return Form.NOTHING, ""
    return (Form.NONE if loss.closes is Closes.NOTHING else Form.WITHHOLDS), ADVICE.get(name, _STAY)


def _by_table(name: str) -> tuple[Form, str] | None:
    rows = (
        (name in FIELDS, Form.FIELD, FIELDS.get(name, "")),
        (name in DIFFERENCES, Form.DIFFERS, DIFFERENCES.get(name, "")),
        (OWN_PREFIX + name in ROUTE_ANNOTATIONS, Form.ANNOTATION, OWN_PREFIX + name),
        (name in SERVICE_OPTIONS or name in ROUTE_ANNOTATIONS, Form.ANNOTATION, name),
        (name in SATISFIED_ANNOTATIONS or name in FOREIGN_ANNOTATIONS, Form.NOTHING, ""),
        (name.startswith(HOOK_PREFIX), Form.WITHHOLDS, ADVICE["hooks"]),
    )
    return next(((form, how) for holds, form, how in rows if holds), None)


def forms_of(annotations: Mapping[str, str]) -> tuple[NameForm, ...]:
    """What becomes of the annotations of ingress-nginx and of zonal, by name. Those of others are left out."""
    named = {
        name.removeprefix(NGINX_PREFIX): text
        for name, text in annotations.items()
        if name.startswith((NGINX_PREFIX, OWN_PREFIX))
    }
    return tuple(form_of(name, named[name]) for name in sorted(named))


def kept_annotations(annotations: Mapping[str, str]) -> dict[str, str]:
    """The annotations of a route: those that become ours, and those that are ours already."""
    found: dict[str, str] = {}
    for name, text in sorted(annotations.items()):
        if not name.startswith((NGINX_PREFIX, OWN_PREFIX)):
            continue
        form, how = _form(name.removeprefix(NGINX_PREFIX), text)
        if form is Form.ANNOTATION:
            found[how] = text
    return found


def as_passed(form: NameForm) -> NameForm:
    """What becomes of an annotation of an Ingress whose TLS passes."""
    if form.name != "ssl-passthrough":
        return form
    return NameForm(form.name, form.value, Form.FIELD, "a TLSRoute, and a listener with the mode Passthrough")


def withholding(forms: Iterable[NameForm]) -> str:
    """Why the paths of an Ingress are not written, as a sentence; empty if they are."""
    found = [each for each in forms if each.form is Form.WITHHOLDS]
    verb = "has" if len(found) == 1 else "have"
    return f"{', '.join(each.name for each in found)} {verb} no form: {found[0].how}." if found else ""
