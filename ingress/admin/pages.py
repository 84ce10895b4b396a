"""Serves the admin port: health, metrics and debugging pages for operators, probes and Prometheus.

Decides paths, status codes and who may see what. Never shows a key or secret. Does not know where the answers come
from.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from enum import Enum
from functools import partial
from typing import Any, Final, Protocol

import msgspec
from aiohttp import hdrs, web

from balancer.connections.listeners import listen, port_of
from balancer.explain.asking import BadQuestion
from balancer.explain.explanations import Explanation
from balancer.metrics.exposition import CONTENT_TYPE
from balancer.model.publication import RoutingModel
from balancer.model.secrecy import shown_fields
from balancer.runtime.priority import give_way
from balancer.runtime.shares import FairShares
from balancer.workers.fleet import NoAnswer
from ingress.admin.doors import PORT_MOST, open_doors
from ingress.admin.guarding import for_operators
from ingress.admin.overview.viewers import TooManyViewers, Viewer
from ingress.admin.overview.watching import parts_of
from ingress.admin.site import SECURITY_FIELDS, site_handlers

# Pages of metrics that are made or sent at once. In a large cluster each takes tens of megabytes.
_SCRAPES_MOST: Final = 8

_INDEX: Final = """\
/ui              The page for people: where the traffic goes, why, and what it costs.
/livez           200 while the process lives.
/readyz          200 when requests are served, else 503 with the reason; /healthz is the same.
/metrics         Metrics for Prometheus.
/debug/model     The model that is served, and the endpoints that are not well, as JSON.
/debug/findings  What is wrong with objects of the cluster, the most harmful first, as JSON.
/debug/gateway   What the statuses of objects of Gateway API should say, as JSON.
/debug/explain   Where a request goes and why, as JSON: ?url=http://shop.example/cart&header=NAME:VALUE&client=ADDRESS
/debug/overview  What this replica knows about its traffic, as JSON: ?parts=flows,services&service=NAMESPACE/NAME

/ui and pages below /debug answer peers on loopback only, unless --debug-remote is set.
"""

Document = dict[str, Any]
"""A JSON object."""


class AdminSource(Protocol):
    """Gives the answers."""

    def readiness(self) -> str | None:
        """None if ready for traffic, else the reason in one line."""

    async def metrics(self) -> Sequence[bytes]:
        """The page for Prometheus, in the format of `balancer.metrics.exposition.CONTENT_TYPE`.

        In parts that the kernel takes in some tens of microseconds each.
        """

    def model(self) -> Document:
        """The model in use, made by `model_document`. Called in another thread, because a large model takes long."""

    async def health(self) -> list[Document]:
        """The unhealthy endpoints: `backend`, `endpoint`, `state`, and how many `workers` judge so."""

    def findings(self) -> list[Document]:
        """All present findings, the most harmful first: kind, namespace, name, reason, message, effect, severity."""

    def statuses(self) -> list[Document]:
        """What statuses of Gateway API should say, sorted by kind, namespace and name, which stand beside `status`."""

    async def explain(self, url: str, fields: Sequence[str], *, client: str) -> Explanation:
        """Where a request for `url` with header `fields` (`name:value`) goes. Raises `BadQuestion` and `NoAnswer`."""


class OverviewPages(Protocol):
    """Gives what is known about traffic."""

    async def document(self, parts: Collection[str], *, service: tuple[str, str] | None = None) -> bytes:
        """The document of `/debug/overview` with `parts`; with `service`, only the rows that belong to it."""

    async def join(self, cut_off: Callable[[], None]) -> Viewer:
        """A new viewer of the live page. Raises `TooManyViewers`."""


def build_admin(source: AdminSource, overview: OverviewPages, *, debug_remote: bool = False) -> web.Application:
    """The application that answers GET and HEAD from `source` and `overview`.

    `/ui` and `/debug/*` answer only peers on loopback, whatever headers say, unless `debug_remote`.
    """
    pages = _Pages(source, overview)
    debugging = partial(for_operators, remote=debug_remote)
    app = web.Application()
    app.on_response_prepare.append(_finish)
    app.router.add_get("/", pages.index)
    app.router.add_get("/livez", pages.livez)
    app.router.add_get("/readyz", pages.readyz)
    app.router.add_get("/healthz", pages.readyz)
    app.router.add_get("/metrics", pages.metrics)
    app.router.add_get("/debug/model", debugging(pages.model))
    app.router.add_get("/debug/findings", debugging(pages.findings))
    app.router.add_get("/debug/gateway", debugging(pages.statuses))
    app.router.add_get("/debug/explain", debugging(pages.explain))
    app.router.add_get("/debug/overview", debugging(pages.overview))
    app.router.add_get("/ui/events", debugging(pages.events), allow_head=False)
    for path, handler in site_handlers().items():
        app.router.add_get(path, debugging(handler))
    return app


async def start_admin(
    app: web.Application, *, host: str, port: int, bound: int = PORT_MOST
) -> tuple[web.AppRunner, int]:
    """Serves `app`. Returns what `cleanup()` stops, and the port in use (`port` 0: any free one).

    At most `bound` connections are open at once. Raises `CannotListen`.
    """
    listener = listen(host, port, purpose="admin")
    found = port_of(listener)
    return await open_doors(app, listener, bound=bound), found


class _Pages:
    """One method for each page."""

    __slots__ = ("_overview", "_scrapes", "_source")

    def __init__(self, source: AdminSource, overview: OverviewPages) -> None:
        self._source = source
        self._overview = overview
        self._scrapes = FairShares(_SCRAPES_MOST)

    async def index(self, _request: web.Request) -> web.Response:
        return web.Response(text=_INDEX)

    async def livez(self, _request: web.Request) -> web.Response:
        return web.Response(text="ok\n")

    async def readyz(self, _request: web.Request) -> web.Response:
        reason = self._source.readiness()
        if reason is None:
            return web.Response(text="ok\n")
        return web.Response(status=503, text=f"{' '.join(reason.split())}\n")

    async def metrics(self, request: web.Request) -> web.StreamResponse:
        address = request.remote or ""
        if not self._scrapes.take(address):
            return web.Response(status=503, text="too many scrapes at once\n")
        try:
            return await self._scrape(request)
        finally:
            self._scrapes.give_back(address)

    async def _scrape(self, request: web.Request) -> web.StreamResponse:
        parts = deque(await self._source.metrics())
        response = web.StreamResponse(headers={hdrs.CONTENT_TYPE: CONTENT_TYPE})
        response.content_length = sum(map(len, parts))
        with suppress(ConnectionError):
            await response.prepare(request)
            while parts and request.method != hdrs.METH_HEAD:
                await response.write(parts.popleft())
                give_way()
                await asyncio.sleep(0)
        return response

    async def model(self, _request: web.Request) -> web.Response:
        health = await self._source.health()
        return _json(await asyncio.to_thread(lambda: msgspec.json.encode({**self._source.model(), "health": health})))

    async def findings(self, _request: web.Request) -> web.Response:
        return _json(msgspec.json.encode(self._source.findings()))

    async def statuses(self, _request: web.Request) -> web.Response:
        return _json(msgspec.json.encode({"statuses": self._source.statuses()}))

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

    async def overview(self, request: web.Request) -> web.Response:
        namespace, _, name = request.query.get("service", "").partition("/")
        try:
            parts = parts_of(request.query.get("parts", ""))
        except ValueError as problem:
            return _json(msgspec.json.encode({"error": str(problem)}), status=400)
        return _json(await self._overview.document(parts, service=(namespace, name) if name else None))

    async def events(self, request: web.Request) -> web.StreamResponse:
        """Server-sent events (HTML Living Standard, 9.2), until the page or this process ends."""
        transport = request.transport
        try:
            viewer = await self._overview.join(transport.abort if transport is not None else lambda: None)
        except TooManyViewers:
            return web.Response(status=503, text="too many pages are open\n")
        response = web.StreamResponse(headers={hdrs.CONTENT_TYPE: "text/event-stream"})
        with suppress(ConnectionError), viewer:
            await response.prepare(request)
            while (event := await viewer.next()) is not None:
                await response.write(event)
        return response


def _json(body: bytes, *, status: int = 200) -> web.Response:
    return web.Response(body=body, status=status, content_type="application/json")


async def _finish(_request: web.Request, response: web.StreamResponse) -> None:
    """Removes the name and version of the library from the answer, and adds what binds a browser."""
    response.headers.popall(hdrs.SERVER, None)
    response.headers.update(SECURITY_FIELDS)


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
