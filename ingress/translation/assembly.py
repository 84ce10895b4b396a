"""Runs the whole translation: from inventory to routing model and findings.

The first pass finds what objects ask for. The second pass finds what that resolves to. Results are sorted, so that
equal clusters give equal models. Never raises, whatever a cluster holds. Knows no rule that has a module of its own.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import partial

import msgspec

from balancer.model.endpoints import Backend, BackendKey
from balancer.model.gates import GateRule, in_phases
from balancer.model.logins import Logins
from balancer.model.publication import RoutingModel
from balancer.model.redirects import HttpsRedirect
from balancer.model.routes import Canary, Host, Owner, PathKind, Route
from balancer.model.zones import ZonePolicy, ZonePolicyName
from ingress.findings import (
    Finding,
    Findings,
    Report,
    Severity,
    Subject,
    holds,
    most_harmful_first,
    quote,
    with_changes,
)
from ingress.objects.kinds import Kind, ServiceReference, subject_of
from ingress.settings.configmap import read_configmap
from ingress.settings.context import TranslationContext
from ingress.settings.table.cluster import ClusterSettings
from ingress.settings.table.option import Overrides
from ingress.settings.table.source_ranges import SourceSettings
from ingress.sources.contract import Wanted
from ingress.sources.inventory import Inventory
from ingress.translation.added_fields import proxy_with_fields
from ingress.translation.backend_overrides import backend_overrides
from ingress.translation.backends import Backends
from ingress.translation.certificates import Certificates, CertificateShelf
from ingress.translation.claims import CertificateClaim, Claim, subject_of_owner
from ingress.translation.conflicts import SettledClaim, SettledHost, by_seniority
from ingress.translation.containment import contained
from ingress.translation.endpoint_changes import EndpointPlan, remake_endpoints
from ingress.translation.endpoint_tls import with_secrets
from ingress.translation.host_protection import with_protection
from ingress.translation.ingress.claiming import claims_of_ingresses
from ingress.translation.mirrors import permitted_mirroring
from ingress.translation.needs import named_logins, needed_config_maps, needed_secrets
from ingress.translation.other_names import served_as
from ingress.translation.settling import settled_hosts
from ingress.translation.stand_ins import resolve_stand_ins
from ingress.translation.tracing import with_export
from ingress.translation.zone_facts import zone_facts
from ingress.translation.zone_findings import given_zone, note_unknown_zone
from ingress.translation.zones import own_zone


class Translation(msgspec.Struct, frozen=True):
    """What the cluster asks for as far as it can be carried out, and findings about the rest.

    `wanted` says which objects have to be known to carry out all of it. `plan` and `other_findings` (those that are not
    about slices) are for `with_endpoints`. `services` are those that anything refers to.
    """

    model: RoutingModel
    findings: tuple[Finding, ...]
    wanted: Wanted = Wanted()
    plan: EndpointPlan = EndpointPlan()
    other_findings: tuple[Finding, ...] = ()
    services: frozenset[tuple[str, str]] = frozenset()


def with_endpoints(last: Translation, services: Collection[tuple[str, str]], inventory: Inventory) -> Translation:
    """What `translate` would return if since `last` only slices of `services` have changed.

    Services outside of `last.services` may have changed as well, because nothing depends on them.

    Unchanged findings are the same tuple, so that callers can compare thousands by identity.
    """
    model, plan = remake_endpoints(last.model, last.plan, services=services, inventory=inventory)
    before, after = last.plan.findings_of(services), plan.findings_of(services)
    if before == after:
        return msgspec.structs.replace(last, model=model, plan=plan)
    gone = (finding for finding in before - after if not holds(last.other_findings, finding))
    findings = with_changes(last.findings, gone=gone, new=after - before)
    return msgspec.structs.replace(last, model=model, plan=plan, findings=findings)


def translate(
    inventory: Inventory,
    context: TranslationContext,
    *,
    shelf: CertificateShelf | None = None,
    now_epoch_seconds: float = 0.0,
) -> Translation:
    """Translates everything. `shelf` avoids parsing unchanged certificates again; a controller keeps one.

    `now_epoch_seconds` decides only which certificates are reported as expired. The model does not depend on it.
    """
    findings = Findings(inventory.findings)
    desired = _desired(inventory, context, findings=findings)
    certificates = Certificates(inventory, shelf or CertificateShelf(), now_epoch_seconds=now_epoch_seconds)
    return _resolved(desired, inventory, context, certificates=certificates, findings=findings)


class DesiredState(msgspec.Struct, frozen=True):
    """What the objects of the cluster ask for: conflicts are settled, but nothing is resolved yet.

    `overrides` are what Ingresses set for backends, by `backend_key`. `services` are the Services that objects name,
    `secrets` the Secrets and `config_maps` the ConfigMaps that are needed, by namespace and name, whether they exist or
    not. `logins` are the users that gates name.
    """

    settings: ClusterSettings
    hosts: Mapping[str, SettledHost]
    overrides: Mapping[BackendKey, Overrides]
    services: frozenset[tuple[str, str]]
    secrets: frozenset[tuple[str, str]]
    logins: tuple[Logins, ...]
    config_maps: frozenset[tuple[str, str]]


def _desired(inventory: Inventory, context: TranslationContext, *, findings: Findings) -> DesiredState:
    """The first pass: reads what every object asks for, and settles which claim wins. Resolves nothing."""
    settings = _settings(inventory, context, findings=findings)
    claims = by_seniority(claims_of_ingresses(inventory, context, settings=settings, findings=findings))
    main = tuple(each for each in claims if not each.is_canary)
    canaries = tuple(each for each in claims if each.is_canary)
    hosts = settled_hosts(main, canaries, findings)
    return DesiredState(
        settings=settings,
        hosts=hosts,
        overrides=backend_overrides((*main, *canaries), inventory, findings),
        services=frozenset((each.owner.namespace, claim.service.name) for each in claims for claim in each.claims),
        secrets=needed_secrets(claims, hosts.values(), context),
        logins=named_logins(claims),
        config_maps=needed_config_maps(main, settings),
    )


def _resolved(
    desired: DesiredState,
    inventory: Inventory,
    context: TranslationContext,
    *,
    certificates: Certificates,
    findings: Findings,
) -> Translation:
    """The second pass: resolves backends and certificates, and makes the model from them."""
    settings, hosts = desired.settings, desired.hosts
    backends = Backends(
        inventory=inventory,
        settings=settings,
        overrides=desired.overrides,
        allow_local=context.allow_local_endpoints,
        allow_external=context.allow_external_name,
        findings=findings,
    )
    default = _default_route(context, settings, backends=backends, findings=findings)
    routing = _Routing(
        backends=backends,
        certificates=certificates,
        findings=findings,
        default=default,
        allow_local=context.allow_local_endpoints,
    )
    routes = RoutingModel(
        hosts=tuple(routing.host(name, hosts[name], served_as(name, hosts)) for name in sorted(hosts)),
        default_route=default,
        default_certificate=_default_certificate(context, certificates, findings=findings),
        proxy=proxy_with_fields(settings, inventory, findings),
    )
    routes = with_protection(routes, hosts, plain_paths=settings.redirects.plain_http_paths)
    given = given_zone(inventory, context)
    used = backends.used(counts_zones=given is not None)
    replicas_of = context.own_service if ZonePolicyName.PROPORTIONAL in used.policy_names else None
    model = msgspec.structs.replace(
        routes,
        backends=used.backends,
        certificates=certificates.used(),
        logins=desired.logins,
        unmatched_gates=in_phases(_block_gates(settings)),
        own_zone=own_zone(inventory, context, used.every_label_key),
        zones=zone_facts(inventory, settings, policies=used.policy_names, replicas_of=replicas_of),
    )
    note_unknown_zone(model.own_zone, inventory, context, settings=settings, findings=findings)
    plan = used.plan(allow_local=context.allow_local_endpoints, replicas_of=replicas_of, given_zone=given)
    others = findings.frozen()
    return Translation(
        model=with_secrets(model, inventory),
        findings=most_harmful_first((*others, *plan.findings)),
        wanted=Wanted(desired.secrets, used.names, settings.node_watch, desired.config_maps),
        plan=plan,
        other_findings=others,
        services=desired.services | used.services,
    )


class _Routing:
    """Makes hosts and routes from settled claims."""

    __slots__ = ("_allow_local", "_backends", "_certificates", "_default_backend", "_findings")

    def __init__(
        self,
        *,
        backends: Backends,
        certificates: Certificates,
        findings: Findings,
        default: Route | None,
        allow_local: bool,
    ) -> None:
        """`default` is the route of requests that match no host."""
        self._allow_local = allow_local
        self._default_backend = default.backend if default is not None else None
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
        )

    def _route(self, settled: SettledClaim, *, has_tls: bool) -> Route:
        claim, backend = settled.claim, None
        if not claim.closed and not claim.is_redirected:
            report = self._report(claim.owner)
            resolve = partial(self._backends.resolve, claim.service, claim.owner.namespace, report=report)
            resolve = partial(resolve, tls=claim.tls, http2=claim.http2)
            backend = contained(resolve, report, severity=Severity.CLOSED, effect="The path answers 503.")
        redirects = claim.redirects_to_https or (has_tls and claim.redirects_beside_tls)
        route = Route(
            path=claim.path,
            kind=PathKind.REGEX if claim.expression else claim.kind,
            backend=backend.key if backend else None,
            owner=claim.owner,
            service=claim.service.name,
            policy=claim.policy,
            zone_policy=self._zone_policy(backend, claim),
            affinity=claim.affinity,
            hash_by=claim.hash_by,
            hash_subset=claim.hash_subset,
            expression=claim.expression,
            rewriting=claim.rewriting,
            mirroring=permitted_mirroring(claim, self._report(claim.owner), allow_local=self._allow_local),
            closed=claim.closed,
            gates=_gates(claim.gates, claim.https_redirect if redirects else None),
            response_rules=claim.response_rules,
            stand_ins=resolve_stand_ins(
                claim, backends=self._backends, default=self._default_backend, report=self._report(claim.owner)
            ),
        )
        return self._with_canaries(route, settled)

    def _with_canaries(self, route: Route, settled: SettledClaim) -> Route:
        """The endpoints of a canary are spoken to as those of the main backend."""
        if route.backend is None or not settled.canaries:
            return route
        made = (self._canary(route, claim, main=settled.claim) for claim in settled.canaries)
        return msgspec.structs.replace(route, canaries=tuple(canary for canary in made if canary is not None))

    def _canary(self, route: Route, claim: Claim, *, main: Claim) -> Canary | None:
        report = self._report(claim.owner)
        effect = "The main backend serves the requests."
        resolve = partial(self._backends.resolve, claim.service, claim.owner.namespace, report=report, effect=effect)
        resolve = partial(resolve, tls=main.tls, http2=main.http2, severity=Severity.MISROUTED)
        backend = contained(resolve, report, severity=Severity.MISROUTED, effect=effect)
        if backend is None or claim.canary is None:
            return None
        if backend.key == route.backend:
            message = f"At path {quote(route.path)} the canary names the main Ingress's Service: name another."
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


def _settings(inventory: Inventory, context: TranslationContext, *, findings: Findings) -> ClusterSettings:
    namespace, _, name = context.configmap.partition("/")
    config_map = inventory.config_map(namespace, name)
    if config_map is None:
        _note_missing_configmap(inventory, Subject(Kind.CONFIG_MAP.value, namespace, name), findings=findings)
        return ClusterSettings()
    settings, wrong = read_configmap(config_map.data, subject_of(config_map))
    findings.extend(wrong)
    report = findings.about(subject_of(config_map))
    settings = with_export(settings, report, can_export=context.can_export_spans)
    ports = {"http_port": context.http_port, "https_port": context.https_port}
    return msgspec.structs.replace(settings, redirects=msgspec.structs.replace(settings.redirects, **ports))


def _note_missing_configmap(inventory: Inventory, subject: Subject, *, findings: Findings) -> None:
    """Notes a missing ConfigMap, unless its source has not reported yet, or has reported why it cannot be read."""
    said = ((finding.kind, finding.namespace, finding.name) for finding in inventory.findings)
    if not inventory.knows(Kind.CONFIG_MAP) or (subject.kind, subject.namespace, subject.name) in said:
        return
    findings.add(
        subject,
        reason="ConfigMapMissing",
        message=f"There is no ConfigMap {subject.namespace}/{subject.name}: create it, or name another by --configmap.",
        effect="Every setting has its default; zone-aware routing is off.",
        severity=Severity.DEGRADED,
    )


def _block_gates(settings: ClusterSettings) -> tuple[GateRule, ...]:
    """What blocks clients wherever they go."""
    return (*settings.access.gates(), *SourceSettings().gates(SourceSettings(), settings.access.blocked_networks))


def _default_route(
    context: TranslationContext, settings: ClusterSettings, *, backends: Backends, findings: Findings
) -> Route | None:
    if context.default_backend_service is None:
        return None
    namespace, _, name = context.default_backend_service.partition("/")
    reference = ServiceReference(name=name, port=backends.first_port(namespace, name))
    report = findings.about(Subject("Service", namespace, name))
    backend = backends.resolve(reference, namespace, report=report)
    if backend is None:
        # No Ingress leads here, so the built-in 404 fits better than a 503.
        return None
    return Route(
        path="/",
        kind=PathKind.PREFIX,
        backend=None if settings.closed else backend.key,
        owner=Owner("", namespace, ""),
        service=name,
        policy=settings.route_policy,
        closed=settings.closed,
        gates=_gates(
            (
                *settings.tracing.gates(settings.spans),
                *settings.access.gates(),
                *settings.sources.gates(settings.sources, settings.access.blocked_networks),
            ),
            settings.redirects.https_rule if settings.redirects.force_ssl_redirect else None,
        ),
    )


def _gates(rules: tuple[GateRule, ...], redirect: HttpsRedirect | None) -> tuple[GateRule, ...]:
    return in_phases((redirect, *rules) if redirect is not None else rules)


def _default_certificate(context: TranslationContext, certificates: Certificates, *, findings: Findings) -> str | None:
    if context.default_ssl_certificate is None:
        return None
    namespace, _, name = context.default_ssl_certificate.partition("/")
    report = findings.about(Subject("Secret", namespace, name))
    return certificates.resolve(f"{namespace}/{name}", "", report=report)
