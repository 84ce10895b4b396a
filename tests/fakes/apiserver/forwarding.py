"""The subresource pods/portforward over a WebSocket, as the API server and the kubelet carry it out together.

A pod of the test API server has no address of its own: a port of it is the same port of loopback. Only one port at a
time, and only the protocol v4.channel.k8s.io (k8s.io/kubelet, pkg/cri/streaming/portforward/websocket.go).
"""

from __future__ import annotations

import asyncio
import contextlib
import struct

from aiohttp import WSMsgType, web

from tests.fakes.apiserver.kinds import BY_KIND
from tests.fakes.apiserver.requests import Call
from tests.fakes.apiserver.statuses import bad_request, not_found
from tests.fakes.apiserver.store import Store

_PROTOCOL = "v4.channel.k8s.io"
_DATA, _ERROR = b"\x00", b"\x01"
_PIECE_BYTES = 4096


async def forward(request: web.BaseRequest, call: Call, store: Store) -> web.StreamResponse:
    """Carry one connection until either side ends. Raises `RefusedError` where there is nothing to carry."""
    stored = store.find("Pod", (call.namespace, call.name))
    if stored is None:
        raise not_found(BY_KIND["Pod"], call.name)
    if stored.document.get("status", {}).get("phase") != "Running":
        raise bad_request(f"unable to forward port because pod is not running: {call.name}")
    port = call.query.get("ports", "")
    if not port.isdigit():
        raise bad_request("query parameter ports is required")
    if _PROTOCOL not in request.headers.get("Sec-WebSocket-Protocol", ""):
        raise bad_request("unable to upgrade: unrecognized protocol")
    websocket = web.WebSocketResponse(protocols=(_PROTOCOL,))
    await websocket.prepare(request)
    call.status = 101
    for channel in (_DATA, _ERROR):
        await websocket.send_bytes(channel + struct.pack("<H", int(port)))
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", int(port))
    except OSError as error:
        await websocket.send_bytes(_ERROR + f"failed to connect to localhost:{port} inside namespace: {error}".encode())
        await websocket.close()
        return websocket
    await _carry(websocket, reader, writer)
    return websocket


async def _carry(websocket: web.WebSocketResponse, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    receiving = asyncio.ensure_future(_to_client(websocket, reader))
    try:
        async for message in websocket:
            if message.type is WSMsgType.BINARY and message.data[:1] == _DATA:
                writer.write(message.data[1:])
                await writer.drain()
    finally:
        writer.close()  # before anything that waits: a client that leaves cancels this
        receiving.cancel()
        await asyncio.gather(receiving, return_exceptions=True)
        with contextlib.suppress(OSError):
            await writer.wait_closed()


async def _to_client(websocket: web.WebSocketResponse, reader: asyncio.StreamReader) -> None:
    while piece := await reader.read(_PIECE_BYTES):
        await websocket.send_bytes(_DATA + piece)
    await websocket.close()
