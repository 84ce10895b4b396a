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

import grpc
import yaml
from aiohttp import web
from aiohttp.typedefs import Handler

FOLDER = Path(__file__).parent
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
    async def answer(request: bytes, context: Any) -> bytes:
        return f"{place.service} {place.address}:{place.port} in {place.zone}\n".encode()

    handlers = {"Get": grpc.unary_unary_rpc_method_handler(answer)}
    server = grpc.aio.server()
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("shop.Prices", handlers),))
    try:
        server.add_insecure_port(f"{place.address}:{place.port}")
    except RuntimeError as error:
        raise OSError(str(error)) from None
    await server.start()
    stack.push_async_callback(server.stop, SHUTDOWN_SECONDS)


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
