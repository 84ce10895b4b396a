"""Options about responses, which only the operator sets for the whole data plane: added fields and compression.

Responsible for the options and for the structs that they fill. It must not know how responses are written.
"""

from __future__ import annotations

import re

import msgspec

from balancer.http.filters import BROTLI_LEVEL_MOST
from balancer.model.settings import Compression
from ingress.findings import Severity
from ingress.objects.names import LABEL, SUBDOMAIN
from ingress.settings.table.option import Overrides, cluster_option, cluster_switch
from ingress.settings.unsupported import Loss
from ingress.settings.values import InvalidValue, integer

_TYPE = re.compile(r"\*|[a-z0-9][a-z0-9!#$&^_.+-]{0,126}/[a-z0-9][a-z0-9!#$&^_.+-]{0,126}")  # RFC 6838 4.2
_TYPES_MOST = 100
_SMALLEST_LEVEL, _BIGGEST_LEVEL = 1, 9  # zlib
_BIGGEST_BROTLI_LEVEL = 11

GZIP_TYPES = (
    "application/atom+xml application/javascript application/json application/rss+xml application/vnd.ms-fontobject"
    " application/x-font-ttf application/x-javascript application/x-web-app-manifest+json application/xhtml+xml"
    " application/xml font/opentype image/svg+xml image/x-icon text/css text/javascript text/plain text/x-component"
)
"""The types that ingress-nginx compresses by default, beside text/html."""

NO_VARIABLES = "zonal puts nothing in the place of variables of nginx, so write the value itself"
"""Why a value with `$name` is no field of every response."""

# Closes nothing, because the endpoints' own fields still pass.
_LACKING = Loss(Severity.UNPROTECTED, "responses lack fields, among which may be some that protect browsers")


class ResponseSettings(msgspec.Struct, frozen=True):
    """What happens to every response.

    `fields_from` is namespace and name of the ConfigMap whose data are fields that every response gets, None for none.
    `use_brotli` is the same as `brotli` under another name.
    """

    fields_from: tuple[str, str] | None = None
    gzip: bool = False
    brotli: bool = False
    use_brotli: bool = False

    @property
    def config_maps(self) -> frozenset[tuple[str, str]]:
        """The other ConfigMaps that the settings refer to, by namespace and name."""
        return frozenset(() if self.fields_from is None else (self.fields_from,))


class GzipSettings(msgspec.Struct, frozen=True):
    """Which responses are compressed if `ResponseSettings.gzip` is on; fields as in `Compression`."""

    level: int = 1
    min_bytes: int = 256
    types: tuple[str, ...] = tuple(GZIP_TYPES.split())


def compression(overrides: Overrides) -> Compression | None:
    """What is compressed with gzip, None for nothing; `overrides` are those of the ConfigMap."""
    if not overrides.over(ResponseSettings()).gzip:
        return None
    gzip = overrides.over(GzipSettings())
    return Compression(level=gzip.level, min_bytes=gzip.min_bytes, types=gzip.types)


class BrotliSettings(msgspec.Struct, frozen=True):
    """Which responses are compressed if `ResponseSettings.brotli` is on; fields as in `Compression`."""

    level: int = 4
    min_bytes: int = 20
    types: tuple[str, ...] = tuple(GZIP_TYPES.split())


def brotli_compression(overrides: Overrides) -> Compression | None:
    """What is compressed with brotli, None for nothing; `overrides` are those of the ConfigMap."""
    responses = overrides.over(ResponseSettings())
    if not (responses.brotli or responses.use_brotli):
        return None
    brotli = overrides.over(BrotliSettings())
    return Compression(level=brotli.level, min_bytes=brotli.min_bytes, types=brotli.types)


def config_map_name(text: str) -> tuple[str, str] | None:
    """`namespace/name` of a ConfigMap; empty text is none."""
    if not text.strip():
        return None
    namespace, _, name = text.strip().partition("/")
    if not LABEL.fullmatch(namespace) or not SUBDOMAIN.fullmatch(name):
        raise InvalidValue("use the namespace and name of a ConfigMap, such as zonal/fields")
    return namespace, name


def media_types(text: str) -> tuple[str, ...]:
    """Media types separated by white space, in lower case and sorted; `*` is all of them."""
    types = {item.lower() for item in text.split()}
    if len(types) > _TYPES_MOST or not all(_TYPE.fullmatch(item) for item in types):
        raise InvalidValue(f"use at most {_TYPES_MOST} media types such as text/css, or *, separated by spaces")
    return tuple(sorted(types))


def gzip_level(text: str) -> int:
    """A level of zlib."""
    level = integer(_SMALLEST_LEVEL)(text)
    if level > _BIGGEST_LEVEL:
        raise InvalidValue("use a whole number from 1 (fast) to 9 (small)")
    return level


def brotli_level(text: str) -> int:
    """A level of brotli (RFC 7932 has none; the levels are those of its library)."""
    level = integer(0)(text)
    if level > _BIGGEST_BROTLI_LEVEL:
        raise InvalidValue("use a whole number from 0 (fast) to 11 (small)")
    return min(level, BROTLI_LEVEL_MOST)


RESPONSE_OPTIONS = (
    cluster_option(
        name="add-headers",
        fills=(ResponseSettings, "fields_from"),
        grammar=config_map_name,
        doc="`namespace/name` of another ConfigMap, whose data are header fields that every response gets, errors and"
        " redirects of zonal included; they replace fields of the same name. Changes of it are followed, and zonal must"
        " be allowed to list and watch it. Variables of nginx are findings",
        if_invalid=_LACKING,
    ),
    cluster_switch(
        name="use-gzip",
        fills=(ResponseSettings, "gzip"),
        doc='`"true"`: responses of endpoints with status 200, 403 or 404 are compressed for clients that accept gzip'
        " and speak HTTP/1.1, unless they are encoded already, forbid it by `Cache-Control: no-transform`, or carry a"
        " digest. ETags become weak, and `Vary: Accept-Encoding` is added. Read about"
        " [BREACH](security.md) first",
    ),
    cluster_option(
        name="gzip-level",
        fills=(GzipSettings, "level"),
        grammar=gzip_level,
        default="1",
        doc="from 1 (fast) to 9 (small)",
    ),
    cluster_option(
        name="gzip-min-length",
        fills=(GzipSettings, "min_bytes"),
        grammar=integer(0),
        default="256",
        doc="bytes; a response whose Content-Length is smaller is not compressed",
    ),
    cluster_option(
        name="gzip-types",
        fills=(GzipSettings, "types"),
        grammar=media_types,
        default=GZIP_TYPES,
        doc="media types that are compressed, separated by spaces, and text/html always; `*` is all of them",
    ),
    cluster_switch(
        name="enable-brotli",
        fills=(ResponseSettings, "brotli"),
        doc='`"true"`: likewise with brotli, for clients that accept it. A client that likes brotli and gzip equally'
        " gets brotli. Read about [BREACH](security.md) first",
    ),
    cluster_switch(
        name="use-brotli",
        fills=(ResponseSettings, "use_brotli"),
        doc="another name of `enable-brotli`",
    ),
    cluster_option(
        name="brotli-level",
        fills=(BrotliSettings, "level"),
        grammar=brotli_level,
        default="4",
        doc="from 0 (fast) to 11 (small); 10 and 11 count as 9, because they would hold up other requests",
    ),
    cluster_option(
        name="brotli-min-length",
        fills=(BrotliSettings, "min_bytes"),
        grammar=integer(0),
        default="20",
        doc="bytes; a response whose Content-Length is smaller is not compressed with brotli",
    ),
    cluster_option(
        name="brotli-types",
        fills=(BrotliSettings, "types"),
        grammar=media_types,
        default=GZIP_TYPES,
        doc="media types that are compressed with brotli, as in `gzip-types`",
    ),
)
