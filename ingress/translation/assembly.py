"""Runs the whole translation: from inventory to routing model and findings.

The first pass finds what objects ask for. The second pass finds what that resolves to. Results are sorted, so that
equal clusters give equal models. Never raises, whatever a cluster holds. Knows no rule that has a module of its own.
"""

from __future__ import annotations

from collections.abc import Collection, Generator, Sequence

import msgspec

from balancer.model.publication import RoutingModel
from balancer.model.zones import ZonePolicyName
from ingress.findings import (
    Finding,
    Findings,
    holds,
    most_harmful_first,
    with_changes,
)
from ingress.settings.context import TranslationContext
from ingress.settings.table.cluster import ClusterSettings
from ingress.sources.contract import Wanted
from ingress.sources.inventory import Inventory
from ingress.translation.claims import Claims
from ingress.translation.cluster.added_fields import proxy_with_fields
from ingress.translation.cluster.cluster_settings import cluster_settings
from ingress.translation.cluster.drains import next_end
from ingress.translation.cluster.zone_findings import given_zone, note_unknown_zone
from ingress.translation.cluster.zones import own_zone
from ingress.translation.desired import DesiredState, EntryParts, routed
from ingress.translation.gateway.annotations import route_settings
from ingress.translation.gateway.findings import note_standings
from ingress.translation.gateway.material import GatewayMaterial
from ingress.translation.gateway.memory import GatewayMemory
from ingress.translation.gateway.own_ports import Exposure
from ingress.translation.gateway.reading import GatewayOptions, ReadGateways, read_gateways
from ingress.translation.gateway.route_findings import note_routes
from ingress.translation.gateway.serving import gateway_parts
from ingress.translation.gateway.standings import ObjectStanding
from ingress.translation.host_memory import HostMemory
from ingress.translation.ingress.claiming import claims_of_ingresses
from ingress.translation.ingress.hosts.conflicts import by_seniority
from ingress.translation.ingress.hosts.expression_reading import Readings
from ingress.translation.ingress.hosts.settled import OwnClaims
from ingress.translation.ingress.hosts.settlement import Settlement
from ingress.translation.memory import InventoryView, Memory
from ingress.translation.needs import named_logins, needed_config_maps, needed_secrets
from ingress.translation.secrets.authority_shares import share_authorities
from ingress.translation.secrets.certificates import Certificates, CertificateShelf
from ingress.translation.secrets.endpoint_tls import with_secrets
from ingress.translation.services.backend_memories import BackendMemories, UsedBackends
from ingress.translation.services.backend_overrides import SaidOverrides, backend_overrides
from ingress.translation.services.backends import Backends
from ingress.translation.services.endpoint_changes import EndpointPlan, remaking_endpoints
from ingress.translation.services.zone_facts import replica_zones, zone_facts
from ingress.translation.tcp_services import gateway_services, tcp_parts

_NOTHING = Wanted()


class Translation(msgspec.Struct, frozen=True):
    """What the cluster asks for as far as it can be carried out, and findings about the rest.

    `wanted` says which objects have to be known to carry out all of it. `plan` and `other_findings` (those that are not
    about slices) are for `with_endpoints`. `services` are those that anything refers to. `standings` are what
    statuses of Gateway API should say, `exposures` what the Services of Gateways should be; `seen_at` is the stamp of
    the inventory that they judge. `is_partial`: some Secrets are seen as they were, and the next translation judges
    more of them. `ends_at_epoch_seconds` is when a new translation is due although nothing has changed; None: never.
    """

    model: RoutingModel
    findings: tuple[Finding, ...]
    wanted: Wanted = Wanted()
    plan: EndpointPlan = EndpointPlan()
    other_findings: tuple[Finding, ...] = ()
    services: frozenset[tuple[str, str]] = frozenset()
    standings: tuple[ObjectStanding, ...] = ()
    exposures: tuple[Exposure, ...] = ()
    seen_at: int = 0
    is_partial: bool = False
    ends_at_epoch_seconds: float | None = None


def with_endpoints(
    last: Translation, services: Collection[tuple[str, str]], inventory: Inventory
) -> Generator[None, None, Translation]:
    """What `translate` would return if since `last` only slices of `services` have changed. In steps.

    Services outside of `last.services` may have changed as well, because nothing depends on them.

    Unchanged findings are the same tuple, so that callers can compare thousands by identity.
    """
    seen_at = inventory.stamps.now
    model, plan = yield from remaking_endpoints(last.model, last.plan, services=services, inventory=inventory)
    yield
    before, after = last.plan.findings_of(services), plan.findings_of(services)
    if before == after:
        return msgspec.structs.replace(last, model=model, plan=plan, seen_at=seen_at)
    gone = (finding for finding in before - after if not holds(last.other_findings, finding))
    findings = with_changes(last.findings, gone=gone, new=after - before)
    return msgspec.structs.replace(last, model=model, plan=plan, findings=findings, seen_at=seen_at)


class Memories:
    """What a controller remembers from one translation to the next: certificates, expressions, claims, backends, hosts.

    The result of a translation does not depend on them, but for certificates that cannot be read any more.
    """

    __slots__ = (
        "backends",
        "claims",
        "context",
        "gateways",
        "hosts",
        "overrides",
        "readings",
        "settings",
        "settlement",
        "shelf",
    )

    def __init__(self, shelf: CertificateShelf | None = None) -> None:
        """`shelf` holds certificates that were read before."""
        self.shelf = shelf or CertificateShelf()
        self.readings = Readings()
        self.context: TranslationContext | None = None
        self.settings = ClusterSettings()
        self._forget()

    def begin(self, inventory: Inventory, context: TranslationContext, settings: ClusterSettings) -> ClusterSettings:
        """Begins a translation. Returns the settings: the same object as last time if they are equal."""
        if context != self.context:
            self.context = context
            self._forget()
        if settings != self.settings:
            self.settings = settings
        view = InventoryView(inventory)
        self.claims.begin(view)
        self.overrides.begin(view)
        self.backends.begin(view)
        self.gateways.begin(view)
        self.hosts.begin()
        return self.settings

    def _forget(self) -> None:
        context = self.context
        # Without a default certificate a client trusts none at such a host, so that another one harms nobody.
        self.settlement = Settlement(lends=context is not None and context.default_ssl_certificate is None)
        self.claims: Memory[OwnClaims | None] = Memory()
        self.overrides: Memory[SaidOverrides] = Memory()
        self.backends = BackendMemories()
        self.gateways = GatewayMemory()
        self.hosts = HostMemory()


def translate(
    inventory: Inventory,
    context: TranslationContext,
    *,
    memories: Memories | None = None,
    before: Wanted = _NOTHING,
    judged_most: int | None = None,
    now_epoch_seconds: float = 0.0,
) -> Translation:
    """Translates everything. With `memories`, which a controller keeps, only what has changed is made again.

    `before` is what the last translation wanted. ConfigMaps that are followed already are not given up for others. Of
    the Secrets in it that have changed, `judged_most` are judged (`secret_turns`); None: all.

    `now_epoch_seconds` decides which certificates are reported as expired, and which drains are over. The model depends
    on it only as `ends_at_epoch_seconds` says.
    """
    findings = Findings(inventory.findings)
    memories = memories or Memories()
    shelf = memories.shelf
    held_back = shelf.turns.hold_back(before.secrets, inventory, most=judged_most)
    inventory = inventory.holding_back(held_back)
    settings = cluster_settings(inventory, context, findings, now_epoch_seconds=now_epoch_seconds)
    settings = memories.begin(inventory, context, settings)
    shelf.materials.begin(settings.keys)
    streams = tcp_parts(inventory, context, settings, findings)
    gateways = _gateways(inventory, context, streams, memories, findings)
    needs = gateways.needs
    desired = _desired(inventory, context, settings, needs, before=before, memories=memories, findings=findings)
    zones, used = gateways.zones, desired.services.__contains__
    zones.note(gateways.standings, gateways.gateways, findings, uses=used)
    parts = gateway_parts(
        gateways,
        settings,
        sockets=dict(context.gateway_ports),
        overrides=route_settings(gateways.sums.annotated, findings),
        memory=memories.gateways,
    ).beside(streams)
    certificates = Certificates(inventory, shelf, now_epoch_seconds=now_epoch_seconds)
    made = _resolved(
        desired,
        msgspec.structs.replace(parts, zones=zones),
        inventory,
        context,
        certificates=certificates,
        memories=memories,
        findings=findings,
        now=now_epoch_seconds,
    )
    made = msgspec.structs.replace(_with_gateways(made, gateways), seen_at=inventory.stamps.now)
    shelf.turns.saw(made.wanted.secrets, inventory)
    drains = settings.zone_facts.drains if settings.zone_aware_routing else ()
    ends_at = next_end(drains, now_epoch_seconds=now_epoch_seconds)
    return msgspec.structs.replace(made, is_partial=bool(held_back), ends_at_epoch_seconds=ends_at)


def _gateways(
    inventory: Inventory, context: TranslationContext, streams: EntryParts, memories: Memories, findings: Findings
) -> ReadGateways:
    """What objects of Gateway API ask for, as far as other objects let them. They get no port of `streams`."""
    taken = {each.socket for each in streams.entry_points}
    ports = frozenset(port for port, socket in context.gateway_ports if socket not in taken)
    options = GatewayOptions(
        context.controller_class,
        ports,
        gateway_services(inventory, context),
        allow_external=context.allow_external_name,
        hooks=context.hooks,
        one_namespace_per_hostname=context.one_namespace_per_hostname,
    )
    material = GatewayMaterial(inventory, memories.shelf.materials)
    gateways = read_gateways(inventory, options, material, memories.gateways)
    note_standings(gateways.standings, findings, memories.gateways)
    note_routes(gateways.sums.noted, findings)
    return gateways


def _with_gateways(made: Translation, gateways: ReadGateways) -> Translation:
    """`made` with the Services that routes of Gateways name, and with its standings."""
    return msgspec.structs.replace(
        made,
        services=made.services | gateways.services,
        standings=gateways.standings,
        exposures=gateways.exposures,
    )


def _desired(
    inventory: Inventory,
    context: TranslationContext,
    settings: ClusterSettings,
    needs: Sequence[Claims],
    *,
    before: Wanted,
    memories: Memories,
    findings: Findings,
) -> DesiredState:
    """The first pass: reads what every object asks for, and settles which claim wins. Resolves nothing.

    `needs` are the Secrets and ConfigMaps that objects of other languages name.
    """
    materials = memories.shelf.materials
    read = claims_of_ingresses(
        inventory, context, settings=settings, findings=findings, materials=materials, memory=memories.claims
    )
    claims = by_seniority(read)
    main = share_authorities([each for each in claims if not each.is_canary], findings)
    canaries = tuple(each for each in claims if each.is_canary)
    hosts = memories.settlement.hosts(main, canaries, memories.readings, settings.snippets, findings)
    return DesiredState(
        settings=settings,
        hosts=hosts,
        overrides=backend_overrides((*main, *canaries), memories.overrides, findings),
        services=frozenset().union(*(each.services for each in claims)),
        secrets=needed_secrets((*claims, *needs), hosts, context, before=before.secrets, findings=findings),
        logins=named_logins(claims),
        config_maps=needed_config_maps(
            (*main, *needs), settings, context, before=before.config_maps, findings=findings
        ),
    )


def _resolved(
    desired: DesiredState,
    parts: EntryParts,
    inventory: Inventory,
    context: TranslationContext,
    *,
    certificates: Certificates,
    memories: Memories,
    findings: Findings,
    now: float,
) -> Translation:
    """The second pass: resolves backends and certificates, and makes the model from them."""
    settings = desired.settings
    backends = Backends(
        inventory=inventory,
        settings=settings,
        overrides=desired.overrides,
        memories=memories.backends,
        allow_local=context.allow_local_endpoints,
        allow_external=context.allow_external_name,
        findings=findings,
    )
    routes = routed(
        desired, parts, context, backends=backends, certificates=certificates, memory=memories.hosts, findings=findings
    )
    given = given_zone(inventory, context)
    placed = replica_zones(inventory, context.own_service, settings, now_epoch_seconds=now)
    used = backends.used(counts_zones=given is not None or placed is not None)
    replicas_of = context.own_service if _counts_replicas(settings, used.policy_names) else None
    zones = zone_facts(inventory, settings, policies=used.policy_names, replicas_of=replicas_of, now_epoch_seconds=now)
    model = msgspec.structs.replace(routes, certificates=certificates.used(), zones=zones)
    model = _whole(model, used, desired, inventory, context, findings=findings)
    plan = used.plan(
        allow_local=context.allow_local_endpoints,
        replicas_of=replicas_of,
        given_zone=given,
        own_service=context.own_service,
        replica_zones=placed,
    )
    others = findings.frozen()
    return Translation(
        model=with_secrets(model, inventory, certificates.materials),
        findings=most_harmful_first((*others, *plan.findings)),
        wanted=Wanted(desired.secrets, used.names, settings.node_watch, desired.config_maps),
        plan=plan,
        other_findings=others,
        services=desired.services | used.services,
    )


def _whole(
    model: RoutingModel,
    used: UsedBackends,
    desired: DesiredState,
    inventory: Inventory,
    context: TranslationContext,
    *,
    findings: Findings,
) -> RoutingModel:
    """`model`, which has routes, certificates and zones, with its backends, logins, hooks, settings and own zone."""
    settings = desired.settings
    place = own_zone(inventory, context, used.every_label_key)
    note_unknown_zone(place, inventory, context, settings=settings, findings=findings)
    return msgspec.structs.replace(
        model,
        backends=used.backends,
        logins=desired.logins,
        hooks=tuple(hook.code for hook in context.hooks),
        proxy=proxy_with_fields(settings, inventory, findings),
        own_zone=place,
    )


def _counts_replicas(settings: ClusterSettings, policies: Collection[ZonePolicyName]) -> bool:
    """Whether something depends on where our replicas are: a policy, or the readiness of those in drained zones."""
    facts = settings.zone_facts
    leave = settings.zone_aware_routing and facts.drained_replicas_leave and facts.drains
    return bool(leave) or ZonePolicyName.PROPORTIONAL in policies
