"""Route configurations in the model: what stands behind entry points, and the listeners that divide it by host name."""

from __future__ import annotations

from enum import Enum
from typing import Final

import msgspec

from balancer.model.client_tls import ClientDemand
from balancer.model.gates import GateRule
from balancer.model.routes import INGRESS, Route


class Wildcards(Enum):
    """What `*` stands for in `*.example.com`, the name of a host or listener."""

    ONE_LABEL = "one"
    """Exactly one label (networking.k8s.io/v1 IngressRule)."""
    MANY_LABELS = "many"
    """One or more labels (gateway.networking.k8s.io/v1 Hostname)."""


class RouteConfiguration(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """What one or more entry points have behind them, apart from their listeners and hosts, which name its key.

    `default_route` serves requests that no other route serves. `unmatched_gates` judge the requests that no route
    serves, which then get 404. `default_certificate` is the key of the `Certificate` of handshakes for names that no
    host and no listener has. `has_fallback`: where the model has no certificate for a name, a self-signed one is shown;
    otherwise the handshake is refused. `wildcards` holds for the names of hosts and listeners. `falls_through`: if no
    route of a host serves a path, the routes of the next wider host of the same listener are asked: exact name, then
    wildcards, the longest first, then all hosts.
    """

    key: str = INGRESS
    default_route: Route | None = None
    unmatched_gates: tuple[GateRule, ...] = ()
    default_certificate: str | None = None
    has_fallback: bool = True
    wildcards: Wildcards = Wildcards.ONE_LABEL
    falls_through: bool = False


class Listener(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """A part of a route configuration: the requests whose host `hostname` covers, unless a more specific one does.

    `key` is unique in the model. `hostname` is as the name of a `Host`; empty: all hosts. Only hosts of the most
    specific listener serve a request. `certificates` are keys of `Certificate`: handshakes for names of the listener
    show the first one that fits, unless the host has its own. `client_demand` is what such handshakes ask clients for,
    None: nothing. `only_relays`: a connection that no relay route takes is reset, and no HTTP is spoken.
    `oldest_tls` is the first version of TLS that such handshakes may have, as in `ListenerTls`; empty: the settings
    alone say that.
    """

    key: str = INGRESS
    configuration: str = INGRESS
    hostname: str = ""
    certificates: tuple[str, ...] = ()
    client_demand: ClientDemand | None = None
    only_relays: bool = False
    oldest_tls: str = ""


OF_INGRESSES: Final = RouteConfiguration()
"""The route configuration of Ingresses, without routes of its own."""

INGRESS_LISTENER: Final = Listener()
"""The one listener of Ingresses."""
