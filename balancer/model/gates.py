"""Gates in the model, which judge a request before an endpoint is picked: one struct for each kind."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from balancer.model.external_auth import ExternalAuth
from balancer.model.limits import FlightLimit, RateLimit


class CorsPreflight(msgspec.Struct, frozen=True, tag="cors_preflight"):
    """Answers OPTIONS requests of pages of these origins (ingress-nginx: enable-cors); `origins` as in `CorsFields`."""

    origins: tuple[str, ...]


class HttpsRedirect(msgspec.Struct, frozen=True, tag="https_redirect"):
    """Redirects requests over plain HTTP to the same target over https (ssl-redirect, force-ssl-redirect)."""


class SourceRanges(msgspec.Struct, frozen=True, tag="source_ranges"):
    """Lets requests in by the address of their client (ingress-nginx: allowlist- and denylist-source-range).

    Both are networks such as `10.0.0.0/8` and `2001:db8::/32`, sorted, without host bits and without overlaps. An
    address in `denied` is refused. If `allowed` is not empty, every address outside it is refused, too.
    """

    allowed: tuple[str, ...] = ()
    denied: tuple[str, ...] = ()


GateRule = CorsPreflight | HttpsRedirect | SourceRanges | FlightLimit | RateLimit | ExternalAuth
"""Every kind of gate that a route may have."""

PHASES: tuple[type[GateRule], ...] = (
    CorsPreflight,
    HttpsRedirect,
    SourceRanges,
    FlightLimit,
    RateLimit,
    ExternalAuth,
)
"""The order in which gates are asked, which is that of ingress-nginx."""


def in_phases(rules: Iterable[GateRule]) -> tuple[GateRule, ...]:
    """`rules` in the order of `PHASES`. Rules of one kind keep their order."""
    return tuple(sorted(rules, key=lambda rule: PHASES.index(type(rule))))
