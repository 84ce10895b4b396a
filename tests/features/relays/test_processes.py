"""Streams on a real process with two workers: both relay, and one that is killed takes only its own streams."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path
from typing import Any

from tests.fakes.endpoints import ScriptedEndpoint, Visit
from tests.fakes.sockets import free_ports
from tests.features.gateway.documents import CLASS
from tests.integration.manifests import NAMESPACE, ManifestFolder, endpoint_slice, service
from tests.integration.processes import workers
from tests.integration.running import running, until

_GATEWAY = "gateway.networking.k8s.io/v1"
_STREAMS = 24


def _object(kind: str, name: str, **spec: Any) -> dict[str, Any]:
    return {"apiVersion": _GATEWAY, "kind": kind, "metadata": {"name": name, "namespace": NAMESPACE}, "spec": spec}


GATEWAY = _object("Gateway", "gw", gatewayClassName="zonal", listeners=[{"name": "t", "port": 9000, "protocol": "TCP"}])
ROUTE = _object("TCPRoute", "db", parentRefs=[{"name": "gw"}], rules=[{"backendRefs": [{"name": "db", "port": 80}]}])


async def echo(visit: Visit) -> None:
    while data := await visit.some():
        await visit.send(data)


class Placed:
    """The endpoint as a slice shows it."""

    def __init__(self, endpoint: ScriptedEndpoint) -> None:
        self.port = endpoint.port
        self.service = "db"
        self.zone = "zone-a"


async def says(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, text: bytes) -> bool:
    try:
        writer.write(text)
        return await reader.readexactly(len(text)) == text
    except (ConnectionError, asyncio.IncompleteReadError):
        return False


async def test_a_killed_worker_takes_its_own_streams_and_no_others(tmp_path: Path) -> None:
    (port,) = free_ports(1)
    folder = ManifestFolder(tmp_path / "manifests")
    async with ScriptedEndpoint(echo) as endpoint:
        folder.write("all.json", CLASS, GATEWAY, ROUTE, service("db"), endpoint_slice(Placed(endpoint)))
        options = ("--workers=2", "--gateway-addresses=shared", f"--gateway-ports=9000={port}")
        async with running(folder.place, *options) as zonal:
            streams = [await asyncio.open_connection("127.0.0.1", port) for _ in range(_STREAMS)]
            assert [await says(*each, b"one") for each in streams] == [True] * _STREAMS
            killed = workers(zonal.pid)[0]
            os.kill(killed, signal.SIGKILL)
            await until(lambda: len(set(workers(zonal.pid)) - {killed}) == 2, seconds=30.0)
            alive = [await says(*each, b"two") for each in streams]
            assert 0 < sum(alive) < _STREAMS
            later = [await asyncio.open_connection("127.0.0.1", port) for _ in range(_STREAMS)]
            assert [await says(*each, b"new") for each in later] == [True] * _STREAMS
            for _, writer in (*streams, *later):
                writer.transport.abort()
