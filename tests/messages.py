"""Requests on their way to an endpoint, for tests that need no more of them than a few facts."""

from __future__ import annotations

from balancer.http.messages import HTTP_1_1, Fields, Repeated, RequestHead
from balancer.http.origin import Origin
from balancer.http.streams import Outgoing
from balancer.http1.endpoint import EndpointConnection, Keeper
from balancer.model.entry_points import HTTP

PLAIN = Origin(peer="192.0.2.7", entry_point=HTTP)


def request_head(
    method: bytes = b"GET", *, body_bytes: int | None = 0, upgrade: bytes = b"", fields: Fields = ()
) -> RequestHead:
    """A request for `/` of the host `a`."""
    return RequestHead(
        method=method,
        authority=b"a",
        host_name=b"a",
        path=b"/",
        target=b"/",
        raw_target=b"/",
        fields=fields,
        body_bytes=body_bytes,
        expects_continue=False,
        upgrade=upgrade,
        protocol=HTTP_1_1,
        head_bytes=20,
        repeated=Repeated(fields),
    )


def outgoing(method: bytes = b"GET", *, body_bytes: int | None = 0, upgrade: bytes = b"") -> Outgoing:
    """The same, as it goes to an endpoint."""
    return Outgoing(request_head(method, body_bytes=body_bytes, upgrade=upgrade), PLAIN)


class Unkept(Keeper):
    """Keeps no connection to an endpoint, and notes those that were lost."""

    def __init__(self) -> None:
        self.released: list[EndpointConnection] = []
        self.lost_connections: list[EndpointConnection] = []

    def give_back(self, connection: EndpointConnection) -> None:
        self.released.append(connection)

    def lost(self, connection: EndpointConnection) -> None:
        self.lost_connections.append(connection)
