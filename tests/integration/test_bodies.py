"""Bodies of any size pass unchanged in bounded memory, and many connections are served at once."""

from __future__ import annotations

import asyncio
import hashlib
import re
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.fakes.bulk import BulkEndpoint, Framing, Received, digest_of, receive, send_body
from tests.integration.manifests import endpoint_slice, service
from tests.integration.running import Zonal, running
from tests.integration.shop import HOST, shop
from tests.integration.wire import Connection, get, request_bytes, trusting

GIBIBYTE = 1024**3
MEBIBYTE = 1024**2
MEMORY_GROWTH_BYTES = 32 * MEBIBYTE
LIMIT_SECONDS = 60.0


@asynccontextmanager
async def bulk_service(place: Path, *options: str, **settings: str) -> AsyncIterator[tuple[Zonal, BulkEndpoint]]:
    """A process before one bulk endpoint, with these keys in its ConfigMap."""
    endpoint = BulkEndpoint("cart")
    await endpoint.start()
    async with shop(place, {}, **settings) as opened:
        opened.folder.write("cart.yaml", service("cart"), endpoint_slice(endpoint))
        async with running(opened.place, *options, anew=True) as zonal:
            yield zonal, endpoint
    await endpoint.stop()


class PeakMemory:
    """The most that a process had in memory since this was made (proc(5): clear_refs, VmHWM)."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._before_bytes = self._read("VmRSS")
        Path(f"/proc/{pid}/clear_refs").write_text("5")

    def growth_bytes(self) -> int:
        return self._read("VmHWM") - self._before_bytes

    def _read(self, name: str) -> int:
        status = Path(f"/proc/{self._pid}/status").read_text()
        found = re.search(rf"^{name}:\s+(\d+) kB$", status, re.MULTILINE)
        assert found
        return int(found[1]) * 1024


async def upload(port: int, total_bytes: int, *, framing: Framing, tls: ssl.SSLContext | None = None) -> Received:
    reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=tls)
    writer.write(f"POST /upload HTTP/1.1\r\nHost: {HOST}\r\n".encode())
    await send_body(writer, total_bytes, framing=framing)
    received = await receive(reader)
    writer.close()
    return received


async def download(port: int, total_bytes: int, *, framing: Framing, tls: ssl.SSLContext | None = None) -> Received:
    reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=tls, limit=MEBIBYTE)
    writer.write(request_bytes("GET", f"/download/{framing}/{total_bytes}", f"Host: {HOST}"))
    received = await receive(reader)
    writer.close()
    return received


@pytest.fixture(scope="module")
def gibibyte_digest() -> str:
    return digest_of(GIBIBYTE)


@pytest.mark.large
@pytest.mark.parametrize("framing", ["length", "chunked"])
async def test_a_gibibyte_up(tmp_path: Path, framing: Framing, gibibyte_digest: str) -> None:
    async with bulk_service(tmp_path, proxy_body_size="0") as (zonal, endpoint):
        assert (await upload(zonal.http_port, MEBIBYTE, framing=framing)).status == 200
        peak = PeakMemory(zonal.pid)
        async with asyncio.timeout(LIMIT_SECONDS):
            received = await upload(zonal.http_port, GIBIBYTE, framing=framing)
        growth_bytes = peak.growth_bytes()
    assert received.status == 200
    assert endpoint.uploads[-1] == (GIBIBYTE, gibibyte_digest)
    assert growth_bytes < MEMORY_GROWTH_BYTES


@pytest.mark.large
@pytest.mark.parametrize("framing", ["length", "chunked"])
async def test_a_gibibyte_down(tmp_path: Path, framing: Framing, gibibyte_digest: str) -> None:
    async with bulk_service(tmp_path) as (zonal, _):
        assert (await download(zonal.http_port, MEBIBYTE, framing=framing)).status == 200
        peak = PeakMemory(zonal.pid)
        async with asyncio.timeout(LIMIT_SECONDS):
            received = await download(zonal.http_port, GIBIBYTE, framing=framing)
        growth_bytes = peak.growth_bytes()
    assert (received.status, received.bytes) == (200, GIBIBYTE)
    assert received.digest.hexdigest() == gibibyte_digest
    assert growth_bytes < MEMORY_GROWTH_BYTES


@pytest.mark.parametrize("event_loop", ["asyncio", "uvloop"])
async def test_large_bodies_over_tls(tmp_path: Path, event_loop: str) -> None:
    total_bytes = 64 * MEBIBYTE
    async with bulk_service(tmp_path, "--event-loop", event_loop, proxy_body_size="0") as (zonal, endpoint):
        await download(zonal.https_port, MEBIBYTE, framing="length", tls=trusting())
        peak = PeakMemory(zonal.pid)
        sent = await upload(zonal.https_port, total_bytes, framing="length", tls=trusting())
        received = await download(zonal.https_port, total_bytes, framing="chunked", tls=trusting())
        growth_bytes = peak.growth_bytes()
    assert (sent.status, received.status) == (200, 200)
    digest = digest_of(total_bytes)
    assert endpoint.uploads == [(total_bytes, digest)]
    assert (received.bytes, received.digest.hexdigest()) == (total_bytes, digest)
    assert growth_bytes < MEMORY_GROWTH_BYTES


async def test_a_client_that_does_not_read_holds_up_the_endpoint_and_takes_no_memory(tmp_path: Path) -> None:
    total_bytes = 256 * MEBIBYTE
    async with bulk_service(tmp_path) as (zonal, _):
        await download(zonal.http_port, MEBIBYTE, framing="length")
        peak = PeakMemory(zonal.pid)
        reader, writer = await asyncio.open_connection("127.0.0.1", zonal.http_port, limit=1024)
        writer.write(request_bytes("GET", f"/download/length/{total_bytes}", f"Host: {HOST}"))
        await reader.readuntil(b"\r\n\r\n")
        assert (await get(zonal.http_port, HOST, "/download/length/10")).status == 200
        await download(zonal.http_port, 64 * MEBIBYTE, framing="chunked")
        assert peak.growth_bytes() < MEMORY_GROWTH_BYTES
        writer.close()


async def test_a_body_over_the_limit_is_refused(tmp_path: Path) -> None:
    async with shop(tmp_path, {"zone-a": 1}, proxy_body_size="1k") as place, running(place.place) as zonal:
        for body, status in ((b"x" * 1024, 200), (b"x" * 1025, 413)):
            async with await Connection.open(zonal.http_port) as connection:
                framed = request_bytes("POST", "/", f"Host: {HOST}", f"Content-Length: {len(body)}", body=body)
                assert (await connection.send(framed)).status == status
            async with await Connection.open(zonal.http_port) as connection:
                chunked = b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body)
                framed = request_bytes("POST", "/", f"Host: {HOST}", "Transfer-Encoding: chunked", body=chunked)
                assert (await connection.send(framed)).status == status


async def test_two_hundred_connections_at_once(tmp_path: Path) -> None:
    body = b"order" * 100
    # With POST, a connection that was idle for half a second would not be used again: on a busy machine that is most.
    request = request_bytes("PUT", "/order", f"Host: {HOST}", f"Content-Length: {len(body)}", body=body)

    async def client(port: int) -> list[tuple[int, str]]:
        async with await Connection.open(port) as connection:
            answers = [await connection.send(request) for _ in range(20)]
        return [(answer.status, answer.json()["body_sha256"]) for answer in answers]

    async with shop(tmp_path, {"zone-a": 1}) as place, running(place.place) as zonal:
        async with asyncio.TaskGroup() as group:
            clients = [group.create_task(client(zonal.http_port)) for _ in range(200)]
        answers = [answer for each in clients for answer in each.result()]
        assert len(await zonal.logs(4_000)) == 4_000
    assert answers == [(200, hashlib.sha256(body).hexdigest())] * 4_000
    assert sum(endpoint.requests for endpoint in place.endpoints) == 4_000
    # No more connections than requests at once. Of several endpoints, each might need as many.
    assert sum(len(endpoint.peers) for endpoint in place.endpoints) <= 200
