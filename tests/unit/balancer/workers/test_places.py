"""A place gives its connections up, and gets some again only when somebody listens."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from balancer.connections.listeners import listen_together, port_of
from balancer.workers.lifecycle import Slot, Times
from balancer.workers.places import Place


@pytest.fixture
def places() -> Iterator[list[Place]]:
    pairs = zip(listen_together("127.0.0.1", 0, count=2), listen_together("127.0.0.1", 0, count=2), strict=True)
    places = [Place(number, http=http, https=https, slot=Slot(Times())) for number, (http, https) in enumerate(pairs)]
    yield places
    for place in places:
        place.close()


def test_a_closed_one_leaves_connections_to_the_others(places: list[Place]) -> None:
    closed, left = places
    closed.close()
    closed.close()
    for _ in range(2):
        for listener in (left.http, left.https):
            for _ in range(10):
                socket.create_connection(("127.0.0.1", port_of(listener)), timeout=5).close()
                listener.accept()[0].close()  # or it would raise BlockingIOError
        closed.reopen()
    assert port_of(closed.http) == port_of(left.http)
    assert port_of(closed.https) == port_of(left.https)


def test_an_open_one_stays_as_it_is(places: list[Place]) -> None:
    before = places[0].http, places[0].https
    places[0].reopen()
    assert (places[0].http, places[0].https) == before


def test_one_that_cannot_be_opened_stays_closed(places: list[Place]) -> None:
    secure = port_of(places[0].https)
    for place in places:
        place.close()
    with socket.create_server(("127.0.0.1", secure)), pytest.raises(OSError, match="in use"):
        places[0].reopen()
    places[0].reopen()
    assert port_of(places[0].https) == secure
