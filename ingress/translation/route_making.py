"""Makes the hosts and routes of the model from settled claims.

Responsible for what a claim resolves to: its backend, canaries, certificate and gates. Does not know which claim wins,
nor an input language.
"""

from __future__ import annotations

from functools import partial

import msgspec

from balancer.model.endpoints import Backend
from balancer.model.gates import GateRule, in_phases
from balancer.model.redirects import HttpsRedirect
from balancer.model.routes import Branch, Host, Owner, PathKind, PathParameters, Route, ServiceName
from balancer.model.zones import ZonePolicy
from ingress.findings import Findings, Report, Severity, quote
from ingress.translation.claims import CertificateClaim, Claim, subject_of_owner
from ingress.translation.conflicts import SettledClaim, SettledHost
from ingress.translation.containment import contained
from ingress.translation.mirrors import permitted_mirroring
from ingress.translation.secrets.certificates import Certificates
from ingress.translation.services.backends import Backends
from ingress.translation.stand_ins import resolve_stand_ins


class RouteMaker:
    """Makes hosts and routes from settled claims."""

    __slots__ = ("_allow_local", "_backends", "_certificates", "_default_backend", "_findings", "_path_parameters")

    def __init__(
        self,
        *,
        backends: Backends,
        certificates: Certificates,
        findings: Findings,
        default: Route | None,
        allow_local: bool,
        path_parameters: PathParameters,
    ) -> None:
        """`default` is the route of requests that match no host. `path_parameters` hold for every host."""
        self._path_parameters = path_parameters
        self._allow_local = allow_local
        self._default_backend = default.main.backend if default is not None else None
        self._findings = findings
        self._backends = backends
        self._certificates = certificates

    def host(self, name: str, settled: SettledHost, served: SettledHost) -> Host:
        """One host. Its routes are sorted by path and kind, or in the order in which expressions are tried.

        `served` is the host whose paths it has: itself, or the host of which it is an alias. An alias redirects to
        https if its name is listed for TLS, or a certificate is for it (ingress-nginx, certificate.lua). What protects
        a host comes from `served`, so that no alias opens it.
        """
        certificate = self._certificate(name, settled.certificate)
        has_tls = settled.has_tls or certificate is not None
        paths = served.expressions
        if paths is None:
            keys = sorted(served.paths, key=lambda key: (key[0], key[1].value))
            paths = tuple(served.paths[key] for key in keys)
        default = None
        if served.default is not None:
            default = self._route(served.default, has_tls=has_tls)
        return Host(
            name=name,
            routes=tuple(self._route(each, has_tls=has_tls) for each in paths),
            default=default,
            certificate=certificate,
            ciphers=served.ciphers,
            path_parameters=self._path_parameters,
        )

    def _route(self, settled: SettledClaim, *, has_tls: bool) -> Route:
        claim, backend = settled.claim, None
        if not claim.closed and not claim.is_redirected:
            report = self._report(claim.owner)
            resolve = partial(self._backends.resolve, claim.service, claim.owner.namespace, report=report)
            resolve = partial(resolve, tls=claim.tls, http2=claim.http2)
            backend = contained(resolve, report, severity=Severity.CLOSED, effect="The path answers 503.")
        redirects = claim.redirects_to_https or (has_tls and claim.redirects_beside_tls)
        main = Branch(
            backend=backend.key if backend else None,
            owner=claim.owner,
            service=ServiceName(claim.owner.namespace, claim.service.name),
            affinity=claim.affinity,
            hash_by=claim.hash_by,
            hash_subset=claim.hash_subset,
            zone_policy=self._zone_policy(backend, claim),
        )
        return Route(
            path=claim.path,
            kind=PathKind.REGEX if claim.expression else claim.kind,
            owner=claim.owner,
            branches=(main, *self._canaries(main, settled)),
            policy=claim.policy,
            expression=claim.expression,
            long_expression=claim.long_expression,
            rewriting=claim.rewriting,
            mirroring=permitted_mirroring(claim, self._report(claim.owner), allow_local=self._allow_local),
            closed=claim.closed,
            gates=ordered_gates(claim.gates, claim.https_redirect if redirects else None),
            response_rules=claim.response_rules,
            stand_ins=resolve_stand_ins(
                claim, backends=self._backends, default=self._default_backend, report=self._report(claim.owner)
            ),
        )

    def _canaries(self, main: Branch, settled: SettledClaim) -> list[Branch]:
        """The endpoints of a canary are spoken to as those of the main backend."""
        if main.backend is None:
            return []
        made = (self._canary(main, claim, of=settled.claim) for claim in settled.canaries)
        return [canary for canary in made if canary is not None]

    def _canary(self, main: Branch, claim: Claim, *, of: Claim) -> Branch | None:
        report = self._report(claim.owner)
        effect = "The main backend serves the requests."
        resolve = partial(self._backends.resolve, claim.service, claim.owner.namespace, report=report, effect=effect)
        resolve = partial(resolve, tls=of.tls, http2=of.http2, severity=Severity.MISROUTED)
        backend = contained(resolve, report, severity=Severity.MISROUTED, effect=effect)
        if backend is None or claim.canary is None:
            return None
        if backend.key == main.backend:
            message = f"At path {quote(of.path)} the canary names the main Ingress's Service: name another."
            report.add(reason="CanaryIgnored", message=message, severity=Severity.MISROUTED, effect=effect)
            return None
        zone_policy = self._zone_policy(backend, claim)
        return msgspec.structs.replace(claim.canary, backend=backend.key, zone_policy=zone_policy)

    def _certificate(self, name: str, claim: CertificateClaim | None) -> str | None:
        if claim is None:
            return None
        report = self._report(claim.owner)
        key = f"{claim.owner.namespace}/{claim.secret_name}"
        resolve = partial(self._certificates.resolve, key, name, report=report)
        return contained(resolve, report, severity=Severity.DEGRADED, effect="The default certificate is used.")

    def _zone_policy(self, backend: Backend | None, claim: Claim) -> ZonePolicy | None:
        if backend is None:
            return None
        return self._backends.route_policy(backend, claim.overrides)

    def _report(self, owner: Owner) -> Report:
        return self._findings.about(subject_of_owner(owner))


def ordered_gates(rules: tuple[GateRule, ...], redirect: HttpsRedirect | None) -> tuple[GateRule, ...]:
    """The gates of a route in the order in which they judge, with the redirect to https if there is one."""
    return in_phases((redirect, *rules) if redirect is not None else rules)
