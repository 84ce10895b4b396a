"""What holds for the whole cluster: the settings made from the ConfigMap, and the options of no other section.

Responsible for the typed tree of settings. It must not know how a ConfigMap is read.
"""

from __future__ import annotations

import msgspec

from balancer.model.policies import RoutePolicy
from balancer.model.settings import ProxySettings
from ingress.settings.table.access import AccessSettings
from ingress.settings.table.affinity import AffinityOptions
from ingress.settings.table.annotation_policy import AnnotationPolicy
from ingress.settings.table.backends import BackendSettings
from ingress.settings.table.connections import proxy_settings
from ingress.settings.table.errors import ErrorSettings
from ingress.settings.table.external_auth import GlobalAuthSettings, global_auth
from ingress.settings.table.fields import FieldSettings
from ingress.settings.table.limits import ClusterLimits, LimitSettings
from ingress.settings.table.option import Overrides, cluster_option
from ingress.settings.table.redirects import Redirects
from ingress.settings.table.relocation import Relocation
from ingress.settings.table.responses import ResponseSettings
from ingress.settings.table.routes import cluster_policy
from ingress.settings.table.snippets import ClusterLevels
from ingress.settings.table.source_ranges import SourceSettings
from ingress.settings.table.tls_keys import KeyBounds
from ingress.settings.table.tracing import ExportSettings, TracingSettings, export_settings
from ingress.settings.table.zones import ZoneFactSettings, ZoneSettings
from ingress.settings.values import boolean, names


class ClusterSettings(msgspec.Struct, frozen=True):
    """What holds for the whole cluster.

    `zones`, and of `zone_facts` all but prices, count only while `zone_aware_routing` is true. `route_policy`,
    `redirects`, `relocation`, `tracing`, `affinity` and `ingress_limits` are the defaults of every Ingress. `zones` and
    `backend` are those of every backend. `spans` says where spans go, `keys` how large keys may be, and
    `snippets` what every path gets by lines of nginx.

    `annotation_policy` says which annotations an Ingress may have. `closed`: the ConfigMap asks for a protection that
    zonal cannot give, so every path must answer 503.
    `passes_tls`: the TLS of hosts passes to endpoints where an Ingress says so.
    `ignored_annotations` and `ignored_settings` are names that the operator wants ignored although they close paths.
    """

    zone_aware_routing: bool = False
    zones: ZoneSettings = ZoneSettings()
    zone_facts: ZoneFactSettings = ZoneFactSettings()
    redirects: Redirects = Redirects()
    relocation: Relocation = Relocation()
    node_watch: bool = False
    route_policy: RoutePolicy = RoutePolicy()
    proxy: ProxySettings = ProxySettings()
    backend: BackendSettings = BackendSettings()
    responses: ResponseSettings = ResponseSettings()
    sources: SourceSettings = SourceSettings()
    limits: ClusterLimits = ClusterLimits()
    ingress_limits: LimitSettings = LimitSettings()
    access: AccessSettings = AccessSettings()
    affinity: AffinityOptions = AffinityOptions()
    annotation_policy: AnnotationPolicy = AnnotationPolicy()
    fields: FieldSettings = FieldSettings()
    errors: ErrorSettings = ErrorSettings()
    external_auth: GlobalAuthSettings = GlobalAuthSettings()
    tracing: TracingSettings = TracingSettings()
    spans: ExportSettings = ExportSettings()
    keys: KeyBounds = KeyBounds()
    snippets: ClusterLevels = ClusterLevels()
    closed: bool = False
    passes_tls: bool = False
    ignored_annotations: frozenset[str] = frozenset()
    ignored_settings: frozenset[str] = frozenset()


def cluster_settings(overrides: Overrides) -> ClusterSettings:
    """The settings of a cluster; `overrides` are those of the ConfigMap."""
    return msgspec.structs.replace(
        overrides.throughout(ClusterSettings()),
        route_policy=cluster_policy(overrides),
        proxy=proxy_settings(overrides),
        backend=BackendSettings().overridden(overrides),
        external_auth=global_auth(overrides),
        spans=export_settings(overrides),
    )


FLAG_OPTIONS = (
    cluster_option(
        name="zone-aware-routing",
        fills=(ClusterSettings, "zone_aware_routing"),
        grammar=boolean,
        default="false",
        doc='the flag: `"true"` switches zone policies on',
    ),
    cluster_option(
        name="node-watch",
        fills=(ClusterSettings, "node_watch"),
        grammar=boolean,
        default="false",
        doc='`"true"`: every Node is followed with its status, which `allocate` needs, and with the taints of nodes'
        " that go away; otherwise Nodes are looked up, labels only",
    ),
)

IGNORING_OPTIONS = (
    cluster_option(
        name="ignore-annotations",
        fills=(ClusterSettings, "ignored_annotations"),
        grammar=names,
        doc="comma list of ingress-nginx annotations, without prefix, that close nothing although zonal does not"
        " support them or their value. **Requests are then misrouted or unprotected**; the finding stays and says"
        " which",
    ),
    cluster_option(
        name="ignore-settings",
        fills=(ClusterSettings, "ignored_settings"),
        grammar=names,
        doc="comma list of keys of this ConfigMap that close nothing although zonal does not support them or their"
        " value, likewise",
    ),
)
