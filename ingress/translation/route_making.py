"""Makes the hosts and routes of the model from settled claims.

Responsible for what a claim resolves to: its backends, certificate and gates. Does not know which claim wins,
nor an input language.
"""

from __future__ import annotations

from functools import partial

import msgspec

from balancer.model.endpoints import Backend, BackendKey
from balancer.model.gates import GateRule, in_phases
from balancer.model.redirects import HttpsRedirect
from balancer.model.routes import Branch, Host, Owner, PathKind, PathParameters, Route
from ingress.findings import Findings, Report, Severity, quote
from ingress.objects.kinds import ServiceReference
from ingress.translation.claims import BranchClaim, CertificateClaim, Claim, HostClaim, subject_of_owner
from ingress.translation.containment import contained
from ingress.translation.mirrors import permitted_mirroring
from ingress.translation.protection import protected
from ingress.translation.secrets.certificates import Certificates
from ingress.translation.services.backends import Backends
from ingress.translation.stand_ins import resolve_stand_ins

_PATHS_CLOSED = "The paths that lead there answer 503."


class RouteMaker:
    """Makes hosts and routes from settled claims."""

    __slots__ = (
        "_allow_local",
        "_backends",
        "_certificates",
        "_default",
        "_default_backend",
        "_findings",
        "_path_parameters",
        "_plain_paths",
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
    ) -> None:
        """`default` is the route of requests that match no host. `path_parameters` hold for every host.

        Paths that begin with one of `plain_paths` are served over plain HTTP where a host demands certificates.
        """
        self._default = default
        self._plain_paths = plain_paths
        self._path_parameters = path_parameters
        self._allow_local = allow_local
        self._default_backend = default.main.backend if default is not None else None
        self._findings = findings
        self._backends = backends
        self._certificates = certificates

    def host(self, claimed: HostClaim) -> Host:
        """One host. A certificate of its own means TLS, too."""
        certificate = self._certificate(claimed.name, claimed.certificate)
        has_tls = claimed.has_tls or certificate is not None
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
        return protected(host, claimed, self._default, plain_paths=self._plain_paths)

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
            closed=claim.closed,
            gates=ordered_gates(claim.gates, claim.https_redirect if redirects else None),
            request_edits=claim.request_edits,
            response_rules=claim.response_rules,
            stand_ins=resolve_stand_ins(claim, backends=self._backends, default=self._default_backend, report=report),
        )

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
            return wanted.branch
        zone_policy = self._backends.route_policy(backend, wanted.overrides)
        return msgspec.structs.replace(wanted.branch, backend=backend.key, zone_policy=zone_policy)

    def _certificate(self, name: str, claim: CertificateClaim | None) -> str | None:
        if claim is None:
            return None
        report = self._report(claim.owner)
        key = f"{claim.owner.namespace}/{claim.secret_name}"
        resolve = partial(self._certificates.resolve, key, name, report=report)
        return contained(resolve, report, severity=Severity.DEGRADED, effect="The default certificate is used.")

    def _report(self, owner: Owner) -> Report:
        return self._findings.about(subject_of_owner(owner))


def ordered_gates(rules: tuple[GateRule, ...], redirect: HttpsRedirect | None) -> tuple[GateRule, ...]:
    """The gates of a route in the order in which they judge, with the redirect to https if there is one."""
    return in_phases((redirect, *rules) if redirect is not None else rules)
