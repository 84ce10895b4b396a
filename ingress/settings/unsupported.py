"""What goes wrong where zonal does not do what a name of ingress-nginx asks for.

Responsible for the table of annotations and for the shape of its rows; the table of ConfigMap keys is in
`unsupported_settings`. A name leaves its table when zonal supports it. It must not know where the names were written.
Source: ingress-nginx v1.15.1, docs/user-guide/nginx-configuration/annotations.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

import msgspec

from ingress.findings import Severity


class Closes(Enum):
    """What answers 503 because a name is not supported."""

    NOTHING = 0
    PATHS = 1
    """Every path that the name would have changed or protected."""


class Loss(msgspec.Struct, frozen=True):
    """What it means for requests that a name is not supported.

    `severity` is that of serving all the same, `text` says what happens then: "requests are served, but …".
    `nothing` are the values, in lower case, that ask for nothing but what zonal does anyway.
    """

    severity: Severity
    text: str
    closes: Closes = Closes.NOTHING
    nothing: frozenset[str] = frozenset()

    def is_asked_for(self, value: str) -> bool:
        """Whether `value` asks for something that zonal does not do."""
        return value.strip().lower() not in self.nothing


FALSE = frozenset({"0", "f", "false", ""})
TRUE = frozenset({"1", "t", "true", ""})
ZERO = frozenset({"0", ""})
OFF = frozenset({"off", ""})
EMPTY = frozenset({""})


def words(text: str) -> frozenset[str]:
    """The words of `text`, which are separated by white space."""
    return frozenset(text.split())


def rows(names: str, loss: Loss) -> dict[str, Loss]:
    """A row for each of `names`, which are separated by white space. All have this loss."""
    return dict.fromkeys(names.split(), loss)


def closing(severity: Severity, text: str, nothing: frozenset[str] = frozenset()) -> Loss:
    """A row of a name that closes every path."""
    return Loss(severity, text, Closes.PATHS, nothing)


_ALONE = "the annotation changes nothing without another one"

UNSUPPORTED_ANNOTATIONS: Mapping[str, Loss] = {
    # Who answers.
    "stream-snippet": closing(Severity.MISROUTED, "what the snippet configures is missing", EMPTY),
    # Who is let in.
    "auth-snippet": closing(Severity.UNPROTECTED, "the auth service is asked without the snippet"),
    **rows(
        "global-rate-limit global-rate-limit-window global-rate-limit-key global-rate-limit-ignored-cidrs",
        closing(Severity.UNPROTECTED, "clients may send as much as they like", ZERO),
    ),
    **rows(
        "modsecurity-snippet",
        closing(Severity.UNPROTECTED, "redirects, access rules and header fields of the snippet are missing", EMPTY),
    ),
    **rows(
        "enable-modsecurity enable-owasp-core-rules",
        closing(Severity.UNPROTECTED, "attacks that the firewall would stop are let in", FALSE),
    ),
    # How well it works.
    "proxy-buffering": Loss(Severity.DEGRADED, "answers are streamed at the pace of the client", nothing=OFF),
    "ssl-prefer-server-ciphers": Loss(
        Severity.DEGRADED, "the order of ciphers is that of the ConfigMap for every host", nothing=EMPTY
    ),
    # What no request notices.
    **rows(
        "fastcgi-index fastcgi-params-configmap",
        Loss(Severity.COSMETIC, _ALONE),
    ),
    "modsecurity-transaction-id": Loss(Severity.COSMETIC, _ALONE),
}
"""Every annotation of ingress-nginx, without its prefix, that zonal does not support."""

SATISFIED_ANNOTATIONS = words(
    """enable-rewrite-log http2-push-preload proxy-buffer-size
    proxy-buffers-number proxy-max-temp-file-size"""
)
"""Annotations that ask for nothing here: zonal streams bodies without such buffers and takes response heads of up to
64 KiB, and browsers have no HTTP/2 push any more.
"""

FOREIGN_ANNOTATIONS = words(
    """add-base-url body-size client-max-body-size enable-influxdb enable-websockets from-to-www grpc-backend
    limit-req-status-code proxy-pass-headers secure-backends session-cookie-hash ssl-verify upstream-fail-timeout
    upstream-max-fails use-forwarded-headers websocket-services"""
)
"""What people write under the prefix although ingress-nginx does not know it, or not any more, and ignores it."""
