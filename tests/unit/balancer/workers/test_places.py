"""A place gives its connections up, and gets some again only when somebody listens."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from balancer.connections.listeners import Port, open_ports, port_of, ports_of
from balancer.workers.lifecycle import Slot, Times
from balancer.workers.places import Place


@pytest.fixture
def places() -> Iterator[list[Place]]:
    opened = open_ports("127.0.0.1", (Port("http", 0), Port("https", 0), Port("gateway", 0)), count=2)
    places = [Place(number, sockets, Slot(Times())) for number, sockets in enumerate(opened)]
    yield places
    for place in places:
        place.close()


def test_a_closed_one_leaves_connections_to_the_others(places: list[Place]) -> None:
    closed, left = places
    closed.close()
    closed.close()
    for _ in range(2):
        for listener in left.sockets.values():
            for _ in range(10):
                socket.create_connection(("127.0.0.1", port_of(listener)), timeout=5).close()
                listener.accept()[0].close()  # or it would raise BlockingIOError
        closed.reopen()
    assert ports_of(closed.sockets) == ports_of(left.sockets)


def test_an_open_one_stays_as_it_is(places: list[Place]) -> None:
    before = dict(places[0].sockets)
    places[0].reopen()
    assert places[0].sockets == before


def test_one_that_cannot_be_opened_leaves_no_socket_open(places: list[Place]) -> None:
    secure = port_of(places[0].sockets["https"])
    for place in places:
        place.close()
    with socket.create_server(("127.0.0.1", secure)), pytest.raises(OSError, match="in use"):
        places[0].reopen()
    assert not places[0].is_open
    places[0].reopen()
    assert port_of(places[0].sockets["https"]) == secure
