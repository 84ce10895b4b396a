"""Makes the gates of a route from what the model says of them. No I/O."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from balancer.errors import ErrorKind
from balancer.matching.gates.any_of import AnyOfGate
from balancer.matching.gates.basic_auth import BasicAuthGate, SignIn, about_users
from balancer.matching.gates.blocked_clients import BlockingGate
from balancer.matching.gates.client_certificates import ClientCertificateGate
from balancer.matching.gates.external_auth.backend_gate import AuthEndpoint, BackendAuthGate, FindEndpoint
from balancer.matching.gates.external_auth.gate import NO_AUTH_SERVICES, AuthTools, ExternalAuthGate
from balancer.matching.gates.hooks import HookCaller, HookGate, RouteHooks, about_hook, route_hooks
from balancer.matching.gates.https_redirect import HttpsRedirectGate
from balancer.matching.gates.limiting import FlightGate, RateGate
from balancer.matching.gates.passed_tls import PassedTlsGate
from balancer.matching.gates.path_redirects import RewrittenRedirectGate, SlashRedirectGate
from balancer.matching.gates.policy_preflight import PolicyPreflightGate
from balancer.matching.gates.preflight import PreflightGate
from balancer.matching.gates.redirects import AppRootGate, NameRedirectGate, TargetRedirectGate
from balancer.matching.gates.route_redirect import RouteRedirectGate
from balancer.matching.gates.source_ranges import SourceGate
from balancer.matching.gates.stored_limiting import LimitStore, StoredRateGate
from balancer.matching.gates.tracing import RandomBits, TracingGate
from balancer.matching.gates.verdicts import About, Asked, Deny, Gate, Resume
from balancer.matching.ordered_edits import Clock
from balancer.model.client_tls import ClientCertificates
from balancer.model.cors import CorsPolicyPreflight
from balancer.model.endpoints import BackendKey
from balancer.model.external_auth import BackendAuth, ExternalAuth
from balancer.model.gates import (
    AnyOf,
    BasicAuth,
    BlockedClients,
    CorsPreflight,
    GateRule,
    PassedTls,
    SourceRanges,
    withheld_by,
)
from balancer.model.hooks import HookRule
from balancer.model.limits import FlightLimit, LimitScope, RateLimit
from balancer.model.redirects import (
    AppRoot,
    HttpsRedirect,
    NameRedirect,
    RewrittenRedirect,
    RouteRedirect,
    SlashRedirect,
    TargetRedirect,
)
from balancer.model.routes import Route
from balancer.model.scripts import HostScript, Script
from balancer.model.tracing import Tracing
from balancer.sharing.counting import Counting

GateMaker = Callable[[GateRule], Gate]
"""Makes the gate of a rule at the swap. A gate that needs connections or counters gets them from its maker."""


def _no_bits(_bits: int) -> int:
    return 0


def _no_endpoint(_backend: BackendKey, _secure: bool) -> AuthEndpoint | None:
    return None


def _no_hooks(_: HookRule) -> HookCaller | None:
    return None


class GateTools(NamedTuple):
    """What gates need that wait, count or remember. The defaults are for routes that are compiled and never served."""

    auth: AuthTools = NO_AUTH_SERVICES
    counting: Counting | None = None
    sign_in: SignIn | None = None
    random_bits: RandomBits = _no_bits
    hooks: Callable[[HookRule], HookCaller | None] = _no_hooks
    now: Clock | None = None
    limit_store: LimitStore | None = None
    auth_endpoint: FindEndpoint = _no_endpoint


_NO_TOOLS = GateTools()


class Gates(NamedTuple):
    """The gates that plain requests and requests over https pass, in the order in which they are asked.

    `hooks` are the hooks that are asked after them; None: there is none.
    """

    plain: tuple[Gate, ...] = ()
    secure: tuple[Gate, ...] = ()
    hooks: RouteHooks | None = None


class RefusingGate:
    """Stands for a gate that cannot judge here."""

    __slots__ = ("_about",)

    def __init__(self, about: About) -> None:
        """`about` is what the gate would say of itself."""
        self._about = about

    def describe(self) -> About:
        """What the gate would say."""
        return self._about

    def judge(self, asked: Asked, resume: Resume) -> Deny:
        """Always 503."""
        return Deny(ErrorKind.PATH_CLOSED)


def gate_maker(tools: GateTools) -> GateMaker:
    """What makes gates that use `tools`."""
    return partial(make_gate, tools=tools)


def make_gate(rule: GateRule, tools: GateTools = _NO_TOOLS) -> Gate:
    """The gate of `rule`. Every kind of rule has one, so no rule of a model is passed over."""
    match rule:
        case HookRule():
            return _hook_gate(rule, tools)
        case Tracing() | Script() | HostScript():
            return TracingGate(rule, tools.random_bits) if isinstance(rule, Tracing) else _script_gate(rule, tools)
        case PassedTls() | BlockedClients():
            return BlockingGate(rule) if isinstance(rule, BlockedClients) else PassedTlsGate()
        case (
            AppRoot()
            | NameRedirect()
            | SlashRedirect()
            | TargetRedirect()
            | RouteRedirect()
            | RewrittenRedirect()
            | HttpsRedirect()
        ):
            return _redirect_gate(rule)
        case ClientCertificates():
            return ClientCertificateGate(rule)
        case CorsPreflight() | CorsPolicyPreflight():
            return PreflightGate(rule) if isinstance(rule, CorsPreflight) else PolicyPreflightGate(rule)
        case SourceRanges():
            return SourceGate(rule)
        case RateLimit():
            return _rate_gate(rule, tools)
        case FlightLimit():
            return FlightGate(rule, tools.counting)
        case AnyOf():
            withheld = (name for each in rule.gates for name in withheld_by(each))
            return AnyOfGate((make_gate(each, tools) for each in rule.gates), withheld)
        case BasicAuth():
            sign_in = tools.sign_in
            return RefusingGate(about_users(rule.logins)) if sign_in is None else BasicAuthGate(rule, sign_in)
        case ExternalAuth() | BackendAuth():
            return _auth_gate(rule, tools)


def _script_gate(rule: Script | HostScript, tools: GateTools) -> Gate:
    from balancer.matching.gates.scripts import ScriptGate

    return ScriptGate(rule, tools.now)


def _auth_gate(rule: ExternalAuth | BackendAuth, tools: GateTools) -> Gate:
    if isinstance(rule, ExternalAuth):
        return ExternalAuthGate(rule, tools.auth)
    return BackendAuthGate(rule, tools.auth.services, tools.auth_endpoint)


def _rate_gate(rule: RateLimit, tools: GateTools) -> Gate:
    if rule.scope is LimitScope.FLEET and tools.limit_store is not None:
        return StoredRateGate(rule, tools.counting, tools.limit_store)
    return RateGate(rule, tools.counting)


def _hook_gate(rule: HookRule, tools: GateTools) -> Gate:
    caller = tools.hooks(rule)
    return RefusingGate(about_hook(rule)) if caller is None else HookGate(rule, caller)


def _redirect_gate(
    rule: AppRoot | NameRedirect | SlashRedirect | TargetRedirect | RouteRedirect | RewrittenRedirect | HttpsRedirect,
) -> Gate:
    match rule:
        case RouteRedirect():
            return RouteRedirectGate(rule)
        case AppRoot():
            return AppRootGate(rule)
        case NameRedirect():
            return NameRedirectGate(rule)
        case TargetRedirect():
            return TargetRedirectGate(rule)
        case SlashRedirect():
            return SlashRedirectGate(rule)
        case RewrittenRedirect():
            return RewrittenRedirectGate(rule)
        case HttpsRedirect():
            return HttpsRedirectGate(rule)


def gates_of(route: Route, make: GateMaker) -> Gates:
    """The gates of a route, in the order of `Route.gates`. Requests over https need not ask for a redirect there."""
    hooks = tuple(make(rule) for rule in route.gates if isinstance(rule, HookRule))
    made = [(rule, make(rule)) for rule in route.gates if not isinstance(rule, HookRule)]
    secure = tuple(gate for rule, gate in made if not isinstance(rule, HttpsRedirect))
    return Gates(tuple(gate for _, gate in made), secure, route_hooks(hooks) if hooks else None)
