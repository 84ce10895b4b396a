"""Connections of clients end in order: the idle ones at once, those in use when they rest, the rest at the limit."""

from __future__ import annotations

import asyncio
from functools import partial

import pytest

from balancer.http.streams import Connection
from balancer.model.entry_points import HTTP, HTTPS, EntryPoint
from balancer.workers.clients import Clients
from tests.fakes.sockets import until


class Visitor(Connection):
    """A connection that ends when it is asked to and nothing is under way."""

    def __init__(self, clients: Clients, entry_point: EntryPoint = HTTP, *, busy: bool = False) -> None:
        self._clients = clients
        self.entry_point = entry_point
        self.idle_since = 0.0
        self.busy = busy
        self.heard: list[str] = []
        clients.enter(self)

    @property
    def idle(self) -> bool:
        return not self.busy

    def end_soon(self) -> None:
        self.heard.append("end soon")

    def shut_down(self, idle_before: float, ends_tunnels: bool) -> None:
        if ends_tunnels and "tunnels" not in self.heard:
            self.heard.append("tunnels")
        if not self.busy and self.idle_since < idle_before:
            self.heard.append("closed")
            self._clients.has_ended(self)

    def abort(self) -> None:
        self.heard.append("cut")
        self._clients.has_ended(self)


def nobody() -> tuple[()]:
    return ()


def active(clients: Clients) -> tuple[int, int]:
    states = clients.by_state()
    return states["client_active"], states["client_idle"]


async def test_idle_clients_are_closed_and_busy_ones_when_they_rest() -> None:
    clients = Clients(idle_grace_seconds=0.0)
    resting, busy = Visitor(clients), Visitor(clients, busy=True)
    assert active(clients) == (1, 1)
    clients.end_soon()
    finishing = asyncio.create_task(clients.finish(60.0, nobody))
    await until(lambda: active(clients) == (1, 0))
    assert resting.heard == ["end soon", "closed"]
    busy.busy = False
    await finishing
    assert busy.heard == ["end soon", "closed"]


async def test_who_has_just_rested_may_have_sent_a_request() -> None:
    clients = Clients(idle_grace_seconds=1000.0)
    visitor = Visitor(clients)
    visitor.idle_since = asyncio.get_running_loop().time()
    await clients.finish(0.05, nobody)
    assert "closed" not in visitor.heard
    await clients.stop()
    assert visitor.heard[-1] == "cut"


async def test_whoever_arrives_is_waited_for() -> None:
    clients = Clients(idle_grace_seconds=0.0)
    arriving = ["a handshake"]
    finishing = asyncio.create_task(clients.finish(60.0, lambda: arriving))
    Visitor(clients)
    await until(lambda: active(clients) == (0, 0))
    assert not finishing.done()
    arriving.clear()
    await finishing


@pytest.mark.large
async def test_only_clients_of_entry_points_that_are_gone_are_let_go() -> None:
    clients = Clients(idle_grace_seconds=0.0)
    stays, rests = Visitor(clients, HTTP), Visitor(clients, HTTPS)
    works = Visitor(clients, HTTPS, busy=True)
    clients.let_go({HTTPS.key}, 0.3)
    await until(partial(works.heard.__contains__, "cut"))
    assert stays.heard == []
    assert rests.heard == ["end soon", "closed"]
    assert (works.heard[0], works.heard[-1]) == ("end soon", "cut")
    assert "closed" not in works.heard


async def test_a_stop_cuts_whoever_is_there() -> None:
    clients = Clients(idle_grace_seconds=0.0)
    visitors = [Visitor(clients), Visitor(clients, HTTPS, busy=True)]
    clients.let_go({HTTPS.key}, 60.0)
    await clients.stop()
    assert all(visitor.heard[-1] == "cut" for visitor in visitors)
    assert active(clients) == (0, 0)
