"""Runs the demo's backends: loopback listeners for HTTP or gRPC, each in a zone, that return on the same port.

Owns their sockets and their one answer. Does not know manifests or the ingress.
"""

from __future__ import annotations

import socket
from collections.abc import Iterable

from aiohttp import web

from ingress.demo.answering import GrpcBackend, serve_calls
from ingress.demo.cluster import CALLS_SERVICE, ENDPOINTS_PER_ZONE, SERVICE, ZONES, DemoEndpoint

_ADDRESS = "127.0.0.1"
# Long enough for any answer under way, which is one small write.
_SHUTDOWN_SECONDS = 2.0


class DemoBackends:
    """All backends of the demo. Their ports are reserved from the start to `close`, whether they answer or not."""

    __slots__ = ("_places", "_running")

    def __init__(self) -> None:
        self._places = dict(
            _reserve(service, zone, number)
            for service in (SERVICE, CALLS_SERVICE)
            for zone in ZONES
            for number in range(1, ENDPOINTS_PER_ZONE + 1)
        )
        self._running: dict[DemoEndpoint, web.ServerRunner | GrpcBackend] = {}

    @property
    def endpoints(self) -> tuple[DemoEndpoint, ...]:
        return tuple(self._places)

    async def start(self, zones: Iterable[str]) -> None:
        """Starts the endpoints of `zones`. Returns when all of them accept connections."""
        for endpoint in self._of(zones):
            if endpoint not in self._running:
                self._running[endpoint] = await _serve(endpoint)

    async def stop(self, zones: Iterable[str]) -> None:
        """Stops the endpoints of `zones`. Returns when they have finished their answers and refuse connections."""
        for endpoint in self._of(zones):
            runner = self._running.pop(endpoint, None)
            if runner is not None:
                await runner.cleanup()

    async def close(self) -> None:
        """Stops everything and releases the ports."""
        await self.stop(ZONES)
        for reservation in self._places.values():
            reservation.close()

    def _of(self, zones: Iterable[str]) -> list[DemoEndpoint]:
        wanted = frozenset(zones)
        return [endpoint for endpoint in self._places if endpoint.zone in wanted]


def _reserve(service: str, zone: str, number: int) -> tuple[DemoEndpoint, socket.socket]:
    """An endpoint on a free port, and a socket that reserves the port without accepting connections.

    Without the socket another process, or our own next outgoing connection, could take the port while the backend is
    down.
    """
    reservation = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    reservation.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    reservation.bind((_ADDRESS, 0))
    port = reservation.getsockname()[1]
    node = f"{zone}-node-{number}"
    return DemoEndpoint(zone=zone, node=node, address=_ADDRESS, port=port, service=service), reservation


async def _serve(endpoint: DemoEndpoint) -> web.ServerRunner | GrpcBackend:
    body = endpoint.answer()
    if endpoint.service == CALLS_SERVICE:
        return await serve_calls(body, endpoint.address, endpoint.port)

    async def answer(_request: web.BaseRequest) -> web.Response:
        return web.Response(body=body, content_type="application/json")

    runner = web.ServerRunner(web.Server(answer, access_log=None), shutdown_timeout=_SHUTDOWN_SECONDS)
    await runner.setup()
    await web.TCPSite(runner, endpoint.address, endpoint.port, reuse_port=True).start()
    return runner
