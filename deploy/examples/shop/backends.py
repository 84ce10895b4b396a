"""Backends for the shop: a small HTTP listener on every endpoint of the EndpointSlices in this folder.

Responsible for answering who was asked and what for, so that the zone of each answer is visible. It must not know the
ingress: it reads the same files and nothing else.
"""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from aiohttp import web
from aiohttp.typedefs import Handler

FOLDER = Path(__file__).parent
# Idle keep-alive connections of the ingress must not hold up Ctrl-C.
SHUTDOWN_SECONDS = 1.0


class Place(NamedTuple):
    """Where one backend listens, and for what."""

    service: str
    zone: str
    address: str
    port: int


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
            yield Place(service, endpoint["zone"], endpoint["addresses"][0], port["port"])


async def serve(places: tuple[Place, ...]) -> None:
    """Listen on every place until SIGINT or SIGTERM. Raises OSError when an address cannot be used."""
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with AsyncExitStack() as stack:
        for place in places:
            await _listen(place, stack)
        print(f"shop backends: {len(places)} endpoints are up; Ctrl-C stops them", flush=True)
        await stop.wait()


async def _listen(place: Place, stack: AsyncExitStack) -> None:
    application = web.Application()
    application.router.add_route("*", "/{path:.*}", _answering(place))
    runner = web.AppRunner(application, access_log=None, shutdown_timeout=SHUTDOWN_SECONDS)
    await runner.setup()
    stack.push_async_callback(runner.cleanup)
    await web.TCPSite(runner, place.address, place.port).start()


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
            }
        )

    return answer


if __name__ == "__main__":
    sys.exit(main())
