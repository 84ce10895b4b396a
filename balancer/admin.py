"""The admin port: health, metrics and debugging pages for operators, probes and Prometheus.

Responsible for paths, status codes and who may see what; above all, that no key or secret is ever shown. It must not
know where the answers come from.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from enum import Enum
from ipaddress import IPv6Address, ip_address
from typing import Any, Final, Protocol

import msgspec
from aiohttp import hdrs, web

from balancer import model
from balancer.asking import BadQuestion
from balancer.explaining import Explanation
from balancer.metrics.exposition import CONTENT_TYPE
from balancer.workers.fleet import NoAnswer

# Scrapes and probes are short; an idle keep-alive connection must not hold up the end of the process.
_SHUTDOWN_SECONDS: Final = 1.0

Document = dict[str, Any]
"""A JSON object."""

_Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class AdminSource(Protocol):
    """Where the answers come from."""

    def readiness(self) -> str | None:
        """None when ready for traffic, else the reason in one line."""

    async def metrics(self) -> bytes | bytearray:
        """The page for Prometheus, in the format of `balancer.metrics.exposition.CONTENT_TYPE`."""

    def model(self) -> Document:
        """The model in use, made by `model_document`. Called in another thread, because a large one takes long."""

    def findings(self) -> list[Document]:
        """All present findings, each with kind, namespace, name, reason, message and effect."""

    async def explain(self, url: str, fields: Sequence[str], *, client: str) -> Explanation:
        """Where a request for `url` with header `fields` (`name:value`) goes. Raises `BadQuestion` and `NoAnswer`."""


def build_admin(source: AdminSource, *, debug_remote: bool = False) -> web.Application:
    """The application that answers GET and HEAD from `source`.

    `/debug/*` answers peers on loopback only, whatever headers say, unless `debug_remote`.
    """
    pages = _Pages(source)
    debugging = _unguarded if debug_remote else _for_loopback
    app = web.Application()
    app.on_response_prepare.append(_anonymise)
    app.router.add_get("/livez", pages.livez)
    app.router.add_get("/readyz", pages.readyz)
    app.router.add_get("/healthz", pages.readyz)
    app.router.add_get("/metrics", pages.metrics)
    app.router.add_get("/debug/model", debugging(pages.model))
    app.router.add_get("/debug/findings", debugging(pages.findings))
    app.router.add_get("/debug/explain", debugging(pages.explain))
    return app


async def start_admin(app: web.Application, *, host: str, port: int) -> tuple[web.AppRunner, int]:
    """Serve `app`; the answer holds what `cleanup()` stops and the port in use (`port` 0: any free one).

    Raises OSError when the address cannot be bound.
    """
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=_SHUTDOWN_SECONDS)
    await runner.setup()
    try:
        await web.TCPSite(runner, host, port).start()
    except OSError:
        await runner.cleanup()
        raise
    bound: int = runner.addresses[0][1]
    return runner, bound


class _Pages:
    """One method for each page."""

    __slots__ = ("_source",)

    def __init__(self, source: AdminSource) -> None:
        self._source = source

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
        return _json(await asyncio.to_thread(lambda: msgspec.json.encode(self._source.model())))

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
        # Python before 3.13 calls ::ffff:127.0.0.1 no loopback address.
        return address.ipv4_mapped.is_loopback
    return address.is_loopback


async def _anonymise(_request: web.Request, response: web.StreamResponse) -> None:
    """The library would name itself and its version."""
    response.headers.popall(hdrs.SERVER, None)


_SHOWN: Final[dict[type[msgspec.Struct], tuple[str, ...]]] = {
    model.RoutingModel: (
        "hosts",
        "backends",
        "certificates",
        "own_zone",
        "zones",
        "default_route",
        "default_certificate",
        "proxy",
    ),
    model.Host: ("name", "routes", "default", "certificate"),
    model.Route: (
        "path",
        "kind",
        "backend",
        "namespace",
        "ingress",
        "service",
        "policy",
        "zone_policy",
        "canaries",
        "affinity",
        "hash_by",
    ),
    # The values that lead to a canary are left out: they may be what keeps it from the public.
    model.Canary: (
        "backend",
        "namespace",
        "ingress",
        "service",
        "header",
        "cookie",
        "weight",
        "weight_total",
        "follows_affinity",
        "affinity",
        "hash_by",
        "zone_policy",
    ),
    model.Affinity: (
        "cookie",
        "persistent",
        "change_on_failure",
        "path",
        "domain",
        "expires_seconds",
        "max_age_seconds",
        "same_site",
        "same_site_conditional",
        "secure",
    ),
    model.RoutePolicy: (
        "connect_timeout_seconds",
        "read_timeout_seconds",
        "send_timeout_seconds",
        "max_body_bytes",
        "tries",
        "redirect_to_https",
        "retry_on",
        "retry_seconds",
        "host",
        "endpoint_tls",
        "upgrade_protocols",
    ),
    model.EndpointTls: ("verify", "server_name"),
    model.Backend: (
        "key",
        "namespace",
        "service",
        "port",
        "endpoints",
        "zone_policy",
        "load_balancing",
        "ejection",
        "health_check",
        "max_concurrency",
        "max_concurrency_per_endpoint",
        "panic_percent",
    ),
    model.Ejection: ("consecutive_errors", "on_5xx", "seconds", "max_percent"),
    model.HealthCheck: ("path", "interval_seconds", "timeout_seconds", "threshold"),
    model.Endpoint: (
        "address",
        "port",
        "zone",
        "node",
        "ready",
        "serving_terminating",
        "hint_zones",
        "hint_nodes",
        "labels",
    ),
    model.ZonePolicy: (
        "name",
        "min_endpoints",
        "min_percent",
        "keys",
        "min_cluster_size",
        "toll_ratio",
        "toll_seconds",
        "spill_budget_percent",
        "dry_run",
        "rollout_percent",
    ),
    model.ZoneFacts: ("cpu_milli", "replicas", "drained", "drain_ramp_seconds", "prices"),
    model.ZonePrices: ("default", "pairs"),
    model.Certificate: ("key", "expires_at_epoch_seconds"),
    model.OwnZone: ("zone", "source", "node", "labels"),
    model.ProxySettings: (
        "client_header_timeout_seconds",
        "client_body_timeout_seconds",
        "keep_alive_seconds",
        "keep_alive_requests",
        "head_line_bytes",
        "head_lines_max",
        "head_bytes",
        "endpoint_idle_connections",
        "endpoint_idle_seconds",
        "endpoint_requests",
        "hsts",
        "underscores_in_headers",
        "generate_request_id",
        "proxy_protocol",
        "proxy_protocol_timeout_seconds",
        "client_connections",
    ),
}
"""Which fields may be seen. Fields and types that are not named here never are."""


def model_document(value: model.RoutingModel) -> Document:
    """The model as JSON values, by the fields that may be seen: of a certificate its key's name and expiry only."""
    return {name: _shown(getattr(value, name)) for name in _SHOWN[model.RoutingModel]}


def _shown(value: object) -> object:
    match value:
        case None | bool() | int() | float() | str():
            return value
        case Enum():
            return value.value
        case tuple():
            return [_shown(each) for each in value]
        case msgspec.Struct():
            return {name: _shown(getattr(value, name)) for name in _SHOWN.get(type(value), ())}
        case _:
            return f"<{type(value).__name__}>"
