"""From HTTPRoutes and GRPCRoutes to claims: what each match of each rule asks to be served, and how.

A rule that cannot be carried out keeps its place, and its requests get an error.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import msgspec

from balancer.errors import ErrorKind
from balancer.model.endpoints import EndpointTls
from balancer.model.gates import GateRule, in_phases
from balancer.model.hooks import HookRule
from balancer.model.mirroring import MIRRORS_MOST
from balancer.model.policies import Affinity, RoutePolicy
from balancer.model.routes import Branch, BranchFilters, Owner, PathKind, ServiceName
from ingress.objects.gateway_references import ServiceBackend
from ingress.objects.gateway_routes import GrpcRoute, GrpcRule, HttpRoute, HttpRule, RouteBackend, RouteFilter
from ingress.objects.kinds import ServicePortReference
from ingress.settings.table.cluster import ClusterSettings
from ingress.settings.table.option import Overrides
from ingress.settings.table.source_ranges import SourceSettings
from ingress.translation.claims import AuthClaim, BranchClaim, Claim, MirrorClaim
from ingress.translation.gateway.annotations import RouteSettings
from ingress.translation.gateway.auth_services import auth_rule
from ingress.translation.gateway.cors import cors_fields, cors_gates
from ingress.translation.gateway.edits import request_edits, response_rules
from ingress.translation.gateway.route_reading import ReadRoute
from ingress.translation.gateway.service_references import NamedPort, plain
from ingress.translation.gateway.sessions import session_affinity
from ingress.translation.gateway.targets import redirect_of, rewriting_of, share_of
from ingress.translation.gateway.times import timed
from ingress.translation.gateway.zone_policies import BranchZones

_Rule = HttpRule | GrpcRule
_Filters = tuple[RouteFilter, ...]


class Ranked(msgspec.Struct, frozen=True):
    """A claim without a host, and what counts of it before the age of its route. `number` is its place in the route."""

    claim: Claim
    rank: tuple[int, ...]
    number: int


ZonesOf = Callable[[str, NamedPort, Overrides], BranchZones]
"""What counts for the zones of a branch: of the name of its rule, its port, and what annotations of the route set."""


class _AskedRule(NamedTuple):
    """One rule with what its claims have in common."""

    read: ReadRoute
    rule: _Rule
    number: int
    owner: Owner
    zones_of: ZonesOf


class RouteClaims:
    """Makes claims of routes under the settings of the cluster, for the requests of one Gateway."""

    __slots__ = ("_gates", "_policy", "_settings", "_ways")

    def __init__(self, settings: ClusterSettings, ways: Mapping[NamedPort, EndpointTls | None]) -> None:
        """`ways` are the ports of Services that policies protect: how to speak to their endpoints; None: not at all."""
        self._settings = settings
        self._ways = ways
        self._policy = _policy(settings)
        self._gates: tuple[GateRule, ...] = (
            *settings.tracing.gates(settings.spans),
            *settings.access.gates(),
        )

    def of(self, read: ReadRoute, said: RouteSettings, zones_of: ZonesOf | None = None) -> list[Ranked]:
        """The claims of a route, none of them with a host. `said` is what its annotations set.

        `zones_of` says what counts for the zones of a branch, by the name of its rule, its port, and what the
        annotations set; None: that alone counts.
        """
        route = read.route
        if not isinstance(route, (HttpRoute, GrpcRoute)):
            return []
        owner = Owner(route.kind.value, route.metadata.namespace, route.metadata.name)
        found: list[Ranked] = []
        rules: tuple[_Rule, ...] = route.spec.rules
        frame = self._frame(owner, said)
        for number, rule in enumerate(rules):
            asked = _AskedRule(read, rule, number, owner, zones_of or _as_said)
            for place in read.places[number]:
                bare = msgspec.structs.replace(
                    frame,
                    path=place.path,
                    kind=place.kind,
                    conditions=place.conditions,
                    expression=place.expression,
                    long_expression="" if place.cost is None else place.cost.closing,
                )
                claim = bare if number in read.dropped else self._claim(bare, asked, said.overrides)
                found.append(Ranked(claim, place.rank, len(found)))
        return found

    def _frame(self, owner: Owner, said: RouteSettings) -> Claim:
        """What all claims of a route have in common."""
        settings, overrides = self._settings, said.overrides
        place = f"{owner.kind}/{owner.full_name}"
        return Claim(
            owner,
            "",
            "/",
            PathKind.PREFIX,
            (_nowhere(owner),),
            policy=overrides.over(self._policy),
            gates=(
                *self._gates,
                *overrides.over(settings.ingress_limits).gates(place, settings.limits),
                *overrides.over(SourceSettings()).gates(settings.sources, settings.access.blocked_networks),
            ),
            closed=settings.closed or said.closed,
        )

    def _claim(self, bare: Claim, asked: _AskedRule, overrides: Overrides) -> Claim:
        """`bare` with what its rule says."""
        filters = asked.rule.filters
        prefix = bare.path if bare.kind is PathKind.PREFIX else ""
        rewriting, host = rewriting_of(filters, prefix)
        own = _gates(filters, prefix, asked.read.extensions.hooks.get(asked.number, ()))
        return msgspec.structs.replace(
            bare,
            branches=self._branches(asked, prefix, overrides),
            policy=timed(msgspec.structs.replace(bare.policy, host=host), asked.rule),
            gates=in_phases((*bare.gates, *own)),
            rewriting=rewriting,
            mirrors=self._mirrors(asked, filters),
            auths=self._auths(asked, filters),
            request_edits=request_edits(filters),
            response_rules=(*response_rules(filters), *cors_fields(filters)),
        )

    def _mirrors(self, asked: _AskedRule, filters: _Filters) -> tuple[MirrorClaim, ...]:
        """The mirrors of a rule or backend. One whose Service cannot be asked is left out; the request is served."""
        found: list[MirrorClaim] = []
        for each in filters:
            if each.type != "RequestMirror" or each.request_mirror is None:
                continue
            said = each.request_mirror
            branch = self._branch(asked, _as_backend(said.backend_ref), Overrides())
            if branch.port is not None:
                found.append(MirrorClaim(branch, *share_of(said)))
        return tuple(each for each in found if each.numerator > 0)[:MIRRORS_MOST]

    def _auths(self, asked: _AskedRule, filters: _Filters) -> tuple[AuthClaim, ...]:
        """The Services that judge the requests of a rule or backend."""
        said = (each.external_auth for each in filters if each.type == "ExternalAuth")
        return tuple(
            AuthClaim(self._branch(asked, _as_backend(each.backend_ref), Overrides()), auth_rule(each))
            for each in said
            if each is not None
        )

    def _branches(self, asked: _AskedRule, prefix: str, overrides: Overrides) -> tuple[BranchClaim, ...]:
        """A branch for each backend with a share. Without any, every request gets an error."""
        affinity = session_affinity(asked.rule)
        backends: tuple[RouteBackend, ...] = asked.rule.backend_refs
        made = (
            self._filtered(self._branch(asked, each, overrides, affinity=affinity), asked, (place, each), prefix)
            for place, each in enumerate(backends)
            if each.weight > 0
        )
        return tuple(made) or (_nowhere(asked.owner),)

    def _filtered(
        self, branch: BranchClaim, asked: _AskedRule, placed: tuple[int, RouteBackend], prefix: str
    ) -> BranchClaim:
        """The branch with its own filters. One with a filter that cannot be resolved gets no requests."""
        place, extensions = (asked.number, placed[0]), asked.read.extensions
        filters = placed[1].filters
        if not filters or branch.port is None:
            return branch
        if place in extensions.backend_problems:
            return msgspec.structs.replace(branch, port=None)
        rewriting, host = rewriting_of(filters, prefix)
        gates = in_phases(_gates(filters, prefix, extensions.backend_hooks.get(place, ())))
        own = BranchFilters(gates, host, rewriting)
        rules = (*branch.branch.response_rules, *cors_fields(filters))
        own_branch = msgspec.structs.replace(
            branch.branch, response_rules=rules, filters=own if own != BranchFilters() else None
        )
        return msgspec.structs.replace(
            branch, branch=own_branch, mirrors=self._mirrors(asked, filters), auths=self._auths(asked, filters)
        )

    def _branch(
        self, asked: _AskedRule, backend: RouteBackend, overrides: Overrides, *, affinity: Affinity | None = None
    ) -> BranchClaim:
        port = asked.read.resolved[plain(backend)]
        service = ServiceName(backend.namespace or asked.owner.namespace, backend.name)
        branch = Branch(
            None,
            asked.owner,
            service,
            weight=backend.weight,
            error=ErrorKind.BACKEND_INVALID,
            affinity=affinity,
            request_edits=request_edits(backend.filters),
            response_rules=response_rules(backend.filters),
        )
        if not isinstance(port, NamedPort) or (port in self._ways and self._ways[port] is None):
            return BranchClaim(branch, None)
        zones = asked.zones_of(asked.rule.name, port, overrides)
        http2 = True if isinstance(asked.rule, GrpcRule) else None
        return BranchClaim(
            branch,
            ServicePortReference(number=port.port),
            tls=self._ways.get(port),
            http2=http2,
            overrides=zones.strong,
            defaults=zones.weak,
        )


def _gates(filters: _Filters, prefix: str, hooks: tuple[HookRule, ...]) -> tuple[GateRule, ...]:
    """The gates of a rule or backend, without those that ask a Service."""
    redirect = redirect_of(filters, prefix)
    return (*cors_gates(filters), *((redirect,) if redirect is not None else ()), *hooks)


def _as_backend(reference: ServiceBackend) -> RouteBackend:
    """A Service that a filter names, as a backend of the rule."""
    bare = RouteBackend(reference.name, reference.group, reference.kind)
    return msgspec.structs.replace(bare, namespace=reference.namespace, port=reference.port)


def _as_said(_rule: str, _port: NamedPort, overrides: Overrides) -> BranchZones:
    return BranchZones(strong=overrides)


def _nowhere(owner: Owner) -> BranchClaim:
    """The branch of requests that no backend may get."""
    branch = Branch(None, owner, ServiceName(owner.namespace, ""), error=ErrorKind.BACKEND_INVALID)
    return BranchClaim(branch, None)


def _policy(settings: ClusterSettings) -> RoutePolicy:
    """The policy of a route that says nothing. Gateway API knows no bound of bodies unless the operator sets one."""
    policy = settings.route_policy
    unset = policy.max_body_bytes == RoutePolicy().max_body_bytes
    return msgspec.structs.replace(policy, max_body_bytes=0) if unset else policy
