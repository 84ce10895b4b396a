"""Who accepts plain connections: uvloop if nothing is read before HTTP, and `Reception` otherwise."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Coroutine

import msgspec
import pytest
import uvloop

from balancer.connections.listeners import listen, port_of
from balancer.connections.loop_listener import lowest_free
from tests.fakes.sockets import until
from tests.unit.balancer.connections.test_accepting import V1, desk

Run = Callable[[Coroutine[object, object, None]], None]
on_each_loop = pytest.mark.parametrize("run", [asyncio.run, uvloop.run])


def test_with_hardly_any_descriptor_left_accepting_pauses_before_the_last_one_is_gone() -> None:
    uvloop.run(_runs_low())


@on_each_loop
def test_settings_decide_anew_who_accepts(run: Run) -> None:
    run(_changes())


@on_each_loop
def test_closed_before_the_loop_accepts_it_never_does(run: Run) -> None:
    run(_closes_early())


@on_each_loop
def test_beyond_the_limit_connections_are_closed_at_once_until_one_ends(run: Run) -> None:
    run(_is_full())


@on_each_loop
def test_a_burst_is_taken_in_and_each_connection_has_its_address(run: Run) -> None:
    run(_bursts())


async def _runs_low() -> None:
    with socket.socket() as first:
        in_use = lowest_free(first.fileno())
    async with desk(descriptors=in_use + 64) as at:
        writers = []
        while "descriptors_exhausted" not in at.notes:
            writers.append(await at.connect())
            await asyncio.sleep(0)
        await until(lambda: len(at.notes) > 2)  # looked again, and there was no more room
        taken = len(at.clients)
        waiting = await at.connect(first=b"GET /")
        seen = len(at.notes)
        await until(lambda: len(at.notes) > seen + 1)
        assert len(at.clients) <= taken < len(writers) + 1
        assert lowest_free(2) < in_use + 64
        for writer in writers:
            writer.transport.abort()
        await until(lambda: len(at.clients) == len(writers) + 1)
        assert not waiting.is_closing()


async def _changes() -> None:
    async with desk() as at:
        await at.connect()
        await until(lambda: len(at.clients) == 1)
        for changed, first, peer in ((True, V1, "192.0.2.7"), (False, b"", "127.0.0.1"), (True, V1, "192.0.2.7")):
            at.settings.proxy = msgspec.structs.replace(at.settings.proxy, proxy_protocol=changed)
            at.reception.follow_settings()
            at.reception.follow_settings()
            taken = len(at.clients)
            await at.connect(first=first)
            await until(lambda taken=taken: len(at.clients) == taken + 1)  # type: ignore[misc]
            assert at.clients[-1].stream.origin.peer == peer


async def _closes_early() -> None:
    async with desk() as at:
        late = listen("127.0.0.1", 0)
        number = port_of(late)
        at.reception.listen(late, secure=False)
        at.reception.close()
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection("127.0.0.1", number)


async def _is_full() -> None:
    async with desk(bound=2) as at:
        for _ in range(20):
            await at.connect()
        await until(lambda: len(at.notes) == 18)
        assert at.notes == ["connection_limit"] * 18
        assert len(at.clients) == 2
        for client in at.clients:
            client.abort()
        await until(lambda: all(client.closed for client in at.clients))
        await at.connect()
        await until(lambda: len(at.clients) == 3)


async def _bursts() -> None:
    async with desk() as at:
        await asyncio.gather(*(at.connect() for _ in range(100)))
        await until(lambda: len(at.clients) == 100)
        assert {client.stream.origin.peer for client in at.clients} == {"127.0.0.1"}
        at.reception.close()
        with pytest.raises(ConnectionRefusedError):
            await at.connect()
        assert not any(client.closed for client in at.clients)
