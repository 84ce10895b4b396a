"""`--tcp-services-configmap` over real sockets: ports that come and go, PROXY headers in and out, streams that stay."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path

from tests.fakes.endpoints import ScriptedEndpoint, Visit
from tests.fakes.sockets import free_ports
from tests.integration.manifests import Document, ManifestFolder, config_map, endpoint_slice, service
from tests.integration.running import Zonal, running

_WAIT_SECONDS = 30.0


class Placed:
    """The endpoint as a slice shows it."""

    def __init__(self, endpoint: ScriptedEndpoint) -> None:
        self.port = endpoint.port
        self.service = "db"
        self.zone = "zone-a"


async def echo(visit: Visit) -> None:
    while data := await visit.some():
        await visit.send(data)


def lines(**data: str) -> Document:
    metadata = {"name": "tcp", "namespace": "edge"}
    named = {name.removeprefix("p"): text for name, text in data.items()}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": named}


async def said(port: int, *texts: bytes) -> bytes:
    """What comes back on a connection of its own; empty if it is reset, be it before it is known to be open."""
    with suppress(ConnectionError):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        try:
            for text in texts:
                writer.write(text)
            return await reader.read(200)
        finally:
            writer.transport.abort()
    return b""


async def changed(zonal: Zonal, folder: ManifestFolder, **data: str) -> None:
    generation = await zonal.generation()
    folder.write("tcp.json", lines(**data))
    await zonal.reaches_generation(generation + 1, seconds=_WAIT_SECONDS)


async def test_ports_come_and_go_with_their_lines(tmp_path: Path) -> None:
    first, second = free_ports(2)
    folder = ManifestFolder(tmp_path / "manifests")
    async with ScriptedEndpoint(echo) as endpoint:
        folder.write("all.json", config_map(), service("db"), endpoint_slice(Placed(endpoint)))
        folder.write("tcp.json", lines(p5432="shop/db:80"))
        options = (
            "--tcp-services-configmap=edge/tcp",
            f"--gateway-ports=5432={first},6379={second}",
            "--gateway-addresses=none",
        )
        async with running(folder.place, *options) as zonal:
            assert await said(first, b"one") == b"one"
            reader, writer = await asyncio.open_connection("127.0.0.1", first)
            writer.write(b"held")
            assert await reader.readexactly(4) == b"held"
            await changed(zonal, folder, p5432="shop/db:80", p6379="shop/db:http::PROXY")
            assert (await said(second, b"two")).startswith(b"PROXY TCP4 127.0.0.1 127.0.0.1 ")
            await changed(zonal, folder, p6379="shop/db:80:PROXY:PROXY")
            assert await said(first, b"one") == b"", "its line has gone"
            header = b"PROXY TCP4 192.0.2.7 192.0.2.1 4321 6379\r\n"
            assert (await said(second, header, b"three")).startswith(b"PROXY TCP4 192.0.2.7 ")
            writer.write(b"stays")
            assert await reader.readexactly(5) == b"stays", "who was there has the time that tunnels have"
            writer.transport.abort()
            assert [each["reason"] for each in await zonal.findings()] == []
            records = [each for each in await zonal.logs(4, seconds=_WAIT_SECONDS) if each["protocol"] == "TCP"]
            assert {(each["namespace"], each["service"]) for each in records} == {("shop", "db")}
