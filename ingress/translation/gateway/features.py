"""What of Gateway API is supported: the features that a GatewayClass names, and the routes that each protocol takes.

One table, which the documentation prints.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from ingress.objects.metadata import Kind


class FeatureRow(msgspec.Struct, frozen=True):
    """A feature under the name that the conformance suite has for it, and what it is."""

    name: str
    meaning: str


FEATURES: Final[tuple[FeatureRow, ...]] = (
    FeatureRow("Gateway", "Gateways and their listeners"),
    FeatureRow("GatewayPort8080", "a listener on port 8080"),
    FeatureRow("HTTPRoute", "routes of HTTP: paths, header fields, hosts, weights"),
    FeatureRow("ReferenceGrant", "references to other namespaces"),
)
"""By name."""

ROUTES_BY_PROTOCOL: Final[Mapping[str, tuple[Kind, ...]]] = {
    "HTTP": (Kind.HTTP_ROUTE, Kind.GRPC_ROUTE),
    "HTTPS": (Kind.HTTP_ROUTE, Kind.GRPC_ROUTE),
    "TLS": (Kind.TLS_ROUTE,),
    "TCP": (Kind.TCP_ROUTE,),
}
"""The kinds of routes of each supported protocol, in the order of statuses."""
