"""Who may import whom: rules of packages, the layers of each plane, and the homes of libraries."""

from __future__ import annotations

_DATA_PLANE = (
    "errors model http logs metrics sharing matching zones picking live connections http1 http2 proxy relays explain"
    " workers"
)

NEVER_IMPORTS = {
    "balancer": {"ingress"},
    "balancer.http1": {"balancer.http2", "balancer.picking", "balancer.proxy"},
    "balancer.http2": {"balancer.http1", "balancer.picking", "balancer.proxy"},
    "balancer.matching": {"balancer.http1", "balancer.http2"},
    "balancer.picking": {"balancer.http1", "balancer.http2"},
    "balancer.zones": {"balancer.http1", "balancer.http2"},
    "balancer.explain": {"balancer.http1", "balancer.http2"},
    "balancer.proxy": {"balancer.http1", "balancer.http2", "balancer.relays"},
    "balancer.relays": {"balancer.http1", "balancer.http2"},
    # Of `balancer.runtime`, sources use what every event loop needs.
    "ingress.sources": {"ingress.translation", *(f"balancer.{name}" for name in _DATA_PLANE.split())},
}
"""A package and what nothing in it may import, at any level."""

LAYERS = {
    "balancer": (
        {"errors", "manifest"},
        {"model"},
        {"http", "runtime", "logs", "metrics", "sharing"},
        {"matching", "zones", "picking"},
        {"live"},
        {"connections", "http1", "http2"},
        {"proxy", "relays"},
        {"explain"},
        {"workers"},
    ),
    "ingress": (
        {"findings", "times"},
        {"objects"},
        {"settings", "sources"},
        {"translation"},
        {"following", "replicas", "explain", "migration", "admin", "webhook", "writing", "demo"},
        {"cluster", "fleet_trust"},
        {"app"},
        {"cli"},
        {"__main__"},
    ),
}
"""The layers of each plane, lowest first. An entry imports its own layer and those below, never one above."""

ONLY_IN = {
    "h2": ("balancer.http2.h2_engine", "balancer.http2.h2_connecting"),
    "kubernetes_asyncio": ("ingress.sources.kubernetes",),
    "ngh2": ("balancer.http2.ngh2_engine", "balancer.http2.ngh2_settings"),
    "opentelemetry": ("balancer.logs.tracing.exporting",),
}
"""A library and the package or modules that may import it."""
