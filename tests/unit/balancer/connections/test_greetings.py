"""A ClientHello says whether HTTP follows, or a relay, and whose certificates its client sees."""

from __future__ import annotations

import ssl
from collections.abc import Callable

import pytest

from balancer.connections.arrivals import Arrival
from balancer.connections.clienthello import Hello
from balancer.connections.greetings import Asking, Greetings, context_for, speaks
from balancer.connections.raw import RawConnection
from balancer.http.streams import Connection
from balancer.matching.relay_tables import UNROUTED, Choice
from balancer.model.entry_points import HTTPS, EntryPoint, Protocol

TLS = EntryPoint("tls", Protocol.TLS, 8443, "8443")
SHOP = Hello(0, (), "shop.test", is_whole=True)
UNREAD = Hello(0)


class Names:
    """Certificates for one name, as an entry point or a relay knows them."""

    def __init__(self, asked: str | None) -> None:
        self.asked = asked
        self.usual, self.asking = (ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER) for _ in range(2))

    @property
    def asks(self) -> bool:
        return self.asked is not None

    def is_ready(self, server_name: str | None) -> bool:
        return True

    async def prepare(self, server_name: str | None) -> None:
        return None

    def context_for(self, server_name: str | None) -> ssl.SSLContext | None:
        return self.asking if server_name == self.asked else None

    def chain_bytes(self, server_name: str | None) -> int:
        return 0

    def beginning_for(self, server_name: str | None) -> ssl.SSLContext:
        return self.usual


class Relays:
    """Relays that refuse every name at the entry points that they have."""

    def __init__(self, *entry_points: EntryPoint) -> None:
        self.entry_points = entry_points
        self.own = Names(None)
        self.names_asked: list[str | None] = []

    def relays_at(self, entry_point: EntryPoint) -> bool:
        return entry_point in self.entry_points

    def choice(self, entry_point: EntryPoint, server_name: str | None) -> Choice:
        self.names_asked.append(server_name)
        return UNROUTED

    def names(self, entry_point: EntryPoint) -> Asking:
        return self.own

    def make(self, arrival: Arrival, on_open: Callable[[Connection], None]) -> RawConnection:
        raise AssertionError("no relay is made")


def test_where_nothing_is_relayed_http_follows() -> None:
    relays = Relays()
    assert Greetings(lambda _: Names(None), relays).choice(HTTPS, SHOP) is None
    assert not relays.names_asked


def test_where_connections_are_relayed_the_name_decides() -> None:
    relays = Relays(HTTPS)
    assert Greetings(lambda _: Names(None), relays).choice(HTTPS, SHOP) is UNROUTED
    assert relays.names_asked == ["shop.test"]


@pytest.mark.parametrize(("entry_point", "choice"), [(HTTPS, None), (TLS, UNROUTED)])
def test_what_is_no_hello_is_refused_only_where_no_http_is_spoken(entry_point: EntryPoint, choice: Choice) -> None:
    assert Greetings(lambda _: Names(None), Relays(HTTPS, TLS)).choice(entry_point, UNREAD) is choice


def test_each_sees_the_certificates_of_who_serves_it() -> None:
    names, relays = Names(None), Relays(TLS)
    greetings = Greetings(lambda _: names, relays)
    assert greetings.names_for(HTTPS, None) is names
    assert greetings.names_for(TLS, UNROUTED) is relays.own


@pytest.mark.parametrize(
    ("offered", "http2", "spoken"),
    [
        ((), False, True),
        ((b"http/1.1",), False, True),
        ((b"h2",), False, False),
        ((b"h2",), True, True),
        ((b"spdy/3", b"h2"), True, True),
        ((b"spdy/3",), True, False),
    ],
)
def test_a_client_that_offers_only_what_nobody_speaks_is_not_spoken_to(
    offered: tuple[bytes, ...], http2: bool, spoken: bool
) -> None:
    assert speaks(Hello(0, offered), http2=http2) is spoken


@pytest.mark.parametrize("asked", [None, "other.test"])
def test_a_handshake_begins_with_the_usual_context_unless_its_name_is_asked_for(asked: str | None) -> None:
    names = Names(asked)
    assert context_for(names, SHOP) is names.usual


def test_a_name_whose_clients_are_asked_has_a_context_of_its_own() -> None:
    names = Names("shop.test")
    assert context_for(names, SHOP) is names.asking
