"""Entry points come to the sockets of a worker and go again, while it serves others."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import msgspec
import pytest
import trustme

from balancer.connections.listeners import listen, port_of
from balancer.connections.tls import self_signed
from balancer.logs.accesslines import AccessLogFormat
from balancer.logs.accesslog import AccessLog
from balancer.metrics.recorder import Recorder
from balancer.metrics.slots import MINIMUM_BYTES, SlotTable
from balancer.model.certificates import Certificate
from balancer.model.entry_points import HTTP, HTTPS, EntryPoint, Protocol
from balancer.model.publication import Publication, RoutingModel
from balancer.model.route_configurations import INGRESS_LISTENER, OF_INGRESSES, Listener, RouteConfiguration, Wildcards
from balancer.model.routes import Host
from balancer.workers.worker import Worker, WorkerTimes
from tests import builders as build
from tests.fakes.backends import EchoEndpoint, echoing
from tests.integration.wire import Connection, get

PLAIN = EntryPoint("gw:80:http", Protocol.HTTP, 8080, "20000", "gw:80")
SECURE = EntryPoint("gw:443:https", Protocol.HTTPS, 443, "20000", "gw:80")
AUTHORITY = trustme.CA()
CONFIGURATION = RouteConfiguration("gw:80", wildcards=Wildcards.MANY_LABELS, falls_through=True, has_fallback=False)
LISTENERS = (
    Listener("gw/all", "gw:80", "", ("shop/all",)),
    Listener("gw/wild", "gw:80", "*.wild.test", ("shop/wild",)),
)


def certificate(key: str, *names: str) -> Certificate:
    issued = AUTHORITY.issue_cert(*names)
    chain = b"".join(part.bytes() for part in issued.cert_chain_pems)
    return Certificate(key, chain, issued.private_key_pem.bytes(), expires_at_epoch_seconds=2e9)


CERTIFICATES = (certificate("shop/all", "shop.test"), certificate("shop/wild", "*.wild.test", "a.b.wild.test"))


class Stage:
    """A worker with a socket for Gateways, and one endpoint behind it."""

    def __init__(self, worker: Worker, ports: dict[str, int], endpoint: EchoEndpoint) -> None:
        self.worker = worker
        self.http, self.gateway = ports["http"], ports["20000"]
        self.endpoint = endpoint
        self._generation = 0

    def serve(self, *entry_points: EntryPoint) -> None:
        """Serves an Ingress for the host `ingress.test`, and a Gateway at these entry points."""
        self._generation += 1
        self.worker.swap(Publication(self._generation, self._model(entry_points)))

    def _model(self, entry_points: tuple[EntryPoint, ...]) -> RoutingModel:
        backend = build.backend(of=[build.endpoint("127.0.0.1", port=self.endpoint.port)])
        ingress = Host("ingress.test", (build.route(),))
        if not entry_points:
            return RoutingModel(hosts=(ingress,), backends=(backend,))
        hosts = (
            Host("shop.test", (build.route(),), configuration="gw:80", listener="gw/all"),
            Host("*.wild.test", (build.route(),), configuration="gw:80", listener="gw/wild"),
        )
        return RoutingModel(
            entry_points=(*sorted(entry_points, key=lambda each: each.key), HTTP, HTTPS),
            route_configurations=(CONFIGURATION, OF_INGRESSES),
            listeners=(*LISTENERS, INGRESS_LISTENER),
            hosts=(*hosts, ingress),
            backends=(backend,),
            certificates=CERTIFICATES,
        )


@asynccontextmanager
async def stage(times: WorkerTimes | None = None) -> AsyncIterator[Stage]:
    recorder = Recorder(SlotTable(bytearray(MINIMUM_BYTES)))
    log = AccessLog(-1, AccessLogFormat.OFF, recorder.access_log_dropped)
    times = times or WorkerTimes(idle_grace_seconds=0.0)
    worker = Worker(recorder=recorder, access_log=log, fallback=self_signed(), times=times)
    sockets = {name: listen("127.0.0.1", 0) for name in ("http", "https", "20000")}
    await worker.listen(sockets)
    async with echoing("cart", {"zone-a": 1}) as (endpoint,):
        made = Stage(worker, {name: port_of(each) for name, each in sockets.items()}, endpoint)
        made.serve()
        yield made
        endpoint.gate.set()
        await worker.stop()


async def until(is_so: Callable[[], Awaitable[bool] | bool]) -> None:
    async with asyncio.timeout(30):
        while not (so if isinstance(so := is_so(), bool) else await so):  # noqa: ASYNC110 (any state may be asked for)
            await asyncio.sleep(0.005)


async def ended(connection: Connection) -> bool:
    """Waits for the end of a connection. Whether nothing came before that."""
    try:
        return await connection.rest() == b""
    except ConnectionResetError:
        return True


def trust(*protocols: str) -> ssl.SSLContext:
    context = ssl.create_default_context()
    AUTHORITY.configure_trust(context)
    context.check_hostname = False
    context.set_alpn_protocols(protocols or ("http/1.1",))
    return context


async def test_a_client_that_comes_before_the_entry_point_is_served_when_it_comes() -> None:
    async with stage() as at:
        waiting = asyncio.ensure_future(get(at.gateway, "shop.test"))
        assert (await get(at.http, "ingress.test")).status == 200
        at.serve(PLAIN)
        answer = await waiting
        assert answer.status == 200
        assert dict(answer.json()["headers"])["X-Forwarded-Port"] == "8080"
        assert (await get(at.gateway, "x.y.wild.test")).status == 200
        assert (await get(at.gateway, "ingress.test")).status == 404
        assert (await get(at.http, "shop.test")).status == 404
        assert dict((await get(at.http, "ingress.test")).json()["headers"])["X-Forwarded-Port"] == "80"


async def test_of_an_entry_point_that_goes_requests_end_and_connections_are_closed() -> None:
    async with stage() as at:
        at.serve(PLAIN)
        async with await Connection.open(at.gateway) as kept, await Connection.open(at.gateway) as busy:
            assert (await kept.get("shop.test")).status == 200
            under_way = asyncio.ensure_future(busy.get("shop.test", "/gated"))
            await until(lambda: at.endpoint.waiting == 1)
            async with await Connection.open(at.http) as other:
                assert (await other.get("ingress.test")).status == 200
                at.serve()
                assert await ended(kept)
                at.endpoint.gate.set()
                answer = await under_way
                assert (answer.status, answer.ends_connection) == (200, True)
                with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
                    await get(at.gateway, "shop.test")
                assert (await other.get("ingress.test")).status == 200
        at.serve(PLAIN)
        assert (await get(at.gateway, "shop.test")).status == 200


async def test_what_does_not_end_is_cut_when_its_time_is_over() -> None:
    async with stage(WorkerTimes(leave_seconds=0.05)) as at:
        at.serve(PLAIN)
        async with await Connection.open(at.gateway) as busy:
            under_way = asyncio.ensure_future(busy.get("shop.test", "/gated"))
            await until(lambda: at.endpoint.waiting == 1)
            at.serve()
            with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
                await under_way


async def test_a_socket_changes_from_http_to_https() -> None:
    async with stage() as at:
        at.serve(PLAIN)
        async with await Connection.open(at.gateway) as plain:
            assert (await plain.get("shop.test")).status == 200
            at.serve(SECURE)
            assert await ended(plain)
        async with await Connection.open(at.gateway, tls=trust(), server_name="shop.test") as secure:
            assert (await secure.get("shop.test")).status == 200
            at.serve(PLAIN)
            assert await ended(secure)
        assert (await get(at.gateway, "shop.test")).status == 200


async def test_certificate_and_routes_are_those_of_the_listener_of_the_name() -> None:
    async with stage() as at:
        at.serve(SECURE)
        async with await Connection.open(at.gateway, tls=trust(), server_name="a.b.wild.test") as wild:
            assert ("DNS", "*.wild.test") in wild.certificate["subjectAltName"]
            assert (await wild.get("a.b.wild.test")).status == 200
            assert (await wild.get("other.wild.test")).status == 200
            answer = await wild.get("shop.test")
            assert (answer.status, answer.ends_connection) == (421, True)
        async with await Connection.open(at.gateway, tls=trust(), server_name="shop.test") as shop:
            assert (await shop.get("unknown.test")).status == 404
            assert (await shop.get("x.wild.test")).status == 421


async def test_a_name_without_a_certificate_is_refused_and_other_names_are_served() -> None:
    async with stage() as at:
        broken = msgspec.structs.replace(LISTENERS[1], certificates=("shop/missing",))
        model = at._model((SECURE,))
        at.worker.swap(
            Publication(100, msgspec.structs.replace(model, listeners=(LISTENERS[0], broken, INGRESS_LISTENER)))
        )
        with pytest.raises(ssl.SSLError):
            await Connection.open(at.gateway, tls=trust(), server_name="x.wild.test")
        async with await Connection.open(at.gateway, tls=trust(), server_name="shop.test") as shop:
            assert (await shop.get("shop.test")).status == 200
