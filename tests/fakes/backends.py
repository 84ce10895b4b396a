"""Endpoints for tests on loopback: each answers with what it saw, so that a test can compare it with what was sent."""

from __future__ import annotations

import asyncio
import hashlib
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager

from aiohttp import web


class EchoEndpoint:
    """One endpoint of a Service. It remembers how many requests and connections it had.

    While `gate` is not set, requests whose target begins with `/gated` wait for it.
    """

    def __init__(self, service: str, *, zone: str | None = None) -> None:
        self.service = service
        self.zone = zone
        self.port = 0
        self.requests = 0
        self.waiting = 0
        self.peers: set[tuple[str, int]] = set()
        self.gate = asyncio.Event()
        self._runner = web.ServerRunner(web.Server(self._answer), shutdown_timeout=0.1)

    @property
    def label(self) -> str:
        return f"127.0.0.1:{self.port}"

    async def start(self, port: int = 0, *, tls: ssl.SSLContext | None = None) -> None:
        """Listen on `port`, or on any free one; with `tls`, in TLS alone."""
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", port, ssl_context=tls).start()
        self.port = self._runner.addresses[0][1]

    async def stop(self) -> None:
        """Close the port and every connection."""
        await self._runner.cleanup()

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        self.requests += 1
        self.peers.add(request.get_extra_info("peername"))
        if request.raw_path.startswith("/gated"):
            self.waiting += 1
            await self.gate.wait()
        digest, count = hashlib.sha256(), 0
        async for data in request.content.iter_any():
            digest.update(data)
            count += len(data)
        return web.json_response(
            {
                "service": self.service,
                "endpoint": self.label,
                "zone": self.zone,
                "method": request.method,
                "target": request.raw_path,
                "proto": f"HTTP/{request.version.major}.{request.version.minor}",
                "headers": [[name.decode("latin-1"), value.decode("latin-1")] for name, value in request.raw_headers],
                "body_bytes": count,
                "body_sha256": digest.hexdigest(),
            }
        )


@asynccontextmanager
async def echoing(service: str, zones: Mapping[str, int]) -> AsyncIterator[tuple[EchoEndpoint, ...]]:
    """So many endpoints of `service` in each zone, for as long as the context lasts."""
    async with AsyncExitStack() as stack:
        endpoints = tuple(EchoEndpoint(service, zone=zone) for zone, count in zones.items() for _ in range(count))
        for endpoint in endpoints:
            await endpoint.start()
            stack.push_async_callback(endpoint.stop)
        yield endpoints
