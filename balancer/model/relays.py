"""Relays in the model: which connections are carried as bytes to an endpoint, without HTTP."""

from __future__ import annotations

import msgspec

from balancer.model.routes import INGRESS, Branch, Owner


class RelayRoute(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """Connections that go to endpoints as they are, by the name that their ClientHello says.

    `name`: exact name, `*.` and a suffix for leading labels, or empty: every connection of the listener, also one that
    names nobody. `listener` is the key of the listener that has the route, and `configuration` that of its route
    configuration. No two relay routes of a listener have the same name.

    `branches` has at least one, and none of them is a canary. `ends_tls`: TLS of clients ends here; else it passes.
    An endpoint may take `connect_seconds` to accept, and at most `tries` endpoints are tried, 0: any number.
    `sends_proxy_line`: connections to endpoints begin with a PROXY line of version 1, whatever their backend says.
    """

    name: str
    owner: Owner
    branches: tuple[Branch, ...]
    ends_tls: bool = False
    connect_seconds: float = 5.0
    tries: int = 3
    sends_proxy_line: bool = False
    configuration: str = INGRESS
    listener: str = INGRESS
