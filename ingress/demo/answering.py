"""Runs a gRPC backend of the demo: it answers every unary call with the one message of its endpoint.

Knows as much of gRPC as such an answer needs. Does not know zones, manifests or the ingress.
"""

from __future__ import annotations

import asyncio

from balancer.http2.engine import SERVER
from balancer.http2.events import DATA, FAULT, HEAD, TRAILERS, Event
from ingress.demo.speaking import DemoConnection

_HEAD = ((b":status", b"200"), (b"content-type", b"application/grpc"))
_TRAILERS = ((b"grpc-status", b"0"),)


class GrpcBackend:
    """A listener for calls. Made by `serve_calls`."""

    __slots__ = ("_connections", "_message", "_server")

    def __init__(self, message: bytes) -> None:
        self._message = message
        self._connections: set[DemoConnection] = set()
        self._server: asyncio.Server | None = None

    async def start(self, address: str, port: int) -> None:
        """Returns when it accepts connections."""
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(self._connection, address, port, reuse_port=True)

    async def cleanup(self) -> None:
        """Stops it. Answers that were begun are written: each was handed to its transport whole."""
        assert self._server is not None
        self._server.close()
        for connection in tuple(self._connections):
            connection.close()
        await self._server.wait_closed()

    def _connection(self) -> DemoConnection:
        connection = DemoConnection(SERVER, take=self._take, lost=self._connections.discard)
        self._connections.add(connection)
        return connection

    def _take(self, connection: DemoConnection, event: Event) -> None:
        kind, stream = event[0], event[1]
        if kind == TRAILERS or (kind in (HEAD, DATA) and event[3]):
            connection.engine.respond(stream, _HEAD, False)
            connection.engine.data(stream, self._message, False)
            connection.engine.trailers(stream, _TRAILERS)
        elif kind == FAULT:
            connection.close()


async def serve_calls(message: bytes, address: str, port: int) -> GrpcBackend:
    """A backend that answers every call at this place with `message`."""
    backend = GrpcBackend(framed(message))
    await backend.start(address, port)
    return backend


def framed(message: bytes) -> bytes:
    """A message as it is in a body of gRPC: behind a byte that says "not compressed" and its length in four bytes."""
    return b"\0" + len(message).to_bytes(4, "big") + message
