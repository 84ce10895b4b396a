"""Options about header fields: of responses, and of requests to endpoints.

Source: ingress-nginx v1.15.1, ConfigMap keys hide-headers, proxy-set-headers, global-allowed-response-headers and
server-tokens, annotations custom-headers and connection-proxy-header. It must not know how fields are written.
"""

from __future__ import annotations

import re

import msgspec

from balancer.model.policies import RoutePolicy
from balancer.model.settings import ProxySettings
from ingress.findings import Severity
from ingress.settings.table.option import cluster_option, cluster_switch, ingress_option
from ingress.settings.table.responses import config_map_name
from ingress.settings.unsupported import Loss, closing
from ingress.settings.values import InvalidValue

_NAME = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,100}")  # RFC 9110 5.1
_NAMES_MOST = 200  # each response is compared with every name
_LACKING = "answers lack header fields, among which may be some that protect browsers"


class FieldNames(msgspec.Struct, frozen=True):
    """The valid field names of a list, in lower case and sorted, and its invalid entries."""

    names: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()


class FieldSettings(msgspec.Struct, frozen=True):
    """What the ConfigMap says about header fields.

    `hidden` are fields of endpoints that clients do not get. `allowed` are the fields that an Ingress may add to its
    responses. `request_fields_from` is namespace and name of the ConfigMap whose data are fields that every endpoint
    gets, None for none. `original_uri`: endpoints get the target that the client sent.
    """

    hidden: FieldNames = FieldNames()
    allowed: FieldNames = FieldNames()
    request_fields_from: tuple[str, str] | None = None
    original_uri: bool = False

    @property
    def config_maps(self) -> frozenset[tuple[str, str]]:
        """The other ConfigMaps that the settings refer to, by namespace and name."""
        return frozenset(() if self.request_fields_from is None else (self.request_fields_from,))


class CustomFields(msgspec.Struct, frozen=True):
    """What an Ingress says about its responses: namespace and name of the ConfigMap of its fields, None for none."""

    fields_from: tuple[str, str] | None = None


def field_names(text: str) -> FieldNames:
    """A list of field names, separated by commas or white space. Invalid names are kept apart."""
    items = dict.fromkeys(item.lower() for item in re.split(r"[,\s]+", text) if item)
    names = sorted(item for item in items if _NAME.fullmatch(item))
    skipped = [item for item in items if not _NAME.fullmatch(item)]
    return FieldNames(tuple(names[:_NAMES_MOST]), (*skipped, *names[_NAMES_MOST:]))


def connection_option(text: str) -> str:
    """`close` or `keep-alive`; blank text is neither."""
    if text.strip().lower() not in {"", "close", "keep-alive"}:
        raise InvalidValue("use close or keep-alive")
    return text.strip().lower()


FIELD_OPTIONS = (
    cluster_option(
        name="hide-headers",
        fills=(FieldSettings, "hidden"),
        grammar=field_names,
        doc="comma list of header fields of endpoints that clients do not get. Fields that zonal adds are sent all the"
        " same. A text that is no field name is a finding, and the others are hidden",
    ),
    cluster_option(
        name="proxy-set-headers",
        fills=(FieldSettings, "request_fields_from"),
        grammar=config_map_name,
        doc="`namespace/name` of another ConfigMap, whose data are header fields that every endpoint gets in place of"
        " those of the client, and of those that zonal sends itself (such as `X-Forwarded-Proto`). An empty value"
        " removes the field. Values may hold variables of nginx such as `$remote_addr`, `$request_uri` and `$msec`."
        " Its changes are followed, and zonal must be allowed to list and watch it",
        if_invalid=Loss(Severity.UNPROTECTED, "endpoints do not get the fields that they may rely on"),
    ),
    cluster_switch(
        name="proxy-add-original-uri-header",
        fills=(FieldSettings, "original_uri"),
        doc='`"true"`: endpoints get X-Original-URI, the target that the client sent, also where `rewrite-target`'
        " changes the target. `proxy-set-headers` may replace the field",
    ),
    cluster_option(
        name="global-allowed-response-headers",
        fills=(FieldSettings, "allowed"),
        grammar=field_names,
        doc="comma list of header fields that the annotation `custom-headers` may add, in upper or lower case",
    ),
    ingress_option(
        name="custom-headers",
        fills=(CustomFields, "fields_from"),
        grammar=config_map_name,
        doc="`namespace/name` of a ConfigMap of the same namespace (of any with the key"
        " `allow-cross-namespace-resources`), whose data are header fields that every response of the Ingress gets in"
        " place of those of the endpoint; `$` stands for itself. Each name must be listed in the key"
        " `global-allowed-response-headers`. A ConfigMap that is missing, or holds a field that is not allowed, closes"
        " the paths of the Ingress. zonal must be allowed to list and watch it",
        if_invalid=closing(Severity.UNPROTECTED, _LACKING),
    ),
    ingress_option(
        name="connection-proxy-header",
        fills=(RoutePolicy, "connection"),
        grammar=connection_option,
        doc="`close` or `keep-alive`: endpoints get this field `Connection`. After `close` the connection to the"
        " endpoint is not used again. Upgrades such as WebSocket are not possible then",
        if_invalid=closing(Severity.DEGRADED, "endpoints get the field Connection of HTTP/1.1"),
    ),
    cluster_switch(
        name="server-tokens",
        fills=(ProxySettings, "names_server"),
        doc='`"true"`: responses have the field `Server: zonal`, which names no version, unless'
        " `allow-backend-server-header` lets that of the endpoint pass",
    ),
)
