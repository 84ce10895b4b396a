"""What goes wrong where zonal does not do what a ConfigMap key of ingress-nginx asks for.

Responsible for the table alone. A key leaves the table when zonal supports it. It must not know what is done about it.
Source: ingress-nginx v1.15.1, docs/user-guide/nginx-configuration/configmap.md.
"""

from __future__ import annotations

from collections.abc import Mapping

from ingress.findings import Severity
from ingress.settings.unsupported import EMPTY, FALSE, OFF, TRUE, Loss, closing, rows, words

_LOG = "the access log is written as the options of zonal say"
# The second is a link to the first in the image of ingress-nginx.
_STANDARD_OUTPUT = frozenset({"", "/dev/stdout", "/var/log/nginx/access.log"})
_ALONE = "the key changes nothing without another one"

_PROTECTIVE: Mapping[str, Loss] = {
    "global-auth-snippet": closing(Severity.UNPROTECTED, "auth services are asked without the snippet", EMPTY),
    **rows(
        "enable-modsecurity enable-owasp-modsecurity-crs",
        closing(Severity.UNPROTECTED, "attacks that the firewall would stop are let in", FALSE),
    ),
    **rows(
        "modsecurity-snippet",
        closing(Severity.UNPROTECTED, "redirects, access rules and header fields of the snippet are missing", EMPTY),
    ),
}
"""The keys that close every path."""

_OPEN: Mapping[str, Loss] = {
    # A protection is missing that cannot be had by closing, or only in part.
    **rows(
        "main-snippet stream-snippet",
        Loss(
            Severity.UNPROTECTED, "redirects, access rules and header fields of the snippet are missing", nothing=EMPTY
        ),
    ),
    "bind-address": Loss(Severity.UNPROTECTED, "zonal listens where its options say", nothing=EMPTY),
    # Requests are served less well than asked.
    "proxy-buffering": Loss(Severity.DEGRADED, "answers are streamed at the pace of the client", nothing=OFF),
    "ignore-invalid-headers": Loss(Severity.DEGRADED, "requests with invalid fields are refused", nothing=TRUE),
    **rows(
        "enable-ocsp ssl-early-data ssl-session-tickets",
        Loss(Severity.DEGRADED, "TLS of zonal does not have the feature", nothing=FALSE),
    ),
    **rows(
        "ssl-ecdh-curve ssl-dh-param",
        Loss(Severity.DEGRADED, "zonal chooses the curves of TLS", nothing=frozenset({"auto", ""})),
    ),
    **rows(
        """proxy-stream-next-upstream proxy-stream-next-upstream-timeout proxy-stream-next-upstream-tries
        proxy-stream-responses proxy-stream-timeout""",
        Loss(Severity.COSMETIC, "streams follow stream-idle-timeout and proxy-next-upstream-tries"),
    ),
    "app-root": Loss(Severity.COSMETIC, "only the annotation redirects, as in ingress-nginx", nothing=EMPTY),
    # No request notices.
    **rows(
        "access-log-path http-access-log-path",
        Loss(Severity.COSMETIC, "the access log goes to standard output", nothing=_STANDARD_OUTPUT),
    ),
    **rows(
        """access-log-params enable-auth-access-log log-format-stream stream-access-log-path
        enable-syslog syslog-host syslog-port error-log-level error-log-path""",
        Loss(Severity.COSMETIC, _LOG),
    ),
    **rows(
        """forwarded-for-proxy-protocol-header forwarded-host-header
        gzip-disable""",
        Loss(Severity.COSMETIC, _ALONE),
    ),
    **rows(
        """jaeger-baggage-header jaeger-collector-host jaeger-collector-port jaeger-debug-header
        jaeger-endpoint jaeger-propagation-format jaeger-sampler-host jaeger-sampler-param jaeger-sampler-port
        jaeger-sampler-type jaeger-service-name jaeger-trace-baggage-header-prefix jaeger-trace-context-header-name
        opentelemetry-config""",
        Loss(Severity.COSMETIC, "traces are sent over OTLP, as otlp-collector-host says", nothing=FALSE),
    ),
    **rows(
        """default-type use-geoip use-geoip2
        geoip2-autoreload-in-minutes""",
        Loss(Severity.COSMETIC, "zonal does not have the feature", nothing=FALSE),
    ),
    **rows(
        """debug-connections disable-ipv6 disable-ipv6-dns enable-aio-write enable-multi-accept
        enable-serial-reloads grpc-buffer-size-kb http2-max-field-size
        http2-max-requests lua-shared-dicts map-hash-bucket-size max-worker-open-files
        nginx-status-ipv4-whitelist nginx-status-ipv6-whitelist proxy-headers-hash-bucket-size
        proxy-headers-hash-max-size proxy-ssl-location-only reuse-port server-name-hash-bucket-size
        server-name-hash-max-size ssl-buffer-size ssl-session-cache ssl-session-cache-size ssl-session-ticket-key
        ssl-session-timeout upstream-keepalive-time variables-hash-bucket-size variables-hash-max-size
        worker-cpu-affinity worker-processes worker-shutdown-timeout""",
        Loss(Severity.COSMETIC, "the key tunes a part of nginx that zonal does not have"),
    ),
}

UNSUPPORTED_SETTINGS: Mapping[str, Loss] = {**_PROTECTIVE, **_OPEN}
"""Every ConfigMap key of ingress-nginx that zonal does not support."""

SATISFIED_SETTINGS = words(
    """client-header-buffer-size proxy-buffer-size
    proxy-buffers-number proxy-max-temp-file-size strict-validate-path-type"""
)
"""Keys that ask for nothing here: zonal streams bodies without such buffers, and
takes no path that the Kubernetes API would refuse."""
