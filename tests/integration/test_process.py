"""A real worker process, with this test as its parent: what it serves, says and counts, and how it ends."""

from __future__ import annotations

import asyncio
import json
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeVar

import msgspec
import pytest

from balancer.connections.listeners import listen, port_of
from balancer.connections.tls import self_signed
from balancer.explain.drafts import complete
from balancer.metrics.definitions import REQUESTS
from balancer.metrics.recorder import NUMBERS
from balancer.metrics.slots import read
from balancer.model.publication import Publication, RoutingModel
from balancer.sharing.memory import SharedMemory
from balancer.workers.channel import Channel
from balancer.workers.deltas import delta, pieces
from balancer.workers.messages import (
    TO_PARENT,
    Accepting,
    DrainNow,
    ExplainAsked,
    Explained,
    Fallback,
    Ping,
    Pong,
    Retiring,
    Serving,
    ToParent,
    ToWorker,
    WorkerStart,
    encode,
)
from balancer.workers.tables import Tables
from tests import builders as build
from tests.fakes.backends import EchoEndpoint, echoing
from tests.fakes.sockets import until
from tests.fakes.stopwatch import Stopwatch
from tests.integration.wire import Connection, get, trusting
from tests.unit.balancer.asked import Told

HOST = "shop.test"
FALLBACK = self_signed()
ENDED_SECONDS = 5.0  # the promise is one second; a loaded machine needs more to notice

Message = TypeVar("Message")


class Parent:
    """What outlives a worker: its listeners and its counters."""

    def __init__(self, place: Path) -> None:
        self.stderr = place / "stderr"
        self.listeners = listen("127.0.0.1", 0), listen("127.0.0.1", 0)
        self.http_port, self.https_port = map(port_of, self.listeners)
        self.table = Tables().take()
        self.shared = SharedMemory(1)

    def counted(self) -> float:
        """Requests in the table."""
        return sum(entry.values[0] for entry in read(self.table.memory) if entry.key.metric == NUMBERS[REQUESTS.name])

    def close(self) -> None:
        for listener in self.listeners:
            listener.close()
        os.close(self.table.descriptor)
        self.shared.close()


class Child:
    """A worker process, and its parent's end of the channel and of the access log's pipe."""

    def __init__(self, parent: Parent, *, event_loop: str = "auto", has_publication: bool = False) -> None:
        ours, theirs = socket.socketpair()
        self.log, log = os.pipe()
        os.set_blocking(self.log, False)
        descriptors = (theirs.fileno(), *(each.fileno() for each in parent.listeners), parent.table.descriptor, log)
        seat = parent.shared.take()
        start = WorkerStart(
            number=7,
            channel=descriptors[0],
            sockets=(("http", descriptors[1]), ("https", descriptors[2])),
            counters=descriptors[3],
            seat=seat,
            access_log=descriptors[4],
            event_loop=event_loop,
            has_publication=has_publication,
        )
        with parent.stderr.open("ab") as stderr, theirs:
            self.process = subprocess.Popen(
                (sys.executable, "-m", "balancer.workers.process", msgspec.json.encode(start).decode()),
                stdin=subprocess.DEVNULL,
                stderr=stderr,
                pass_fds=(*descriptors, seat.descriptor),
            )
        os.close(log)
        self.messages: list[ToParent] = []
        self.ends: list[str] = []
        self._last = Publication(generation=0, model=RoutingModel())
        self.channel = Channel(ours, TO_PARENT, on_message=self.messages.append, on_end=self.ends.append)
        self.send(Fallback(FALLBACK))

    def mapped(self) -> str:
        """What its memory holds of files, libraries among them."""
        return Path(f"/proc/{self.process.pid}/maps").read_text()

    def send(self, message: ToWorker) -> None:
        self.channel.send(encode(message))

    async def publishes(self, generation: int, model: RoutingModel) -> None:
        """Until the worker serves it."""
        for piece in pieces(delta(self._last.model, model), generation, base=self._last.generation):
            self.send(piece)
        self._last = Publication(generation=generation, model=model)
        await until(lambda: Serving(generation) in self.messages)

    async def says(self, kind: type[Message]) -> Message:
        """The last message of a kind, once there is one."""
        await until(lambda: any(isinstance(message, kind) for message in self.messages))
        return [message for message in self.messages if isinstance(message, kind)][-1]

    async def has_ended(self) -> int:
        """Wait for the end of the process; its exit status."""
        await until(lambda: self.process.poll() is not None)
        return self.process.returncode

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        self.channel.close()
        os.close(self.log)


@pytest.fixture
async def parent(tmp_path: Path) -> AsyncIterator[Parent]:
    made = Parent(tmp_path)
    yield made
    made.close()


@pytest.fixture
async def endpoint() -> AsyncIterator[EchoEndpoint]:
    async with echoing("cart", {"zone-a": 1}) as (only,):
        yield only


@asynccontextmanager
async def worker(parent: Parent, event_loop: str = "auto") -> AsyncIterator[Child]:
    """One that accepts, and leaves no traceback behind."""
    child = Child(parent, event_loop=event_loop)
    try:
        await child.says(Accepting)
        yield child
        assert "Traceback" not in parent.stderr.read_text()
    finally:
        child.close()


def shop(*endpoints: EchoEndpoint) -> RoutingModel:
    of = [build.endpoint("127.0.0.1", port=each.port, zone=each.zone) for each in endpoints]
    return build.model(build.backend(of=of), hosts=[build.host(HOST, build.route())])


@pytest.mark.parametrize("event_loop", ["asyncio", "uvloop"])
async def test_it_accepts_at_once_serves_what_is_published_and_counts_and_logs_it(
    parent: Parent, endpoint: EchoEndpoint, event_loop: str
) -> None:
    async with worker(parent, event_loop) as child:
        assert (await get(parent.http_port, HOST)).status == 404
        await child.publishes(1, shop(endpoint))
        assert (await get(parent.http_port, HOST)).json()["zone"] == "zone-a"
        trust = trusting(FALLBACK.chain_pem)
        async with await Connection.open(parent.https_port, tls=trust, server_name="ingress.local") as secure:
            assert (await secure.get(HOST)).json()["zone"] == "zone-a"
        lines = b""
        while lines.count(b"\n") < 3:
            await until(lambda: readable(child.log))
            lines += os.read(child.log, 65536)
        assert [json.loads(line)["status"] for line in lines.splitlines()] == [404, 200, 200]
        await until(lambda: parent.counted() == 3)
        assert child.messages == [Accepting(), Serving(1)]
        assert "ngh2" not in child.mapped(), "nobody spoke HTTP/2"


def readable(descriptor: int) -> bool:
    return bool(select.select([descriptor], [], [], 0)[0])


async def test_publications_come_as_changes_large_ones_in_pieces(parent: Parent, endpoint: EchoEndpoint) -> None:
    others = [build.backend(f"shop/other{number}:80", build.endpoints("abcd")) for number in range(1000)]
    hosts = [build.host(f"{number}.test", build.route()) for number in range(1000)]
    empty = build.model(build.backend(), *others, hosts=[*hosts, build.host(HOST, build.route())])
    cart = shop(endpoint).backends[0]
    filled = build.model(cart, *others, hosts=empty.hosts)
    async with worker(parent) as child:
        assert len(list(pieces(delta(RoutingModel(), empty), 1))) > 5
        await child.publishes(1, empty)
        assert (await get(parent.http_port, HOST)).status == 503
        await child.publishes(2, filled)
        for host in (HOST, "0.test", "999.test"):
            assert (await get(parent.http_port, host)).status == 200
        await child.publishes(3, RoutingModel())
        assert (await get(parent.http_port, HOST)).status == 404


async def test_it_answers_pings_and_reports_what_it_holds(parent: Parent, endpoint: EchoEndpoint) -> None:
    async with worker(parent) as child, await Connection.open(parent.http_port) as client:
        await child.publishes(1, shop(endpoint))
        child.send(Ping(1))
        assert await child.says(Pong) == Pong(1)
        await client.get(HOST)
        child.send(Ping(2, wants_report=True))
        await until(lambda: any(isinstance(each, Pong) and each.number == 2 for each in child.messages))
        report = (await child.says(Pong)).report
        assert report is not None
        states = dict(report.connections)
        assert (states["client_active"] + states["client_idle"], states["endpoint_idle"]) == (1, 1)
        assert report.event_loop_lag_seconds >= 0.0


async def test_it_explains_by_what_it_serves_and_names_routes_for_its_parent(
    parent: Parent, endpoint: EchoEndpoint
) -> None:
    model, url = shop(endpoint), f"http://{HOST}/"
    async with worker(parent) as child:
        await child.publishes(1, model)
        child.send(ExplainAsked(1, url, (), "192.0.2.7"))
        draft = (await child.says(Explained)).draft
        assert draft is not None
        explanation = complete(draft, Told())
        assert (explanation.ingress, explanation.policy_source) == ("shop/web", "configmap")
        assert explanation.endpoint == endpoint.label
        assert {"slices of cart", "findings of web"} <= set(explanation.steps)
        child.send(ExplainAsked(2, "nonsense", (), ""))
        await until(lambda: any(isinstance(each, Explained) and each.number == 2 for each in child.messages))
        assert await child.says(Explained) == Explained(2, None, "give a URL such as http://shop.example/cart")


async def test_told_to_end_it_serves_on_until_told_to_drain_and_finishes_what_is_in_flight(
    parent: Parent, endpoint: EchoEndpoint
) -> None:
    async with worker(parent) as child, await Connection.open(parent.http_port) as client:
        await child.publishes(1, shop(endpoint))
        child.process.send_signal(signal.SIGTERM)
        await child.says(Retiring)
        assert (await get(parent.http_port, HOST)).status == 200
        slow = asyncio.ensure_future(client.get(HOST, "/gated"))
        await until(lambda: endpoint.waiting == 1)
        child.send(DrainNow(grace_seconds=0.0, limit_seconds=60.0))
        child.process.send_signal(signal.SIGTERM)
        child.send(Ping(1))
        await child.says(Pong)
        endpoint.gate.set()
        answer = await slow
        assert (answer.status, answer.ends_connection) == (200, True)
        client.close()
        assert await child.has_ended() == 0
        assert sum(isinstance(message, Retiring) for message in child.messages) == 1
        assert parent.counted() == 2
        assert " INFO worker 7 balancer.workers.process: told to end" in parent.stderr.read_text()


async def test_told_to_drain_before_it_has_anything_to_serve_it_ends_and_accepts_nobody(parent: Parent) -> None:
    child = Child(parent, has_publication=True)
    try:
        child.send(DrainNow(grace_seconds=0.0, limit_seconds=60.0))
        assert await child.has_ended() == 0
        await until(lambda: bool(child.ends))
        assert child.messages == []
    finally:
        child.close()


async def test_the_interrupt_of_a_terminal_is_nothing_to_it(parent: Parent) -> None:
    async with worker(parent) as child:
        child.process.send_signal(signal.SIGINT)
        child.send(Ping(1))
        assert await child.says(Pong) == Pong(1)


async def test_without_its_parent_it_ends_at_once_whatever_it_is_doing(parent: Parent, endpoint: EchoEndpoint) -> None:
    async with worker(parent) as child, await Connection.open(parent.http_port) as client:
        await child.publishes(1, shop(endpoint))
        asked = asyncio.ensure_future(client.get(HOST, "/gated"))
        await until(lambda: endpoint.waiting == 1)
        watch = Stopwatch()
        child.channel.close()
        assert await child.has_ended() == 1
        assert watch.within(ENDED_SECONDS)
        with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
            await asked
        assert "no parent (the other side has closed it)" in parent.stderr.read_text()


async def test_what_is_no_message_ends_it(parent: Parent) -> None:
    async with worker(parent) as child:
        child.channel.send(b"\0\0\0\x01\xc1")
        assert await child.has_ended() == 1
        assert "not a message" in parent.stderr.read_text()
        await until(lambda: bool(child.ends))


async def test_its_successor_serves_who_waits_and_goes_on_counting(parent: Parent, endpoint: EchoEndpoint) -> None:
    async with worker(parent) as child:
        await child.publishes(1, shop(endpoint))
        assert (await get(parent.http_port, HOST)).status == 200
        await until(lambda: parent.counted() == 1)  # the client has its answer before
        child.process.kill()
        await child.has_ended()
    waiting = asyncio.ensure_future(get(parent.http_port, HOST))
    successor = Child(parent, has_publication=True)
    try:
        successor.send(Ping(1))
        await successor.says(Pong)
        await successor.publishes(1, shop(endpoint))
        assert (await waiting).status == 200
        assert (await get(parent.http_port, HOST)).status == 200
        await until(lambda: parent.counted() == 3)
        assert successor.messages[-2:] == [Serving(1), Accepting()]
    finally:
        successor.close()


def test_nothing_of_the_control_plane_is_even_imported() -> None:
    told = subprocess.run(
        (sys.executable, "-c", "import balancer.workers.process, json, sys; print(json.dumps(list(sys.modules)))"),
        check=True,
        capture_output=True,
    )
    modules = set(json.loads(told.stdout))
    packages = {name.partition(".")[0] for name in modules}
    assert {"balancer", "msgspec"} <= packages
    assert not packages & {"ingress", "kubernetes_asyncio", "prometheus_client", "aiohttp", "yaml", "click"}
    assert "cryptography" not in packages, "a worker makes no certificate, and starts sooner without"
    # What most workers never need takes memory in each of them.
    rare = {"balancer.explain.explaining", "balancer.workers.hook_callers", "zonal_hooks.limits", "ctypes", "pathlib"}
    rare |= {"re2", "tempfile", "email.utils"}
    assert not modules & rare
    assert not packages & {"ngh2", "h2", "hpack"}, "nobody speaks HTTP/2 yet"
