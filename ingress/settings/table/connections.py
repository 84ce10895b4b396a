"""Options about connections and messages, which only the operator sets for the whole data plane.

Responsible for the options and for the `ProxySettings` made from them. It must not know routes or backends.
"""

from __future__ import annotations

import msgspec

from balancer.model.settings import Http2Settings, ProxySettings
from ingress.findings import Severity
from ingress.settings.request_values import kept_fields
from ingress.settings.table.access_log import log_rules
from ingress.settings.table.fields import FieldSettings
from ingress.settings.table.forwarding import ForwardingSettings
from ingress.settings.table.listener_tls import listener_tls
from ingress.settings.table.option import Overrides, cluster_option, cluster_switch
from ingress.settings.table.responses import brotli_compression, compression
from ingress.settings.unsupported import Loss
from ingress.settings.values import duration, header_buffers, integer, seconds

# Closes nothing, because the default protects.
_OTHER_HSTS = Loss(Severity.UNPROTECTED, "browsers are told something else than meant")


class HeaderBuffers(msgspec.Struct, frozen=True):
    """nginx's buffers for a request head: how many, and the bytes of each."""

    number_and_bytes: tuple[int, int] = (4, 8 * 1024)


class Hsts(msgspec.Struct, frozen=True):
    """The parts of Strict-Transport-Security (RFC 6797 6.1)."""

    enabled: bool = True
    max_age_seconds: int = 31_536_000
    include_subdomains: bool = True
    preload: bool = False

    def header(self) -> str | None:
        """The value of the field, or None for no field."""
        if not self.enabled:
            return None
        subdomains = "; includeSubDomains" if self.include_subdomains else ""
        preload = "; preload" if self.preload else ""
        return f"max-age={self.max_age_seconds}{subdomains}{preload}"


def proxy_settings(overrides: Overrides) -> ProxySettings:
    """The settings of the data plane; `overrides` are those of the ConfigMap."""
    number, each_bytes = overrides.over(HeaderBuffers()).number_and_bytes
    settings = overrides.over(ProxySettings())
    return msgspec.structs.replace(
        settings,
        hsts=overrides.over(Hsts()).header(),
        trusted=overrides.over(ForwardingSettings()).trusted(proxy_protocol=settings.proxy_protocol),
        compression=compression(overrides),
        tls=listener_tls(overrides),
        http2=overrides.over(Http2Settings()),
        brotli=brotli_compression(overrides),
        log=log_rules(overrides),
        hidden_fields=overrides.over(FieldSettings()).hidden.names,
        # nginx: a line may fill one buffer, the whole head may fill them all.
        head_line_bytes=each_bytes,
        head_bytes=number * each_bytes,
    )


CONNECTION_OPTIONS = (
    cluster_switch(
        name="use-proxy-protocol",
        fills=(ProxySettings, "proxy_protocol"),
        doc="every connection must begin with a PROXY header (v1 or v2), whose address is the client's. Its port"
        " becomes `X-Forwarded-Port`; port 443 means that the load balancer ended TLS: `X-Forwarded-Proto` is https and"
        " nothing is redirected to https",
    ),
    cluster_option(
        name="proxy-protocol-header-timeout",
        fills=(ProxySettings, "proxy_protocol_timeout_seconds"),
        grammar=duration,
        default="5s",
        doc="time limit for that header, after which the connection is closed",
    ),
    cluster_option(
        name="max-worker-connections",
        fills=(ProxySettings, "client_connections"),
        grammar=integer(1),
        default="16384",
        doc="client connections of a worker, also bounded by its file descriptors; "
        "beyond them the client address with most gives one up",
    ),
    cluster_option(
        name="stream-idle-timeout",
        fills=(ProxySettings, "stream_idle_seconds"),
        grammar=duration,
        default="10m",
        doc="time after which a stream (TCP, or TLS without HTTP) on which nothing passes is ended",
    ),
    cluster_option(
        name="client-header-timeout",
        fills=(ProxySettings, "client_header_timeout_seconds"),
        grammar=seconds(1),
        default="60",
        doc="seconds until a request head must be whole, else 408",
    ),
    cluster_option(
        name="client-body-timeout",
        fills=(ProxySettings, "client_body_timeout_seconds"),
        grammar=seconds(1),
        default="60",
        doc="most seconds until a request body begins, and between two reads, else 408. gRPC calls may begin late",
    ),
    cluster_option(
        name="keep-alive",
        fills=(ProxySettings, "keep_alive_seconds"),
        grammar=seconds(0),
        default="75",
        doc="seconds that a client connection may be idle",
    ),
    cluster_option(
        name="keep-alive-requests",
        fills=(ProxySettings, "keep_alive_requests"),
        grammar=integer(1),
        default="1000",
        doc="most requests on one client connection",
    ),
    cluster_option(
        name="large-client-header-buffers",
        fills=(HeaderBuffers, "number_and_bytes"),
        grammar=header_buffers,
        default="4 8k",
        doc="number and size of buffers: a line must fit in one of them (else 414 or 431), and a head in all of them",
    ),
    cluster_option(
        name="upstream-keepalive-connections",
        fills=(ProxySettings, "endpoint_idle_connections"),
        grammar=integer(0),
        default="320",
        doc="idle connections that a worker keeps, to all endpoints together",
    ),
    cluster_option(
        name="upstream-keepalive-timeout",
        fills=(ProxySettings, "endpoint_idle_seconds"),
        grammar=seconds(0),
        default="60",
        doc="seconds that a connection to an endpoint may be idle",
    ),
    cluster_option(
        name="upstream-keepalive-requests",
        fills=(ProxySettings, "endpoint_requests"),
        grammar=integer(1),
        default="10000",
        doc="most requests on one connection to an endpoint",
    ),
    cluster_switch(
        name="hsts",
        fills=(Hsts, "enabled"),
        default="true",
        doc="Strict-Transport-Security in every answer over TLS, also in errors of zonal",
        if_invalid=_OTHER_HSTS,
    ),
    cluster_option(
        name="hsts-max-age",
        fills=(Hsts, "max_age_seconds"),
        grammar=integer(0),
        default="31536000",
        doc="max-age of Strict-Transport-Security",
        if_invalid=_OTHER_HSTS,
    ),
    cluster_switch(
        name="hsts-include-subdomains",
        fills=(Hsts, "include_subdomains"),
        default="true",
        doc="includeSubDomains of Strict-Transport-Security",
        if_invalid=_OTHER_HSTS,
    ),
    cluster_switch(
        name="hsts-preload",
        fills=(Hsts, "preload"),
        doc="preload of Strict-Transport-Security",
    ),
    cluster_switch(
        name="allow-backend-server-header",
        fills=(ProxySettings, "allow_backend_server_header"),
        doc='`"true"`: the `Server` field of endpoints goes on to clients. It does not need `server-tokens`, as it does'
        " in ingress-nginx",
    ),
    cluster_switch(
        name="enable-underscores-in-headers",
        fills=(ProxySettings, "underscores_in_headers"),
        doc="request fields whose name holds `_` are kept",
    ),
    cluster_option(
        name="keep-client-headers",
        fills=(ProxySettings, "kept_fields"),
        grammar=kept_fields,
        doc="comma list of request fields that endpoints get as clients send them, although they say what only proxies"
        " can know: names such as `X-Forwarded-Prefix`, `X-Original-Host` and `True-Client-IP`. **Any client can then"
        " say them.** Without it they pass only from proxies that `use-forwarded-headers` trusts. Not for the fields"
        " that zonal says itself",
    ),
    cluster_switch(
        name="generate-request-id",
        fills=(ProxySettings, "generate_request_id"),
        default="true",
        doc="requests without X-Request-ID get one",
    ),
)
