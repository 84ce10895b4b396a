"""Options about CORS: which pages of other origins may read the responses of an Ingress.

Source: ingress-nginx v1.15.1, annotations enable-cors and cors-*. An invalid origin is left out and never becomes
`*`. It must not know how origins are compared.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import msgspec

from ingress.findings import Severity
from ingress.settings.table.option import ingress_option, ingress_switch
from ingress.settings.unsupported import Loss
from ingress.settings.values import InvalidValue, go_boolean, integer

# A scheme, and a host whose first label may be a star (ingress-nginx corsOriginRegex, with schemes of RFC 3986 3.1).
_ORIGIN = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{0,63}://(?:\*\.)?[A-Za-z0-9.-]{0,253}(?::[0-9]{1,5})?|null")
_METHODS = re.compile(r"[A-Za-z]{1,32}(?:[ ,]{1,3}[A-Za-z]{1,32})*[ ,]*")
_NAMES = re.compile(r"[A-Za-z0-9_-]{1,100}(?:[ ,]{1,3}[A-Za-z0-9_-]{1,100})*[ ,]*")
_EXPOSED = re.compile(r"(?:[A-Za-z0-9_-]{1,100}|\*)(?:[ ,]{1,3}(?:[A-Za-z0-9_-]{1,100}|\*))*[ ,]*")
_CHARACTERS_MOST = 4096  # the fields go with every response
_ORIGINS_MOST = 200
_LEAST_AGE = -1  # browsers remember nothing (https://fetch.spec.whatwg.org/#http-access-control-max-age)

_METHODS_DEFAULT = "GET, PUT, POST, DELETE, PATCH, OPTIONS"
_HEADERS_DEFAULT = (
    "DNT,Keep-Alive,User-Agent,X-Requested-With,If-Modified-Since,Cache-Control,Content-Type,Range,Authorization"
)
_NOT_READ = Loss(Severity.DEGRADED, "browsers may refuse pages of other origins")


class OriginList(msgspec.Struct, frozen=True):
    """The valid origins of a list, and its invalid entries. `allowed` is `*` alone if every origin is allowed."""

    allowed: tuple[str, ...] = ("*",)
    skipped: tuple[str, ...] = ()


class CorsSettings(msgspec.Struct, frozen=True):
    """What an Ingress says about CORS. Texts are as in the fields. `credentials` None: the value cannot be read."""

    enabled: bool = False
    origins: OriginList = OriginList()
    methods: str = _METHODS_DEFAULT
    headers: str = _HEADERS_DEFAULT
    exposed: str = ""
    credentials: bool | None = True
    max_age_seconds: int = 1_728_000


def origins(text: str) -> OriginList:
    """A comma list of origins. Blank text, or `*` anywhere in the list, allows every origin."""
    items = [item.strip() for item in text.split(",")]
    if "*" in items or not text.strip():
        return OriginList()
    named = dict.fromkeys(item for item in items if item)
    allowed = [item for item in named if _ORIGIN.fullmatch(item)]
    skipped = [item for item in named if not _ORIGIN.fullmatch(item)]
    return OriginList(tuple(allowed[:_ORIGINS_MOST]), (*skipped, *allowed[_ORIGINS_MOST:]))


def allows_credentials(text: str) -> bool | None:
    """A boolean, or None for any other text, which must not allow more than its author wants."""
    try:
        return go_boolean(text)
    except InvalidValue:
        return None if text.strip() else True


def _listed(pattern: re.Pattern[str], default: str, hint: str) -> Callable[[str], str]:
    """A parser of lists that are written into a field as they are; blank text is `default`."""

    def parse(text: str) -> str:
        value = text.strip()
        if not value:
            return default
        if len(value) > _CHARACTERS_MOST or not pattern.fullmatch(value):
            raise InvalidValue(hint)
        return value

    return parse


CORS_OPTIONS = (
    ingress_switch(
        name="enable-cors",
        fills=(CorsSettings, "enabled"),
        doc='`"true"`: responses for allowed origins, errors and redirects of zonal included, get the fields of CORS in'
        " place of the endpoint's, and OPTIONS requests of such origins are answered with 204 before any redirect to"
        " https and any other gate. Where `*` is not allowed, responses get `Vary: Origin`",
        if_invalid=_NOT_READ,
    ),
    ingress_option(
        name="cors-allow-origin",
        fills=(CorsSettings, "origins"),
        grammar=origins,
        doc="comma list of at most 200 origins such as `https://shop.example:8080`, `https://*.shop.example` (exactly"
        " one label in place of the star) and `null`, or `*` (the default) for every origin. An allowed origin is sent"
        " back. A text that is no origin is left out and is a finding; it never becomes `*`",
    ),
    ingress_option(
        name="cors-allow-methods",
        fills=(CorsSettings, "methods"),
        grammar=_listed(_METHODS, _METHODS_DEFAULT, "use a comma list of methods"),
        doc=f"`Access-Control-Allow-Methods`; default `{_METHODS_DEFAULT}`",
        if_invalid=_NOT_READ,
    ),
    ingress_option(
        name="cors-allow-headers",
        fills=(CorsSettings, "headers"),
        grammar=_listed(_NAMES, _HEADERS_DEFAULT, "use a comma list of field names"),
        doc=f"`Access-Control-Allow-Headers`; default `{_HEADERS_DEFAULT}`",
        if_invalid=_NOT_READ,
    ),
    ingress_option(
        name="cors-expose-headers",
        fills=(CorsSettings, "exposed"),
        grammar=_listed(_EXPOSED, "", "use a comma list of field names, or *"),
        doc="`Access-Control-Expose-Headers`; without it the field is not sent",
        if_invalid=_NOT_READ,
    ),
    ingress_option(
        name="cors-allow-credentials",
        fills=(CorsSettings, "credentials"),
        grammar=allows_credentials,
        doc='`"true"` (the default) sends `Access-Control-Allow-Credentials: true`. A value that is no boolean counts'
        " as false and is a finding",
    ),
    ingress_option(
        name="cors-max-age",
        fills=(CorsSettings, "max_age_seconds"),
        grammar=integer(_LEAST_AGE),
        doc="`Access-Control-Max-Age` in seconds; default 1728000",
        if_invalid=_NOT_READ,
    ),
)
