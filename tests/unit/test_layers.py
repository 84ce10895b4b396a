"""Which way imports go: the layers of each plane, what the core may touch, and which library has a home."""

from __future__ import annotations

import ast
from collections.abc import Set

import pytest

from tests.unit.layers import LAYERS, NEVER_IMPORTS, ONLY_IN
from tests.unit.sources import PLANES, SOURCES, imports, is_within, outline

CORE = (
    "balancer.explain",
    "balancer.connections.clienthello",
    "balancer.connections.handshake_costs",
    "balancer.connections.handshaking",
    "balancer.connections.hook_housing",
    "balancer.connections.idle_shares",
    "balancer.connections.places",
    "balancer.connections.proxyprotocol",
    "balancer.errors",
    "balancer.http",
    "balancer.http1.chunked",
    "balancer.http1.collecting",
    "balancer.http1.differing",
    "balancer.http1.drafts",
    "balancer.http1.fieldlines",
    "balancer.http1.fields",
    "balancer.http1.first_heads",
    "balancer.http1.framing",
    "balancer.http1.heads",
    "balancer.http1.replacing",
    "balancer.http1.responses",
    "balancer.http1.states",
    "balancer.http2.bodies",
    "balancer.http2.budgets",
    "balancer.http2.checking",
    "balancer.http2.engine",
    "balancer.http2.engines",
    "balancer.http2.events",
    "balancer.http2.fields",
    "balancer.http2.frames",
    "balancer.http2.h2_connecting",
    "balancer.http2.h2_engine",
    "balancer.http2.h2_streams",
    "balancer.http2.ngh2_engine",
    "balancer.http2.ngh2_settings",
    "balancer.http2.onward",
    "balancer.http2.pulse",
    "balancer.http2.requests",
    "balancer.http2.responses",
    "balancer.http2.splitting",
    "balancer.http2.uploads",
    "balancer.http2.windows",
    "balancer.live",
    "balancer.logs.accesslines",
    "balancer.logs.lineformats",
    "balancer.logs.tracing.spans",
    "balancer.matching.addresses",
    "balancer.matching.affinity",
    "balancer.matching.basic_credentials",
    "balancer.matching.branches",
    "balancer.matching.cors",
    "balancer.matching.cors_policy",
    "balancer.matching.destinations",
    "balancer.matching.editing",
    "balancer.matching.falling",
    "balancer.matching.forwarded",
    "balancer.matching.gates",
    "balancer.matching.hashing",
    "balancer.matching.logins",
    "balancer.matching.check_turns",
    "balancer.matching.password_checks",
    "balancer.matching.stored_hashes",
    "balancer.matching.subjects",
    "balancer.matching.clients",
    "balancer.matching.careful_tables",
    "balancer.matching.choice_tables",
    "balancer.matching.choices",
    "balancer.matching.host_compiling",
    "balancer.matching.certificates",
    "balancer.matching.mirroring",
    "balancer.matching.ordered_edits",
    "balancer.matching.path_readings",
    "balancer.matching.regexes",
    "balancer.matching.relay_tables",
    "balancer.matching.relocating",
    "balancer.matching.rewriting",
    "balancer.matching.host_names",
    "balancer.matching.host_tables",
    "balancer.matching.routing",
    "balancer.matching.served",
    "balancer.matching.server_names",
    "balancer.matching.logged",
    "balancer.matching.path_replacement",
    "balancer.matching.request_edits",
    "balancer.matching.request_fields",
    "balancer.matching.stand_ins",
    "balancer.matching.steering",
    "balancer.matching.urls",
    "balancer.matching.variables",
    "balancer.metrics.definitions",
    "balancer.metrics.fleet_metrics",
    "balancer.metrics.model_metrics",
    "balancer.metrics.process_metrics",
    "balancer.metrics.kinds",
    "balancer.metrics.nginx.series",
    "balancer.metrics.snapshots",
    "balancer.metrics.stream_metrics",
    "balancer.metrics.textformat",
    "balancer.model",
    "balancer.picking.backend",
    "balancer.picking.balancers",
    "balancer.picking.budget",
    "balancer.picking.choosing",
    "balancer.picking.comparing",
    "balancer.picking.detours",
    "balancer.picking.ejections",
    "balancer.picking.endpoint_health",
    "balancer.picking.evidence",
    "balancer.picking.failing",
    "balancer.picking.health",
    "balancer.picking.leaving",
    "balancer.picking.loads",
    "balancer.picking.making",
    "balancer.picking.members",
    "balancer.picking.outcomes",
    "balancer.picking.plans",
    "balancer.picking.plans_in_use",
    "balancer.picking.ring",
    "balancer.picking.rotation",
    "balancer.picking.sessions",
    "balancer.picking.silence",
    "balancer.picking.standing",
    "balancer.picking.turns",
    "balancer.proxy.answers",
    "balancer.proxy.between",
    "balancer.proxy.bodies",
    "balancer.proxy.body_room",
    "balancer.proxy.endings",
    "balancer.proxy.gating",
    "balancer.proxy.retries",
    "balancer.relays.room",
    "balancer.relays.states",
    "balancer.sharing.books",
    "balancer.sharing.calls",
    "balancer.sharing.columns",
    "balancer.sharing.counting",
    "balancer.sharing.flight_table",
    "balancer.sharing.guards",
    "balancer.sharing.layout",
    "balancer.sharing.namesakes",
    "balancer.sharing.spending",
    "balancer.sharing.sums",
    "balancer.sharing.peer_table",
    "balancer.sharing.peers",
    "balancer.sharing.rate_table",
    "balancer.sharing.rates",
    "balancer.sharing.relay",
    "balancer.sharing.rows",
    "balancer.sharing.zone_peers",
    "balancer.sharing.zone_table",
    "balancer.workers.deltas",
    "balancer.workers.parts",
    "balancer.workers.lifecycle",
    "balancer.workers.messages",
    "balancer.workers.reports",
    "balancer.workers.shipping",
    "balancer.runtime.absences",
    "balancer.runtime.fair_cache",
    "balancer.runtime.shares",
    "balancer.runtime.steps",
    "balancer.runtime.token_buckets",
    "balancer.zones",
    "ingress.admin.crowd",
    "ingress.admin.overview.document",
    "ingress.admin.overview.tried_texts",
    "ingress.cli.kubectl.channels",
    "ingress.cli.kubectl.drains",
    "ingress.cli.kubectl.replicas",
    "ingress.admin.overview.durations",
    "ingress.cli.terminal.keys",
    "ingress.cli.terminal.ranking",
    "ingress.cli.terminal.rates",
    "ingress.cli.terminal.tables",
    "ingress.cli.terminal.views",
    "ingress.explain.attached",
    "ingress.explain.evidence",
    "ingress.findings",
    "ingress.following.ageing",
    "ingress.following.holdoff",
    "ingress.following.namespace_turns",
    "ingress.following.sick_zones",
    "ingress.following.zone_modes",
    "ingress.migration.plain_words",
    "ingress.migration.savings.bills",
    "ingress.migration.savings.estimating",
    "ingress.objects",
    "ingress.replicas.allowances",
    "ingress.replicas.facts",
    "ingress.replicas.failures",
    "ingress.replicas.limiting",
    "ingress.replicas.links",
    "ingress.replicas.members",
    "ingress.replicas.messages",
    "ingress.replicas.other_replica",
    "ingress.replicas.others",
    "ingress.replicas.outbox",
    "ingress.replicas.pace",
    "ingress.replicas.plausibility",
    "ingress.replicas.readiness",
    "ingress.replicas.recent",
    "ingress.replicas.seen_columns",
    "ingress.replicas.sharing",
    "ingress.replicas.sightings",
    "ingress.replicas.spending",
    "ingress.replicas.telling",
    "ingress.replicas.traffic",
    "ingress.replicas.traffic_sharing",
    "ingress.replicas.zone_events",
    "ingress.settings",
    "ingress.sources.change_stamps",
    "ingress.sources.contract",
    "ingress.sources.documents",
    "ingress.sources.events",
    "ingress.sources.inventory",
    "ingress.sources.kubernetes.backlog",
    "ingress.sources.kubernetes.decoding",
    "ingress.sources.kubernetes.gathering",
    "ingress.sources.kubernetes.lines",
    "ingress.sources.kubernetes.node_lookups",
    "ingress.sources.kubernetes.patience",
    "ingress.sources.kubernetes.reflecting",
    "ingress.sources.kubernetes.replica",
    "ingress.sources.kubernetes.resources",
    "ingress.sources.kubernetes.scope_events",
    "ingress.sources.kubernetes.served_kinds",
    "ingress.sources.name_turns",
    "ingress.sources.recorded",
    "ingress.times",
    "ingress.translation",
    "ingress.webhook.admission",
    "ingress.writing.addresses",
    "ingress.writing.electing",
    "ingress.writing.gateway.contests",
    "ingress.writing.gateway.due",
    "ingress.writing.gateway.in_use",
    "ingress.writing.gateway.managers",
    "ingress.writing.gateway.merging",
    "ingress.writing.gateway.planning",
    "ingress.writing.gateway.services",
    "ingress.writing.lease",
    "ingress.writing.mode_notices",
    "ingress.writing.notices",
    "ingress.writing.statuses",
)
"""Modules, and packages with all that is in them, that decide and do nothing else."""

_IMPURE = "aiohttp asyncio kubernetes_asyncio logging os prometheus_client random socket threading time uvloop"
IMPURE = {*_IMPURE.split()}
"""What the core gets as arguments or leaves to the shell."""


def imports_of(module: str) -> frozenset[str]:
    return outline(SOURCES[module]).imports


def forbidden(imported: Set[str], packages: set[str]) -> set[str]:
    return {name for name in imported for package in packages if is_within(name, package)}


def is_core(module: str) -> bool:
    return any(is_within(module, core) for core in CORE)


def is_folder(module: str) -> bool:
    """Whether a module is a package, which holds a docstring alone: what is imported from it counts by itself."""
    return SOURCES[module].name == "__init__.py"


def test_every_entry_of_the_core_exists() -> None:
    assert [core for core in CORE if core not in SOURCES] == []


def test_imports_go_one_way() -> None:
    found = {
        (module, package): forbidden(imports_of(module), others)
        for package, others in NEVER_IMPORTS.items()
        for module in SOURCES
        if is_within(module, package)
    }
    assert found
    assert {place: names for place, names in found.items() if names} == {}


def layer_of(module: str) -> int | None:
    """The number of the layer that a module stands in, or None for what is in no layer: other code and the planes."""
    plane, _, rest = module.partition(".")
    entry = rest.partition(".")[0]
    return next((number for number, entries in enumerate(LAYERS.get(plane, ())) if entry in entries), None)


def upward_imports(module: str, imported: Set[str]) -> set[str]:
    """Those of `imported` that stand in a higher layer of the plane of `module`."""
    own, plane = layer_of(module), module.partition(".")[0]
    return {
        name
        for name in imported
        if own is not None and is_within(name, plane) and (layer := layer_of(name)) is not None and layer > own
    }


def test_imports_never_go_up_a_layer() -> None:
    found = {module: upward_imports(module, imports_of(module)) for module in SOURCES}
    assert {module: names for module, names in found.items() if names} == {}


@pytest.mark.parametrize(
    ("module", "imported"),
    [
        ("balancer.matching.routing", "balancer.http1.heads"),
        ("balancer.http1.heads", "balancer.proxy.serving"),
        ("balancer.model.routes", "balancer.live"),
        ("ingress.translation.assembly", "ingress.app"),
    ],
)
def test_an_import_that_goes_up_a_layer_is_seen(module: str, imported: str) -> None:
    assert upward_imports(module, {imported}) == {imported}


@pytest.mark.parametrize("package", ["matching", "picking", "zones", "explain", "proxy"])
def test_what_decides_knows_no_http_version(package: str) -> None:
    assert NEVER_IMPORTS[f"balancer.{package}"] >= {"balancer.http1", "balancer.http2"}


@pytest.mark.parametrize("plane", PLANES)
def test_every_entry_of_a_plane_has_a_layer(plane: str) -> None:
    entries = {module.split(".")[1] for module in SOURCES if is_within(module, plane) and module != plane}
    assert entries <= set().union(*LAYERS[plane])


def test_a_library_with_a_home_stays_there() -> None:
    abroad = {
        (module, library)
        for library, homes in ONLY_IN.items()
        for module in SOURCES
        if not any(is_within(module, home) for home in homes) and forbidden(imports_of(module), {library})
    }
    assert abroad == set()


def test_the_core_touches_neither_the_world_nor_the_shell() -> None:
    touched = {
        module: forbidden(imports_of(module), IMPURE)
        | {name for name in imports_of(module) if name in SOURCES and not is_folder(name) and not is_core(name)}
        for module in SOURCES
        if is_core(module)
    }
    assert touched
    assert {module: names for module, names in touched.items() if names} == {}


@pytest.mark.parametrize(
    "line",
    [
        "import ingress",
        "import ingress.settings.configmap as other",
        "from ingress import settings",
        "from ingress.settings.configmap import ClusterSettings",
        "def late():\n    from ingress import settings",
        "if TYPE_CHECKING:\n    import ingress.app",
    ],
)
def test_an_import_is_seen_in_every_spelling(line: str) -> None:
    assert forbidden(imports(ast.parse(line)), {"ingress"})


def test_a_name_that_only_begins_alike_is_another_name() -> None:
    imported = imports(ast.parse("import timeit, ingress_tools\nfrom osmosis import x"))
    assert not forbidden(imported, {"time", "os", "ingress"})
