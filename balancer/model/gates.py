"""Gates in the model, which judge a request before an endpoint is picked: one struct for each kind."""

from __future__ import annotations

from collections.abc import Iterable
from typing import get_args

import msgspec

from balancer.model.client_tls import ClientCertificates
from balancer.model.cors import CorsPolicyPreflight
from balancer.model.external_auth import BackendAuth, ExternalAuth
from balancer.model.hooks import HookRule
from balancer.model.limits import FlightLimit, RateLimit
from balancer.model.redirects import (
    AppRoot,
    HttpsRedirect,
    NameRedirect,
    RewrittenRedirect,
    RouteRedirect,
    SlashRedirect,
    TargetRedirect,
)
from balancer.model.scripts import HostScript, Script
from balancer.model.tracing import Tracing


class CorsPreflight(msgspec.Struct, frozen=True, omit_defaults=True, gc=False, tag="cors_preflight"):
    """Answers OPTIONS requests of pages of these origins (ingress-nginx: enable-cors); `origins` as in `CorsFields`."""

    origins: tuple[str, ...]


class SourceRanges(msgspec.Struct, frozen=True, omit_defaults=True, gc=False, tag="source_ranges"):
    """Lets requests in by the address of their client (ingress-nginx: allowlist- and denylist-source-range).

    Both are networks such as `10.0.0.0/8` and `2001:db8::/32`, sorted, without host bits and without overlaps. An
    address in `denied` is refused. If `allowed` is not empty, every address outside it is refused, too.
    """

    allowed: tuple[str, ...] = ()
    denied: tuple[str, ...] = ()


class PassedTls(msgspec.Struct, frozen=True, omit_defaults=True, gc=False, tag="passed_tls"):
    """Refuses requests whose TLS has ended here (421), because that of their host passes to its endpoints.

    They come on a connection that named another host, or none. Requests without TLS go on.
    """


class BlockedClients(msgspec.Struct, frozen=True, omit_defaults=True, gc=False, tag="blocked_clients"):
    """Refuses clients by User-Agent and Referer (ConfigMap: block-user-agents, block-referers).

    A text is compared as a whole, ignoring case. After `~` it is a regular expression that is searched, and after `~*`
    one that ignores case (nginx `map`).
    """

    agents: tuple[str, ...] = ()
    referers: tuple[str, ...] = ()


class BasicAuth(msgspec.Struct, frozen=True, omit_defaults=True, gc=False, tag="basic_auth"):
    """Asks for a user and a password (RFC 7617). `logins` is the key of `Logins` in the model.

    `realm` is the text that clients show: printable ASCII without `"` and `\\`.
    """

    logins: str
    realm: str = ""


AccessRule = SourceRanges | BasicAuth | ExternalAuth
"""The kinds of gates of which one may be enough."""


class AnyOf(msgspec.Struct, frozen=True, omit_defaults=True, gc=False, tag="any_of"):
    """Lets a request in that at least one of `gates` lets in (ingress-nginx: `satisfy: any`)."""

    gates: tuple[AccessRule, ...]


GateRule = (
    Tracing
    | PassedTls
    | BlockedClients
    | HostScript
    | AppRoot
    | NameRedirect
    | SlashRedirect
    | TargetRedirect
    | CorsPreflight
    | CorsPolicyPreflight
    | Script
    | RouteRedirect
    | RewrittenRedirect
    | HttpsRedirect
    | ClientCertificates
    | FlightLimit
    | RateLimit
    | SourceRanges
    | AnyOf
    | BasicAuth
    | ExternalAuth
    | BackendAuth
    | HookRule
)
"""Every kind of gate that a route may have, in the order in which they are asked, which is that of ingress-nginx.

A span is about all the others. Hooks of the operator see what everybody else has let pass.
"""

PHASES: tuple[type[GateRule], ...] = get_args(GateRule)
"""The kinds in this order."""

# Gates that keep nobody out: who is redirected elsewhere, or asked again over https, may go on there.
_WELCOMING = (
    Tracing,
    PassedTls,
    AppRoot,
    NameRedirect,
    SlashRedirect,
    TargetRedirect,
    CorsPreflight,
    CorsPolicyPreflight,
    RouteRedirect,
    RewrittenRedirect,
    HttpsRedirect,
)
_ACCESS = (SourceRanges, BasicAuth, ExternalAuth)


def withheld_by(rule: AccessRule) -> tuple[str, ...]:
    """The fields of the client, in lower case, that the endpoint never gets because of `rule`."""
    match rule:
        case SourceRanges():
            return ()
        case BasicAuth():
            return ("authorization",)
        case ExternalAuth():
            return tuple(name.lower() for name in rule.response_fields)


def in_phases(rules: Iterable[GateRule]) -> tuple[GateRule, ...]:
    """`rules` in the order of `PHASES`. Rules of one kind keep their order."""
    return tuple(sorted(rules, key=lambda rule: PHASES.index(type(rule))))


def protecting(rules: Iterable[GateRule]) -> tuple[GateRule, ...]:
    """The rules that may keep a request from its endpoint, by who sends it or how often. Every new kind counts."""
    return tuple(rule for rule in rules if not isinstance(rule, _WELCOMING))


def access_rules(rules: Iterable[GateRule]) -> tuple[AccessRule, ...]:
    """The rules about access in `rules`, also those of which one is enough."""
    found: list[AccessRule] = []
    for rule in rules:
        if isinstance(rule, AnyOf):
            found += rule.gates
        elif isinstance(rule, _ACCESS):
            found.append(rule)
    return tuple(found)


def any_of(rules: Iterable[GateRule]) -> tuple[GateRule, ...]:
    """`rules` with those that decide about access put together, so that one of them is enough.

    A single rule about access stays as it is. Beside others, a list of denied addresses alone lets nobody in, so who is
    not on the list still has to sign in, and who is may sign in (nginx ngx_http_access_module declines the first).
    """
    known = in_phases(rules)
    access = tuple(rule for rule in known if isinstance(rule, _ACCESS))
    if len(access) < 2:
        return known
    granting = tuple(rule for rule in access if not isinstance(rule, SourceRanges) or rule.allowed) or access
    others = (rule for rule in known if not isinstance(rule, _ACCESS))
    return in_phases((*others, AnyOf(granting) if len(granting) > 1 else granting[0]))
