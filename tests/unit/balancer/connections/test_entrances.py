"""Entry points come to bound sockets and go again; connections without one wait, and are then reset."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator

import pytest

from balancer.connections.entrances import WAITING_MOST, Accepted, Entrances
from balancer.connections.listeners import listen, place_of
from balancer.model.entry_points import EntryPoint, Protocol
from balancer.runtime.accepted import AcceptedSocket
from tests.fakes.sockets import until

SHOP = EntryPoint("shop", Protocol.HTTP, 8080, "20000", "shop")
SECURE = EntryPoint("secure", Protocol.HTTPS, 443, "20000", "shop")
STREAMS = EntryPoint("streams", Protocol.TCP, 5432, "20000", "shop")
LONG = 600.0


class Door:
    """Entrances with one socket, and what came through it."""

    def __init__(self, wait_seconds: float = LONG, waiting_most: int = WAITING_MOST) -> None:
        self.taken: list[tuple[AcceptedSocket, EntryPoint]] = []
        self.at_once: list[int] = []
        self.listener = listen("127.0.0.1", 0)
        self._at = place_of(self.listener)
        self._clients: list[socket.socket] = []
        self.entrances = Entrances(
            take=self._take, note=lambda _: None, wait_seconds=wait_seconds, waiting_most=waiting_most
        )
        self.entrances.open({"20000": self.listener})

    def _take(self, accepted: Accepted, entry_point: EntryPoint) -> None:
        taken = [(connection, entry_point) for connection, _ in accepted]
        self.taken += taken
        self.at_once.append(len(taken))

    def connect(self) -> socket.socket:
        client = socket.create_connection(self._at, timeout=10)
        self._clients.append(client)
        return client

    def close(self) -> None:
        self.entrances.close()
        for connection in self._clients:
            connection.close()
        for accepted, _ in self.taken:
            accepted.close()


@pytest.fixture
async def door() -> AsyncIterator[Door]:
    made = Door()
    yield made
    made.close()


async def reset(client: socket.socket) -> bool:
    """Waits for the end of a connection. Whether it was a reset."""
    try:
        return bool(await asyncio.to_thread(client.recv, 1))
    except ConnectionResetError:
        return True


async def test_a_connection_waits_for_its_entry_point(door: Door) -> None:
    door.connect()
    await until(lambda: len(door.entrances.waiting) == 1)
    assert not door.taken
    assert door.entrances.use((SHOP,)) == ()
    assert [entry_point for _, entry_point in door.taken] == [SHOP]
    door.connect()
    await until(lambda: len(door.taken) == 2)


@pytest.mark.parametrize(("entry_point", "most"), [(SHOP, 16), (SECURE, 4), (STREAMS, 4)])
async def test_a_burst_is_taken_in_several_turns(door: Door, entry_point: EntryPoint, most: int) -> None:
    door.entrances.use((entry_point,))
    for _ in range(40):
        door.connect()  # before the loop has its next turn
    await until(lambda: len(door.taken) == 40)
    assert max(door.at_once) == most


async def test_those_that_wait_are_taken_in_several_turns(door: Door) -> None:
    for _ in range(40):
        door.connect()
    await until(lambda: len(door.entrances.waiting) == 40)
    door.entrances.use((STREAMS,))
    assert len(door.taken) == 4
    await until(lambda: len(door.taken) == 40)
    assert not door.entrances.waiting


async def test_a_connection_that_has_waited_in_vain_is_reset() -> None:
    door = Door(wait_seconds=0.01)
    try:
        assert await reset(door.connect())
        assert await reset(door.connect())
        assert not door.taken
    finally:
        door.close()


async def test_where_an_entry_point_has_gone_connections_are_reset_at_once(door: Door) -> None:
    door.entrances.use((SHOP,))
    assert door.entrances.use(()) == (SHOP,)
    assert await reset(door.connect())
    door.entrances.use((SHOP,))
    door.connect()
    await until(lambda: len(door.taken) == 1)


async def test_another_protocol_takes_the_place_of_one_that_goes(door: Door) -> None:
    door.entrances.use((SHOP,))
    assert door.entrances.use((SECURE,)) == (SHOP,)
    door.connect()
    await until(lambda: [entry_point for _, entry_point in door.taken] == [SECURE])


async def test_an_entry_point_on_another_socket_or_with_another_configuration_is_not_gone(door: Door) -> None:
    door.entrances.use((SHOP,))
    moved = EntryPoint("shop", Protocol.HTTP, 8080, "20000", "other")
    assert door.entrances.use((moved,)) == ()
    door.connect()
    await until(lambda: [entry_point for _, entry_point in door.taken] == [moved])


@pytest.mark.parametrize("protocol", Protocol)
async def test_connections_of_every_protocol_are_taken(door: Door, protocol: Protocol) -> None:
    stream = EntryPoint("stream", protocol, 5432, SHOP.socket, "stream")
    door.entrances.use((stream,))
    door.connect()
    await until(lambda: [entry_point for _, entry_point in door.taken] == [stream])


async def test_entry_points_that_are_known_before_the_sockets_count() -> None:
    door = Door()
    other = listen("127.0.0.1", 0)
    try:
        door.entrances.use((EntryPoint("late", Protocol.HTTP, 80, "late"),))
        door.entrances.open({"late": other})
        with socket.create_connection(place_of(other)):
            await until(lambda: len(door.taken) == 1)
    finally:
        door.close()


async def test_more_than_may_wait_stay_in_the_backlog_and_are_served() -> None:
    door = Door(waiting_most=2)
    try:
        for _ in range(5):
            door.connect()
        await until(lambda: len(door.entrances.waiting) >= 2)
        door.entrances.use((SHOP,))
        await until(lambda: len(door.taken) == 5)
    finally:
        door.close()


async def test_closed_it_resets_what_waits(door: Door) -> None:
    client = door.connect()
    await until(lambda: len(door.entrances.waiting) == 1)
    door.entrances.close()
    assert await reset(client)
    with pytest.raises(ConnectionRefusedError):
        door.connect()
