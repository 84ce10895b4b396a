"""Makes the hosts and routes of the model from settled claims.

Responsible for what a claim resolves to: its backends, certificate and gates. Does not know which claim wins,
nor an input language.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Protocol

import msgspec

from balancer.errors import ErrorKind
from balancer.model.endpoints import Backend, BackendKey
from balancer.model.external_auth import BackendAuth
from balancer.model.gates import GateRule, in_phases
from balancer.model.mirroring import BackendMirror
from balancer.model.redirects import HttpsRedirect
from balancer.model.relays import RelayRoute
from balancer.model.routes import (
    INGRESS,
    Branch,
    BranchFilters,
    Host,
    Owner,
    PathKind,
    PathParameters,
    Route,
    ServiceName,
)
from balancer.model.zones import ZonePolicy
from ingress.findings import Findings, Report, Severity, quote
from ingress.objects.kinds import ServicePort, ServiceReference
from ingress.settings.table.option import Overrides
from ingress.translation.claims import (
    AuthClaim,
    BranchClaim,
    CertificateClaim,
    Claim,
    HostClaim,
    MirrorClaim,
    RelayClaim,
    subject_of_owner,
)
from ingress.translation.containment import contained
from ingress.translation.host_memory import HostMemory, MadeHost
from ingress.translation.memory import FindingNotes, repeat
from ingress.translation.mirrors import permitted_mirroring
from ingress.translation.protection import protected
from ingress.translation.secrets.certificates import Certificates
from ingress.translation.services.backends import Backends
from ingress.translation.stand_ins import resolve_stand_ins

_PATHS_CLOSED = "The paths that lead there answer 503."
_RESET = "Connections that lead there are reset."

_NOBODY = Owner("", "", "")
_NOWHERE = Route("/", PathKind.PREFIX, _NOBODY, (Branch(None, _NOBODY, ServiceName("", ""), error=ErrorKind.NO_ROUTE),))


class AttachedZones(Protocol):
    """Knows what objects other than the owner of a route set for its zones. Compared by value."""

    def for_ingress(self, owner: Owner, service: ServiceName, port: ServicePort | None, said: Overrides) -> Overrides:
        """What counts for a branch of a route, whose owner sets `said`. `port` None: that of an external name."""


class RouteMaker:
    """Makes hosts and routes from settled claims."""

    __slots__ = (
        "_allow_local",
        "_backends",
        "_certificates",
        "_default",
        "_default_backend",
        "_findings",
        "_memory",
        "_path_parameters",
        "_plain_paths",
        "_report_to",
        "_shared",
        "_zones",
    )

    def __init__(
        self,
        *,
        backends: Backends,
        certificates: Certificates,
        findings: Findings,
        default: Route | None,
        allow_local: bool,
        path_parameters: PathParameters,
        plain_paths: tuple[str, ...],
        memory: HostMemory,
        zones: AttachedZones | None = None,
    ) -> None:
        """`default` is the route of requests that match no host. `path_parameters` hold for every host.

        Paths that begin with one of `plain_paths` are served over plain HTTP where a host demands certificates.
        `memory` has begun.
        """
        self._memory = memory
        self._shared = memory.one((default, allow_local, path_parameters, plain_paths, zones))
        self._zones = zones
        self._report_to = findings
        self._default = default
        self._plain_paths = plain_paths
        self._path_parameters = path_parameters
        self._allow_local = allow_local
        self._default_backend = default.main.backend if default is not None else None
        self._findings = findings
        self._backends = backends
        self._certificates = certificates

    def hosts(self, claimed: Sequence[HostClaim]) -> tuple[Host, ...]:
        """All hosts, in this order. Those that are claimed as in the last translation are not looked at again, as long
        as nothing else has changed that they were made of.
        """
        memory = self._memory
        changed = memory.changed(claimed) if self._backends.are_as_before else None
        if changed is not None and self._make_again(claimed, changed):
            hosts = memory.with_others(claimed, changed)
        else:
            hosts = tuple(map(self.host, claimed))
        self._backends.remember_hosts()
        memory.remember(claimed, hosts)
        return hosts

    def _make_again(self, claimed: Sequence[HostClaim], changed: set[int]) -> bool:
        """Makes the hosts at the places `changed`, to which those with another certificate are added.

        False: a host no longer asks what it has asked, so nobody knows who else asks that. All others have to be made.
        """
        memory = self._memory
        for place, each in enumerate(claimed):
            if each.certificate is not None and place not in changed:
                certificate = self._certificate(each.name, each.certificate)
                if certificate != memory.last_at(place).given[1]:
                    changed.add(place)
        for place in changed:
            self.host(claimed[place])
            if not memory.now(claimed[place].key).asks_all_of(memory.last_at(place)):
                return False
        self._backends.take_over_hosts()
        memory.keep_others(changed, self._findings)
        return True

    def host(self, claimed: HostClaim) -> Host:
        """One host. A certificate of its own means TLS, too. The same one as in the last translation if it is equal."""
        certificate = self._certificate(claimed.name, claimed.certificate)
        key = claimed.key
        made = self._memory.last(key)
        given = (claimed, certificate, self._shared)
        if made is None or made.given != given or not self._leads_there_again(made):
            notes = FindingNotes()
            self._backends.asked = []
            self._report_to = notes
            host = self._host(claimed, certificate)
            if made is not None and made.host == host:
                host = made.host
            made = MadeHost(host, given, tuple(self._backends.asked), _policies_of(host), notes.notes)
        self._memory.keep(key, made)
        if made.findings:
            repeat(made.findings, self._findings)
        return made.host

    def _leads_there_again(self, made: MadeHost) -> bool:
        """Whether the backends are the same. They are noted as used by a host, with the policies of its routes."""
        for asked in made.asked:
            if not self._backends.leads_there_again(asked):
                return False
        for key, policy in made.policies:
            self._backends.note_policy(key, policy)
        return True

    def _host(self, claimed: HostClaim, certificate: str | None) -> Host:
        has_tls = claimed.has_tls or (certificate is not None and not claimed.is_lent)
        host = Host(
            name=claimed.name,
            routes=tuple(self._route(each, has_tls=has_tls) for each in claimed.claims),
            default=self._route(claimed.default, has_tls=has_tls) if claimed.default is not None else None,
            certificate=certificate,
            ciphers=claimed.ciphers,
            path_parameters=self._path_parameters,
            trailing_slash=claimed.trailing_slash,
            configuration=claimed.configuration,
            listener=claimed.listener,
        )
        default = self._default if claimed.listener == INGRESS else None
        if claimed.default is None and (claimed.unmatched_gates or claimed.unmatched_rules):
            host = msgspec.structs.replace(host, default=_elsewhere(claimed, default or _NOWHERE))
        return protected(host, claimed, default, plain_paths=self._plain_paths)

    def _route(self, claim: Claim, *, has_tls: bool) -> Route:
        redirects = claim.redirects_to_https or (has_tls and claim.redirects_beside_tls)
        report = self._report(claim.owner)
        return Route(
            path=claim.path,
            kind=PathKind.REGEX if claim.expression else claim.kind,
            owner=claim.owner,
            branches=self._branches(claim),
            conditions=claim.conditions,
            policy=claim.policy,
            expression=claim.expression,
            long_expression=claim.long_expression,
            rewriting=claim.rewriting,
            mirroring=permitted_mirroring(claim, report, allow_local=self._allow_local),
            mirrors=self._mirrors(claim.mirrors),
            closed=claim.closed,
            gates=ordered_gates(
                (*claim.gates, *map(self._auth, claim.auths)), claim.https_redirect if redirects else None
            ),
            request_edits=claim.request_edits,
            response_rules=claim.response_rules,
            stand_ins=resolve_stand_ins(claim, backends=self._backends, default=self._default_backend, report=report),
        )

    def relay(self, claim: RelayClaim) -> RelayRoute:
        """One relay route. A branch whose Service cannot be used has no backend, so its connections are reset."""
        self._report_to = self._findings
        if claim.closed:
            branches = tuple(each.branch for each in claim.branches)
        else:
            made = ((each, self._resolved(each, Severity.CLOSED, _RESET, _RESET)) for each in claim.branches)
            branches = tuple(self._filled(*each) for each in made)
        return RelayRoute(
            claim.name,
            claim.owner,
            branches,
            ends_tls=claim.ends_tls,
            connect_seconds=claim.connect_seconds,
            tries=claim.tries,
            sends_proxy_line=claim.sends_proxy_line,
            configuration=claim.configuration,
            listener=claim.listener,
        )

    def _auth(self, wanted: AuthClaim) -> BackendAuth:
        """The gate of a Service that judges requests. If it cannot be asked, no request passes."""
        backend = self._resolved(wanted.branch, Severity.CLOSED, "No request passes.", "No request passes.")
        tenant = wanted.branch.branch.owner.namespace
        return msgspec.structs.replace(wanted.rule, backend=backend.key if backend is not None else None, tenant=tenant)

    def _mirrors(self, wanted: tuple[MirrorClaim, ...]) -> tuple[BackendMirror, ...]:
        return tuple(mirror for each in wanted if (mirror := self._mirror(each)) is not None)

    def _mirror(self, wanted: MirrorClaim) -> BackendMirror | None:
        backend = self._resolved(wanted.branch, Severity.DEGRADED, "Nobody gets copies.", "Nobody gets copies.")
        if backend is None:
            return None
        tenant = wanted.branch.branch.owner.namespace
        return BackendMirror(backend.key, tenant, wanted.numerator, wanted.denominator)

    def _branches(self, claim: Claim) -> tuple[Branch, ...]:
        if claim.closed or claim.is_redirected:
            return tuple(each.branch for each in claim.branches if each.branch.canary is None)
        made = [self._branch(each, claim) for each in claim.branches if each.branch.canary is None]
        main = made[0].backend
        canaries = [each for each in claim.branches if each.branch.canary is not None] if main is not None else ()
        return (*made, *(canary for each in canaries if (canary := self._canary(each, claim, main)) is not None))

    def _branch(self, wanted: BranchClaim, claim: Claim) -> Branch:
        backend = self._resolved(wanted, Severity.CLOSED, "The path answers 503.", _PATHS_CLOSED)
        return self._filled(wanted, backend)

    def _canary(self, wanted: BranchClaim, claim: Claim, main: BackendKey | None) -> Branch | None:
        effect = "The main backend serves the requests."
        backend = self._resolved(wanted, Severity.MISROUTED, effect, effect)
        if backend is None:
            return None
        if backend.key == main:
            message = f"At path {quote(claim.path)} the canary names the main Ingress's Service: name another."
            self._report(wanted.branch.owner).add(
                reason="CanaryIgnored", message=message, severity=Severity.MISROUTED, effect=effect
            )
            return None
        return self._filled(wanted, backend)

    def _resolved(self, wanted: BranchClaim, severity: Severity, failed: str, effect: str) -> Backend | None:
        """The backend of a branch. `effect` is what a broken reference means, `failed` what a failure of ours means."""
        if wanted.port is None:
            return None
        service, report = wanted.branch.service, self._report(wanted.branch.owner)
        resolve = partial(
            self._backends.resolve,
            ServiceReference(service.name, wanted.port),
            service.namespace,
            report=report,
            tls=wanted.tls,
            http2=wanted.http2,
            severity=severity,
            effect=effect,
        )
        return contained(resolve, report, severity=severity, effect=failed)

    def _filled(self, wanted: BranchClaim, backend: Backend | None) -> Branch:
        if backend is None:
            return msgspec.structs.replace(wanted.branch, filters=None)
        overrides, branch = wanted.overrides, wanted.branch
        if self._zones is not None:
            port = self._backends.port(backend)
            overrides = self._zones.for_ingress(branch.owner, branch.service, port, overrides)
        zone_policy = self._backends.route_policy(backend, overrides, wanted.defaults)
        filters = self._filters(wanted)
        return msgspec.structs.replace(branch, backend=backend.key, zone_policy=zone_policy, filters=filters)

    def _filters(self, wanted: BranchClaim) -> BranchFilters | None:
        """What is done for requests of the branch alone, with the Services that this needs."""
        filters = wanted.branch.filters
        if not wanted.mirrors and not wanted.auths:
            return filters
        filters = filters or BranchFilters()
        gates = in_phases((*filters.gates, *map(self._auth, wanted.auths)))
        return msgspec.structs.replace(filters, gates=gates, mirrors=self._mirrors(wanted.mirrors))

    def _certificate(self, name: str, claim: CertificateClaim | None) -> str | None:
        if claim is None:
            return None
        report = self._findings.about(subject_of_owner(claim.owner))
        key = f"{claim.owner.namespace}/{claim.secret_name}"
        resolve = partial(self._certificates.resolve, key, name, report=report)
        return contained(resolve, report, severity=Severity.DEGRADED, effect="The default certificate is used.")

    def _report(self, owner: Owner) -> Report:
        return self._report_to.about(subject_of_owner(owner))


def _elsewhere(claimed: HostClaim, default: Route) -> Route:
    """What serves the requests of a host that no path of it matches."""
    return msgspec.structs.replace(
        default,
        gates=in_phases((*default.gates, *claimed.unmatched_gates)),
        response_rules=(*default.response_rules, *claimed.unmatched_rules),
    )


def _policies_of(host: Host) -> tuple[tuple[BackendKey, ZonePolicy], ...]:
    """The zone policies that routes have instead of those of their backends."""
    routes = host.routes if host.default is None else (*host.routes, host.default)
    branches = (branch for route in routes for branch in route.branches)
    return tuple(
        (branch.backend, branch.zone_policy)
        for branch in branches
        if branch.backend is not None and branch.zone_policy is not None
    )


def ordered_gates(rules: tuple[GateRule, ...], redirect: HttpsRedirect | None) -> tuple[GateRule, ...]:
    """The gates of a route in the order in which they judge, with the redirect to https if there is one."""
    return in_phases((redirect, *rules) if redirect is not None else rules)
