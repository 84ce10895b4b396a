"""The Python baseline: what one would write with aiohttp's server and client, and nothing beyond.

Arguments: HTTP port, HTTPS port, certificate, key, port of the WebSocket endpoint, ports of the endpoints. Runs until
killed.
"""

from __future__ import annotations

import asyncio
import itertools
import ssl
import sys

import uvloop
from aiohttp import ClientSession, ClientWebSocketResponse, DummyCookieJar, TCPConnector, WSMsgType, web
from multidict import CIMultiDict, CIMultiDictProxy

from tests.bench.peers.configs.setup import CONNECTIONS, ECHO_PATH

_HOP_BY_HOP = frozenset({"connection", "keep-alive", "transfer-encoding", "upgrade", "te", "trailer"})


class PlainProxy:
    """Takes endpoints in turn, streams bodies both ways."""

    def __init__(self, session: ClientSession, endpoints: list[str], echo: str) -> None:
        self._session = session
        self._endpoints = itertools.cycle(endpoints)
        self._echo = echo

    async def serve(self, request: web.BaseRequest) -> web.StreamResponse:
        if request.path == ECHO_PATH:
            return await self._tunnel(request)
        headers = _end_to_end(request.headers)
        headers["X-Forwarded-For"] = request.remote or ""
        headers["X-Forwarded-Proto"] = request.scheme
        async with self._session.request(
            request.method,
            next(self._endpoints) + request.raw_path,
            headers=headers,
            data=request.content if request.body_exists else None,
            allow_redirects=False,
        ) as answer:
            response = web.StreamResponse(status=answer.status, headers=_end_to_end(answer.headers))
            await response.prepare(request)
            async for piece in answer.content.iter_any():
                await response.write(piece)
            await response.write_eof()
            return response

    async def _tunnel(self, request: web.BaseRequest) -> web.StreamResponse:
        client = web.WebSocketResponse()
        await client.prepare(request)
        async with self._session.ws_connect(self._echo + request.raw_path) as endpoint:
            ways = [asyncio.ensure_future(_pass_on(*way)) for way in ((client, endpoint), (endpoint, client))]
            _, rest = await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
            for way in rest:
                way.cancel()
        return client


Side = web.WebSocketResponse | ClientWebSocketResponse


async def _pass_on(source: Side, sink: Side) -> None:
    async for message in source:
        if message.type is WSMsgType.BINARY:
            await sink.send_bytes(message.data)
        elif message.type is WSMsgType.TEXT:
            await sink.send_str(message.data)


def _end_to_end(headers: CIMultiDictProxy[str]) -> CIMultiDict[str]:
    """Without the fields of one connection (RFC 9110 section 7.6.1)."""
    return CIMultiDict((name, value) for name, value in headers.items() if name.lower() not in _HOP_BY_HOP)


async def main() -> None:
    http_port, https_port, certificate, key, echo_port, *ports = sys.argv[1:]
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate, key)
    async with ClientSession(
        connector=TCPConnector(limit=CONNECTIONS), cookie_jar=DummyCookieJar(), auto_decompress=False
    ) as session:
        proxy = PlainProxy(session, [f"http://127.0.0.1:{port}" for port in ports], f"http://127.0.0.1:{echo_port}")
        runner = web.ServerRunner(web.Server(proxy.serve, access_log=None))
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", int(http_port), backlog=4096).start()
        await web.TCPSite(runner, "127.0.0.1", int(https_port), ssl_context=context, backlog=4096).start()
        await asyncio.Event().wait()


if __name__ == "__main__":
    uvloop.run(main())
