"""Serves the admin port: health, metrics and debugging pages for operators, probes and Prometheus.

Decides paths, status codes and who may see what. Never shows a key or secret. Does not know where the answers come
from.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from enum import Enum
from ipaddress import IPv6Address, ip_address
from typing import Any, Final, Protocol

import msgspec
from aiohttp import hdrs, web

from balancer.connections.listeners import listen, port_of
from balancer.explain.asking import BadQuestion
from balancer.explain.explanations import Explanation
from balancer.metrics.exposition import CONTENT_TYPE
from balancer.model.publication import RoutingModel
from balancer.model.secrecy import shown_fields
from balancer.workers.fleet import NoAnswer

# Scrapes and probes are short. An idle keep-alive connection must not delay the end of the process.
_SHUTDOWN_SECONDS: Final = 1.0

_INDEX: Final = """\
/livez           200 while the process lives.
/readyz          200 when requests are served, else 503 with the reason; /healthz is the same.
/metrics         Metrics for Prometheus.
/debug/model     The model that is served, and the endpoints that are not well, as JSON.
/debug/findings  What is wrong with objects of the cluster, the most harmful first, as JSON.
/debug/explain   Where a request goes and why, as JSON: ?url=http://shop.example/cart&header=NAME:VALUE&client=ADDRESS

Pages below /debug answer peers on loopback only, unless --debug-remote is set.
"""

Document = dict[str, Any]
"""A JSON object."""

_Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class AdminSource(Protocol):
    """Gives the answers."""

    def readiness(self) -> str | None:
        """None if ready for traffic, else the reason in one line."""

    async def metrics(self) -> bytes | bytearray:
        """The page for Prometheus, in the format of `balancer.metrics.exposition.CONTENT_TYPE`."""

    def model(self) -> Document:
        """The model in use, made by `model_document`. Called in another thread, because a large model takes long."""

    async def health(self) -> list[Document]:
        """The unhealthy endpoints: `backend`, `endpoint`, `state`, and how many `workers` judge so."""

    def findings(self) -> list[Document]:
        """All present findings, the most harmful first: kind, namespace, name, reason, message, effect, severity."""

    async def explain(self, url: str, fields: Sequence[str], *, client: str) -> Explanation:
        """Where a request for `url` with header `fields` (`name:value`) goes. Raises `BadQuestion` and `NoAnswer`."""


def build_admin(source: AdminSource, *, debug_remote: bool = False) -> web.Application:
    """The application that answers GET and HEAD from `source`.

    `/debug/*` answers only peers on loopback, whatever headers say, unless `debug_remote`.
    """
    pages = _Pages(source)
    debugging = _unguarded if debug_remote else _for_loopback
    app = web.Application()
    app.on_response_prepare.append(_anonymise)
    app.router.add_get("/", pages.index)
    app.router.add_get("/livez", pages.livez)
    app.router.add_get("/readyz", pages.readyz)
    app.router.add_get("/healthz", pages.readyz)
    app.router.add_get("/metrics", pages.metrics)
    app.router.add_get("/debug/model", debugging(pages.model))
    app.router.add_get("/debug/findings", debugging(pages.findings))
    app.router.add_get("/debug/explain", debugging(pages.explain))
    return app


async def start_admin(app: web.Application, *, host: str, port: int) -> tuple[web.AppRunner, int]:
    """Serves `app`. Returns what `cleanup()` stops, and the port in use (`port` 0: any free one).

    Raises `CannotListen`.
    """
    listener = listen(host, port, purpose="admin")
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=_SHUTDOWN_SECONDS)
    await runner.setup()
    await web.SockSite(runner, listener).start()
    return runner, port_of(listener)


class _Pages:
    """One method for each page."""

    __slots__ = ("_source",)

    def __init__(self, source: AdminSource) -> None:
        self._source = source

    async def index(self, _request: web.Request) -> web.Response:
        return web.Response(text=_INDEX)

    async def livez(self, _request: web.Request) -> web.Response:
        return web.Response(text="ok\n")

    async def readyz(self, _request: web.Request) -> web.Response:
        reason = self._source.readiness()
        if reason is None:
            return web.Response(text="ok\n")
        return web.Response(status=503, text=f"{' '.join(reason.split())}\n")

    async def metrics(self, _request: web.Request) -> web.Response:
        return web.Response(body=await self._source.metrics(), headers={hdrs.CONTENT_TYPE: CONTENT_TYPE})

    async def model(self, _request: web.Request) -> web.Response:
        health = await self._source.health()
        return _json(await asyncio.to_thread(lambda: msgspec.json.encode({**self._source.model(), "health": health})))

    async def findings(self, _request: web.Request) -> web.Response:
        return _json(msgspec.json.encode(self._source.findings()))

    async def explain(self, request: web.Request) -> web.Response:
        query = request.query
        try:
            found = await self._source.explain(
                query.get("url", ""), query.getall("header", []), client=query.get("client", "")
            )
        except BadQuestion as problem:
            return _json(msgspec.json.encode({"error": str(problem)}), status=400)
        except NoAnswer as problem:
            return _json(msgspec.json.encode({"error": str(problem)}), status=503)
        return _json(msgspec.json.encode(found))


def _json(body: bytes, *, status: int = 200) -> web.Response:
    return web.Response(body=body, status=status, content_type="application/json")


def _unguarded(handler: _Handler) -> _Handler:
    return handler


def _for_loopback(handler: _Handler) -> _Handler:
    async def guarded(request: web.Request) -> web.StreamResponse:
        if not _is_loopback_peer(request):
            return web.Response(status=403, text="only for loopback peers (see --debug-remote)\n")
        return await handler(request)

    return guarded


def _is_loopback_peer(request: web.Request) -> bool:
    peer = request.get_extra_info("peername")
    if not isinstance(peer, tuple):
        return False
    address = ip_address(peer[0])
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        # Before 3.13 Python does not count ::ffff:127.0.0.1 as loopback.
        return address.ipv4_mapped.is_loopback
    return address.is_loopback


async def _anonymise(_request: web.Request, response: web.StreamResponse) -> None:
    """Removes the name and version of the library from the answer."""
    response.headers.popall(hdrs.SERVER, None)


def model_document(value: RoutingModel) -> Document:
    """The model as JSON values, without the fields that `balancer.model.secrecy` marks, and without any bytes."""
    return _fields(value)


def _fields(value: msgspec.Struct) -> Document:
    return {name: _shown(getattr(value, name)) for name in shown_fields(type(value))}


def _shown(value: object) -> object:
    match value:
        case None | bool() | int() | float() | str():
            return value
        case Enum():
            return value.value
        case tuple():
            return [_shown(each) for each in value]
        case msgspec.Struct():
            return _fields(value)
        case _:
            return f"<{type(value).__name__}>"
