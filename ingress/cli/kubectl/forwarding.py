"""Forwards a port of loopback to a port of a pod, through the API server.

Each connection is a WebSocket of its own. What is forwarded is HTTP: if a pod cannot be reached, the asker gets a 502
that says why. Does not know what is asked.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import Final
from urllib.parse import quote

import aiohttp

from ingress.cli.kubectl.channels import PROTOCOL, Channels, ForwardRefused
from ingress.cli.kubectl.replicas import ReplicaPod
from ingress.findings import printable
from ingress.sources.kubernetes.api import ApiError, ApiServer

_PIECE_BYTES: Final = 32 * 1024
_PROBLEM_CHARACTERS: Final = 300


class Forward:
    """One port of loopback."""

    __slots__ = ("_api", "_connections", "_replica", "_server")

    def __init__(self, api: ApiServer, replica: ReplicaPod) -> None:
        self._api = api
        self._replica = replica
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()

    async def start(self) -> str:
        """Listens on a free port. Returns the URL that leads to the replica."""
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    async def stop(self) -> None:
        """Ends every connection."""
        if self._server is not None:
            self._server.close()
        for task in self._connections:
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.get_running_loop().create_task(self._serve(reader, writer))
        self._connections.add(task)
        task.add_done_callback(self._connections.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await self._carry(reader, writer)
        except (ApiError, ForwardRefused) as error:
            writer.write(_bad_gateway(f"cannot reach the pod {self._replica.name}: {error}"))
        except (OSError, aiohttp.ClientError):
            pass  # one of both sides has gone; the other learns it from the close
        finally:
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Carries bytes both ways until either side ends. Raises `ApiError` and `ForwardRefused`."""
        place = f"/api/v1/namespaces/{quote(self._replica.namespace)}/pods/{quote(self._replica.pod)}/portforward"
        query = {"ports": str(self._replica.admin_port)}
        async with self._api.websocket(place, query=query, protocol=PROTOCOL) as websocket:
            sending = asyncio.ensure_future(_send(reader, websocket))
            receiving = asyncio.ensure_future(_receive(websocket, writer))
            try:
                done, _ = await asyncio.wait({sending, receiving}, return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    task.result()
            finally:
                for task in (sending, receiving):
                    task.cancel()
                await asyncio.gather(sending, receiving, return_exceptions=True)


async def _send(reader: asyncio.StreamReader, websocket: aiohttp.ClientWebSocketResponse) -> None:
    while piece := await reader.read(_PIECE_BYTES):
        await websocket.send_bytes(Channels.message(piece))


async def _receive(websocket: aiohttp.ClientWebSocketResponse, writer: asyncio.StreamWriter) -> None:
    channels = Channels()
    async for message in websocket:
        if message.type is aiohttp.WSMsgType.BINARY:
            writer.write(channels.received(message.data))
            await writer.drain()


def _bad_gateway(problem: str) -> bytes:
    text = printable(" ".join(problem.split()), limit=_PROBLEM_CHARACTERS).encode()
    head = f"HTTP/1.1 502 Bad Gateway\r\nContent-Length: {len(text)}\r\nConnection: close\r\n\r\n"
    return head.encode() + text
