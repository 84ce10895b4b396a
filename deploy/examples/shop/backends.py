"""Backends for the shop: a small listener on every endpoint of the EndpointSlices in this folder, for HTTP or gRPC.

Responsible for answering who was asked and what for, so that the zone of each answer is visible. It must not know the
ingress: it reads the same files and nothing else.
"""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from aiohttp import web
from aiohttp.typedefs import Handler
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import DataReceived, RequestReceived, StreamEnded
from h2.exceptions import ProtocolError

FOLDER = Path(__file__).parent
METHOD = b"/shop.Prices/Get"
GRPC_OK, GRPC_UNIMPLEMENTED = "0", "12"
# Idle keep-alive connections of the ingress must not hold up Ctrl-C.
SHUTDOWN_SECONDS = 1.0


class Place(NamedTuple):
    """Where one backend listens, and for what. `speaks_grpc`: for calls in place of requests."""

    service: str
    zone: str
    address: str
    port: int
    speaks_grpc: bool


def main() -> int:
    """Serve until SIGINT or SIGTERM; the exit code is 1 when an address cannot be used."""
    try:
        asyncio.run(serve(tuple(places_in(FOLDER))))
    except OSError as error:
        print(f"shop backends: {error.strerror or error}", file=sys.stderr)
        return 1
    return 0


def places_in(folder: Path) -> Iterator[Place]:
    """Every endpoint of every EndpointSlice in the YAML files of `folder`."""
    for path in sorted(folder.glob("*.yaml")):
        for document in yaml.safe_load_all(path.read_text()):
            if document and document["kind"] == "EndpointSlice":
                yield from _places_of(document)


def _places_of(endpoint_slice: dict[str, Any]) -> Iterator[Place]:
    service = endpoint_slice["metadata"]["labels"]["kubernetes.io/service-name"]
    for endpoint in endpoint_slice["endpoints"]:
        for port in endpoint_slice["ports"]:
            speaks_grpc = port["name"] == "grpc"
            yield Place(service, endpoint["zone"], endpoint["addresses"][0], port["port"], speaks_grpc)


async def serve(places: tuple[Place, ...]) -> None:
    """Listen on every place until SIGINT or SIGTERM. Raises OSError when an address cannot be used."""
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with AsyncExitStack() as stack:
        for place in places:
            await (_listen_for_calls if place.speaks_grpc else _listen)(place, stack)
        print(f"shop backends: {len(places)} endpoints are up; Ctrl-C stops them", flush=True)
        await stop.wait()


async def _listen(place: Place, stack: AsyncExitStack) -> None:
    application = web.Application()
    application.router.add_route("*", "/{path:.*}", _answering(place))
    runner = web.AppRunner(application, access_log=None, shutdown_timeout=SHUTDOWN_SECONDS)
    await runner.setup()
    stack.push_async_callback(runner.cleanup)
    await web.TCPSite(runner, place.address, place.port).start()


async def _listen_for_calls(place: Place, stack: AsyncExitStack) -> None:
    message = f"{place.service} {place.address}:{place.port} in {place.zone}\n".encode()
    opened: set[asyncio.Transport] = set()
    server = await asyncio.get_running_loop().create_server(lambda: _Calls(message, opened), place.address, place.port)

    def close() -> None:
        server.close()
        for each in [*opened]:
            each.close()

    stack.callback(close)


class _Calls(asyncio.Protocol):
    """A client's connection in HTTP/2. Every call of `METHOD` gets the same message, and every other one an error."""

    def __init__(self, message: bytes, opened: set[asyncio.Transport]) -> None:
        self._message = message
        self._opened = opened
        self._methods: dict[int, bytes] = {}
        self._h2 = H2Connection(H2Configuration(client_side=False, header_encoding=None))

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._opened.add(transport)
        self._h2.initiate_connection()
        transport.write(self._h2.data_to_send())

    def connection_lost(self, _: Exception | None) -> None:
        self._opened.discard(self._transport)

    def data_received(self, data: bytes) -> None:
        try:
            for event in self._h2.receive_data(data):
                if isinstance(event, RequestReceived):
                    self._methods[event.stream_id] = dict(event.headers)[b":path"]
                elif isinstance(event, DataReceived):
                    self._h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
                elif isinstance(event, StreamEnded):
                    self._answer(event.stream_id)
        except ProtocolError:
            self._transport.close()
        self._transport.write(self._h2.data_to_send())

    def _answer(self, stream: int) -> None:
        """A gRPC answer: the message behind its length, then the status as trailers."""
        is_known = self._methods.pop(stream, b"") == METHOD
        self._h2.send_headers(stream, [(":status", "200"), ("content-type", "application/grpc")])
        if is_known:
            self._h2.send_data(stream, b"\0" + len(self._message).to_bytes(4, "big") + self._message)
        status = GRPC_OK if is_known else GRPC_UNIMPLEMENTED
        self._h2.send_headers(stream, [("grpc-status", status)], end_stream=True)


def _line(document: Any) -> str:
    """A document on a line of its own, because a terminal shows it."""
    return json.dumps(document) + "\n"


def _answering(place: Place) -> Handler:
    async def answer(request: web.Request) -> web.StreamResponse:
        # An answer before the end of an upload would cut the client off.
        async for _ in request.content.iter_any():
            pass
        return web.json_response(
            {
                "service": place.service,
                "endpoint": f"{place.address}:{place.port}",
                "zone": place.zone,
                "path": request.path_qs,
                "method": request.method,
                "headers": [[name, value] for name, value in request.headers.items()],
            },
            dumps=_line,
        )

    return answer


if __name__ == "__main__":
    sys.exit(main())
