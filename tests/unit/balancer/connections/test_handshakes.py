"""A connection whose client begins with TLS waits without a task, for its ClientHello and for what its name needs."""

from __future__ import annotations

import asyncio
import gc
import socket
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from balancer.connections.arrivals import Arrival
from balancer.connections.hellos import AwaitedHello
from balancer.runtime.tcp import TcpTransport
from balancer.runtime.tls import TlsTransport
from balancer.runtime.tls_handshakes import TlsHandshake
from balancer.runtime.tls_sessions import TlsSession
from tests.fakes.sockets import PATIENCE_SECONDS, until
from tests.integration.wire import trusting
from tests.unit.balancer.connections.desk import desk
from tests.unit.balancer.connections.test_clienthello import hello

pytestmark = pytest.mark.large


@pytest.mark.parametrize("whole", [True, False])
async def test_a_hello_needs_no_task_also_if_it_comes_late(whole: bool) -> None:
    async with desk(handshake_seconds=PATIENCE_SECONDS) as at:
        first = hello("http/1.1")
        with socket.create_connection(("127.0.0.1", at.ports[True])) as client:
            client.sendall(first if whole else first[:-1])  # before the loop turns
            await until(lambda: len(at.reception.arriving) == 1)
            (arriving,) = at.reception.arriving
            assert isinstance(arriving, TlsHandshake if whole else AwaitedHello)
            assert len(at.places) == 1
            if not whole:
                client.sendall(first[-1:])
                await until(lambda: isinstance(next(iter(at.reception.arriving)), TlsHandshake))
                assert (arriving.closed, len(at.places)) == (True, 1)
            at.reception.stop()
            await until(lambda: not at.reception.arriving)
        assert (at.notes, len(at.places)) == ([], 0)


@pytest.mark.parametrize("ends", [True, False])
async def test_what_a_name_needs_is_waited_for_as_long_as_the_client_is_there(ends: bool) -> None:
    async with desk(handshake_seconds=PATIENCE_SECONDS) as at:
        at.names.is_prepared = False
        with socket.create_connection(("127.0.0.1", at.ports[True])) as client:
            client.sendall(hello("http/1.1"))
            await until(lambda: at.names.preparing == 1)
            if ends:
                client.close()
                await until(lambda: not at.reception.arriving)
                assert (at.notes, at.names.preparing) == (["tls_handshake"], 0)
            else:
                at.names.prepared.set()
                await until(lambda: any(isinstance(each, TlsHandshake) for each in at.reception.arriving))
                assert (at.notes, len(at.places)) == ([], 1)


async def test_who_only_looks_whether_a_port_is_open_is_noted_once() -> None:
    async with desk(handshake_seconds=PATIENCE_SECONDS) as at:
        for _ in range(3):
            with socket.create_connection(("127.0.0.1", at.ports[True])):
                await until(lambda: len(at.reception.arriving) == 1)
            await until(lambda: not at.reception.arriving)
        assert (at.notes, len(at.places)) == (["tls_handshake"] * 3, 0)


@contextmanager
def without_collector() -> Iterator[None]:
    """What is garbage in a cycle stays: a worker looks for it everywhere only once in ten minutes."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def held(*kinds: type) -> int:
    return sum(isinstance(each, kinds) for each in gc.get_objects())


@pytest.mark.parametrize("way", ["no TLS", "a part", "a hello alone", "all"])
async def test_a_connection_that_has_ended_is_no_garbage(way: str) -> None:
    kinds = (AwaitedHello, TlsHandshake, TlsTransport, TlsSession, TcpTransport, Arrival)
    said = {"no TLS": b"\x16\x03\x01\x00\x01\x05", "a part": hello()[:-1], "a hello alone": hello("http/1.1")}
    async with desk(handshake_seconds=PATIENCE_SECONDS) as at:
        with without_collector():
            before = held(*kinds)
            for _ in range(3):
                if way == "all":
                    _, writer = await asyncio.open_connection("127.0.0.1", at.ports[True], ssl=trusting())
                    await until(lambda: len(at.clients) == 1)
                    writer.transport.abort()
                    await until(lambda: at.clients[0].closed)
                    at.clients.clear()
                    at.all_clients.clear()
                    continue
                with socket.create_connection(("127.0.0.1", at.ports[True])) as client:
                    client.sendall(said[way])
                    await until(lambda: bool(at.reception.arriving) or bool(at.notes))
                await until(lambda: not at.reception.arriving)
            await until(lambda: held(*kinds) == before)
