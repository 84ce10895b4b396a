"""The whole translation: inventory in, routing model and findings out.

Responsible for the order of the steps and for putting their results together, sorted, so that equal clusters give
equal models. It never raises for what a cluster holds. It must not know any rule that has a room of its own.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from functools import partial

import msgspec

from balancer.model import Backend, Canary, Host, PathKind, Route, RoutingModel, ZonePolicy, ZonePolicyName
from ingress.findings import Finding, Findings, Report, Subject, quote
from ingress.inventory import Inventory
from ingress.objects import Ingress, ServiceReference, subject_of
from ingress.settings import ClusterSettings, read_configmap
from ingress.sources.contract import Wanted
from ingress.translation.acceptance import classes_of, is_accepted, note_missing_class
from ingress.translation.affinities import affinity_of, canary_follows, hash_by
from ingress.translation.annotations import IngressOptions, read_ingress_annotations
from ingress.translation.backends import Backends
from ingress.translation.certificates import Certificates, CertificateShelf
from ingress.translation.conflicts import Candidate, SettledHost, attach, by_seniority, settle
from ingress.translation.containment import contained
from ingress.translation.context import TranslationContext
from ingress.translation.endpoint_changes import EndpointPlan, remake_endpoints
from ingress.translation.endpoint_tls import Denied, read_endpoint_tls
from ingress.translation.ingresses import read_claims
from ingress.translation.zone_facts import zone_facts
from ingress.translation.zones import own_zone


class Translation(msgspec.Struct, frozen=True):
    """What the cluster asks for as far as it can be carried out, and what is wrong with the rest.

    `wanted` says what else has to be known to carry out all of it. `plan` and `other_findings`, those that are not
    about slices, are for `with_endpoints`. `services` are those that anything refers to.
    """

    model: RoutingModel
    findings: tuple[Finding, ...]
    wanted: Wanted = Wanted()
    plan: EndpointPlan = EndpointPlan()
    other_findings: tuple[Finding, ...] = ()
    services: frozenset[tuple[str, str]] = frozenset()


def with_endpoints(last: Translation, services: Collection[tuple[str, str]], inventory: Inventory) -> Translation:
    """What `translate` would give if since `last` nothing has changed but slices of `services`.

    Services that are not among `last.services` may have changed as well: nothing depends on them.

    Findings that are still the same are the same tuple: there may be many, and whoever minds them can tell at once.
    """
    model, plan = remake_endpoints(last.model, last.plan, services=services, inventory=inventory)
    if plan.findings_of(services) == last.plan.findings_of(services):
        return msgspec.structs.replace(last, model=model, plan=plan)
    findings = tuple(sorted({*last.other_findings, *plan.findings}))
    return msgspec.structs.replace(last, model=model, plan=plan, findings=findings)


def translate(
    inventory: Inventory,
    context: TranslationContext,
    *,
    shelf: CertificateShelf | None = None,
    now_epoch_seconds: float = 0.0,
) -> Translation:
    """Translate everything. `shelf` spares parsing unchanged certificates again; keep one for a controller's life.

    `now_epoch_seconds` only tells which certificates have expired, for a finding; the model does not depend on it.
    """
    findings = Findings(inventory.findings)
    settings = _settings(inventory, context, findings=findings)
    accepted = tuple(_candidates(inventory, context, settings=settings, findings=findings))
    candidates = tuple(candidate for candidate in accepted if not candidate.options.canary)
    canaries = tuple(candidate for candidate in accepted if candidate.options.canary)
    hosts = settle(candidates, findings)
    attach(canaries, hosts, findings)
    backends = Backends(
        inventory=inventory,
        settings=settings,
        allow_local=context.allow_local_endpoints,
        allow_external=context.allow_external_name,
        findings=findings,
    )
    _override(backends, (*candidates, *canaries), findings)
    certificates = Certificates(inventory, shelf or CertificateShelf(), now_epoch_seconds=now_epoch_seconds)
    routing = _Routing(backends=backends, certificates=certificates, findings=findings)
    model = RoutingModel(
        hosts=tuple(routing.host(name, hosts[name]) for name in sorted(hosts)),
        default_route=_default_route(context, settings, backends=backends, findings=findings),
        default_certificate=_default_certificate(context, certificates, findings=findings),
        proxy=settings.proxy,
    )
    zones = backends.zones  # complete now that every route has asked
    replicas_of = context.own_service if ZonePolicyName.PROPORTIONAL in zones.policy_names else None
    model = msgspec.structs.replace(
        model,
        backends=backends.used(),
        certificates=certificates.used(),
        own_zone=own_zone(inventory, context, zones.every_label_key),
        zones=zone_facts(inventory, settings, policies=zones.policy_names, replicas_of=replicas_of),
    )
    plan, others = backends.plan(replicas_of=replicas_of), findings.frozen()
    return Translation(
        model=model,
        findings=tuple(sorted({*others, *plan.findings})),
        wanted=Wanted(
            secrets=_secrets(candidates, hosts.values(), context),
            names=backends.names(),
            every_node=settings.node_watch,
        ),
        plan=plan,
        other_findings=others,
        services=backends.services(),
    )


class _Routing:
    """Makes hosts and routes of settled claims."""

    __slots__ = ("_backends", "_certificates", "_findings")

    def __init__(self, *, backends: Backends, certificates: Certificates, findings: Findings) -> None:
        self._findings = findings
        self._backends = backends
        self._certificates = certificates

    def host(self, name: str, settled: SettledHost) -> Host:
        """One host with its routes sorted by path and kind."""
        keys = sorted(settled.paths, key=lambda key: (key[0], key[1].value))
        routes = []
        for key in keys:
            claim, owner = settled.paths[key]
            route = self._route(key, claim.service, owner=owner, has_tls=settled.has_tls)
            routes.append(self._with_canaries(route, settled.canaries.get(key, ())))
        default = None
        if settled.default:
            service, owner = settled.default
            default = self._route(("/", PathKind.PREFIX), service, owner=owner, has_tls=settled.has_tls)
            default = self._with_canaries(default, settled.default_canaries)
        return Host(name=name, routes=tuple(routes), default=default, certificate=self._certificate(name, settled))

    def _route(self, key: tuple[str, PathKind], service: ServiceReference, *, owner: Candidate, has_tls: bool) -> Route:
        metadata = owner.ingress.metadata
        backend = None
        if not owner.options.closed:
            report = self._report(owner)
            resolve = partial(self._backends.resolve, service, metadata.namespace, report=report)
            backend = contained(resolve, report, effect="The path answers 503.")
        return Route(
            path=key[0],
            kind=key[1],
            backend=backend.key if backend else None,
            namespace=metadata.namespace,
            ingress=metadata.name,
            service=service.name,
            policy=owner.options.policy(has_tls=has_tls),
            zone_policy=self._zone_policy(backend, owner),
            affinity=affinity_of(owner.options.affinity, key[0]),
            hash_by=hash_by(owner.options.affinity),
        )

    def _with_canaries(self, route: Route, attached: Iterable[tuple[ServiceReference, Candidate]]) -> Route:
        if route.backend is None or not attached:
            return route
        made = (self._canary(route, service, owner=owner) for service, owner in attached)
        return msgspec.structs.replace(route, canaries=tuple(canary for canary in made if canary is not None))

    def _canary(self, route: Route, service: ServiceReference, *, owner: Candidate) -> Canary | None:
        metadata, options, report = owner.ingress.metadata, owner.options, self._report(owner)
        effect = "The main backend serves the requests."
        resolve = partial(self._backends.resolve, service, metadata.namespace, report=report, effect=effect)
        backend = contained(resolve, report, effect=effect)
        if backend is None:
            return None
        if backend.key == route.backend:
            message = f"At path {quote(route.path)} the canary names the main Ingress's Service: name another."
            report.add(reason="CanaryIgnored", message=message, effect=effect)
            return None
        return Canary(
            backend=backend.key,
            namespace=metadata.namespace,
            ingress=metadata.name,
            service=service.name,
            follows_affinity=canary_follows(options.affinity),
            affinity=affinity_of(options.affinity, route.path),
            hash_by=hash_by(options.affinity),
            zone_policy=self._zone_policy(backend, owner),
            **options.canary_rules,
        )

    def _certificate(self, name: str, settled: SettledHost) -> str | None:
        if settled.certificate is None:
            return None
        claim, owner = settled.certificate
        key = f"{owner.ingress.metadata.namespace}/{claim.secret_name}"
        report = self._report(owner)
        resolve = partial(self._certificates.resolve, key, name, report=report)
        return contained(resolve, report, effect="The default certificate is used.")

    def _zone_policy(self, backend: Backend | None, owner: Candidate) -> ZonePolicy | None:
        if backend is None:
            return None
        return self._backends.zones.route_policy(backend.key, owner.options.zones)

    def _report(self, owner: Candidate) -> Report:
        return self._findings.about(subject_of(owner.ingress))


def _settings(inventory: Inventory, context: TranslationContext, *, findings: Findings) -> ClusterSettings:
    namespace, _, name = context.configmap.partition("/")
    config_map = inventory.config_map(namespace, name)
    if config_map is None:
        return ClusterSettings()
    settings, wrong = read_configmap(config_map.data, subject_of(config_map))
    findings.extend(wrong)
    return settings


def _candidates(
    inventory: Inventory, context: TranslationContext, *, settings: ClusterSettings, findings: Findings
) -> Iterator[Candidate]:
    classes = classes_of(inventory.ingress_classes(), context.controller_class)
    accepted = []
    for ingress in inventory.ingresses():
        if is_accepted(ingress, classes, context=context):
            accepted.append(ingress)
        else:
            note_missing_class(ingress, classes, findings=findings)
    for ingress in by_seniority(accepted):
        report = findings.about(subject_of(ingress))
        read = partial(_candidate, ingress, settings, inventory=inventory, report=report)
        if candidate := contained(read, report, effect="The Ingress is not served."):
            yield candidate


def _candidate(
    ingress: Ingress, settings: ClusterSettings, *, inventory: Inventory, report: Report
) -> Candidate | None:
    options = read_ingress_annotations(ingress, settings, report=report)
    if claims := read_claims(ingress, report):
        return Candidate(ingress, claims, _with_endpoint_tls(options, ingress, inventory=inventory, report=report))
    return None


def _secrets(
    candidates: Iterable[Candidate], hosts: Iterable[SettledHost], context: TranslationContext
) -> frozenset[tuple[str, str]]:
    """Every Secret that carrying this out takes, whether it is there or not."""
    wanted = set()
    for host in hosts:
        if host.certificate is not None:
            claim, owner = host.certificate
            wanted.add((owner.ingress.metadata.namespace, claim.secret_name))
    for candidate in candidates:
        if authority := candidate.options.endpoint_tls.get("secret"):
            wanted.add((candidate.ingress.metadata.namespace, authority.rpartition("/")[2]))
    if context.default_ssl_certificate is not None:
        namespace, _, name = context.default_ssl_certificate.partition("/")
        wanted.add((namespace, name))
    return frozenset(wanted)


def _override(backends: Backends, candidates: Iterable[Candidate], findings: Findings) -> None:
    for candidate in candidates:
        report = findings.about(subject_of(candidate.ingress))
        contained(partial(_override_of, candidate, backends), report, effect="Its Services are balanced as if unnamed.")


def _override_of(candidate: Candidate, backends: Backends) -> None:
    claims = candidate.claims
    for service in (*(claim.service for claim in claims.paths), *((claims.default,) if claims.default else ())):
        backends.override(service, candidate.ingress.metadata.namespace, candidate.options.backend)


def _with_endpoint_tls(
    options: IngressOptions, ingress: Ingress, *, inventory: Inventory, report: Report
) -> IngressOptions:
    if not options.endpoint_tls:
        return options
    namespace = ingress.metadata.namespace
    try:
        tls = read_endpoint_tls(options.endpoint_tls, namespace=namespace, inventory=inventory, report=report)
    except Denied:
        return msgspec.structs.replace(options, closed=True)
    return msgspec.structs.replace(
        options, route_policy=msgspec.structs.replace(options.route_policy, endpoint_tls=tls)
    )


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
        # Nothing that an Ingress says leads here: the built-in 404 is truer than a 503.
        return None
    policy = msgspec.structs.replace(settings.route_policy, redirect_to_https=settings.force_ssl_redirect)
    return Route(
        path="/",
        kind=PathKind.PREFIX,
        backend=backend.key,
        namespace=namespace,
        ingress="",
        service=name,
        policy=policy,
    )


def _default_certificate(context: TranslationContext, certificates: Certificates, *, findings: Findings) -> str | None:
    if context.default_ssl_certificate is None:
        return None
    namespace, _, name = context.default_ssl_certificate.partition("/")
    report = findings.about(Subject("Secret", namespace, name))
    return certificates.resolve(f"{namespace}/{name}", "", report=report)
