"""A port of loopback leads to the port of a pod, through WebSockets of a test API server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from ingress.cli.kubectl.forwarding import Forward
from ingress.cli.kubectl.replicas import ReplicaPod
from ingress.cli.terminal.asking import ask_all
from ingress.sources.kubernetes.api import ApiServer
from tests.fakes.apiserver.faults import Fault
from tests.unit.ingress.cli.kubectl.clusters import cluster, replica_pod
from tests.unit.ingress.cli.terminal.documents import overview
from tests.unit.ingress.cli.terminal.documents import service as served
from tests.unit.ingress.cli.terminal.ports import admin_port, closed_url

pytestmark = pytest.mark.large


@asynccontextmanager
async def forwarded(kubeconfig: Path, port: int, *, pod: str = "zonal-0") -> AsyncIterator[str]:
    """The URL of a forward to a port of a pod."""
    api = await ApiServer.connect(kubeconfig=kubeconfig)
    forward = Forward(api, ReplicaPod("zonal", pod, port))
    try:
        yield await forward.start()
    finally:
        await forward.stop()
        await api.close()


def port_of(url: str) -> int:
    return int(url.rpartition(":")[2])


async def problem(url: str) -> str:
    (reply,) = await asyncio.to_thread(ask_all, [url], ("zones",))
    assert reply.overview is None
    return reply.problem


async def test_large_answers_and_many_connections_pass_unchanged(tmp_path: Path) -> None:
    document = overview(services=tuple(served(f"s{number}") for number in range(3_000)))
    with admin_port(document) as port:
        number = port_of(port.url)
        async with cluster(tmp_path, [number]) as (server, kubeconfig), forwarded(kubeconfig, number) as url:
            replies = await asyncio.to_thread(ask_all, [url] * 8, ("services",))
            assert [reply.problem for reply in replies] == [""] * 8
            assert all(reply.overview == document for reply in replies)
            calls = [call for call in server.calls if call.is_portforward]
            assert [call.status for call in calls] == [101] * 8
            assert {call.user for call in calls} == {"secret"}


async def test_why_a_pod_cannot_be_reached_is_told_to_whoever_asks(tmp_path: Path) -> None:
    number = port_of(closed_url())
    async with cluster(tmp_path, [number]) as (server, kubeconfig):
        async with forwarded(kubeconfig, number) as url:
            said = await problem(url)
            assert "cannot reach the pod zonal/zonal-0: failed to connect to localhost" in said
        server.put(replica_pod("late", number, phase="Pending"))
        for pod, status in (("gone", 404), ("late", 400)):
            async with forwarded(kubeconfig, number, pod=pod) as url:
                assert (
                    f"cannot reach the pod zonal/{pod}: the answer to the WebSocket is HTTP {status}"
                    in await problem(url)
                )
        server.tokens = set()
        async with forwarded(kubeconfig, number) as url:
            assert "HTTP 401" in await problem(url)


@pytest.mark.parametrize("fault", [Fault(reset=True), Fault(status=403)], ids=["reset", "forbidden"])
async def test_a_connection_that_fails_leaves_the_next_one_alone(tmp_path: Path, fault: Fault) -> None:
    with admin_port(overview()) as port:
        number = port_of(port.url)
        async with cluster(tmp_path, [number]) as (server, kubeconfig), forwarded(kubeconfig, number) as url:
            server.faults.add(fault)
            assert "cannot reach the pod" in await problem(url)
            server.faults.clear()
            (reply,) = await asyncio.to_thread(ask_all, [url], ("zones",))
            assert reply.overview == overview()


async def test_a_client_that_leaves_takes_its_websocket_along(tmp_path: Path) -> None:
    arrived = asyncio.Event()
    left = asyncio.Event()

    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        arrived.set()
        await reader.read()
        writer.close()
        await writer.wait_closed()
        left.set()

    pod = await asyncio.start_server(silent, "127.0.0.1", 0)
    number = pod.sockets[0].getsockname()[1]
    async with pod, cluster(tmp_path, [number]) as (_, kubeconfig), forwarded(kubeconfig, number) as url:
        _, writer = await asyncio.open_connection("127.0.0.1", port_of(url))
        writer.write(b"x")
        async with asyncio.timeout(60):
            await arrived.wait()
            writer.close()
            await writer.wait_closed()
            await left.wait()
