"""Every kind of the answer table leaves itself in the access log, and kind and exact status in the metrics."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import msgspec
import pytest

from balancer.errors import ErrorKind
from balancer.metrics.definitions import RESPONSES
from balancer.model.client_tls import ClientCertificates, ClientDemand, ClientVerification
from balancer.model.endpoints import Backend, Endpoint, EndpointTls
from balancer.model.external_auth import ExternalAuth
from balancer.model.gates import BlockedClients, SourceRanges
from balancer.model.limits import FlightLimit, RateLimit
from balancer.model.policies import RoutePolicy
from balancer.model.publication import RoutingModel
from balancer.model.redirects import HttpsRedirect
from balancer.model.routes import Route
from balancer.model.settings import ProxySettings
from balancer.proxy.answers import ANSWERS
from tests import builders
from tests.fakes.endpoints import Script, ScriptedEndpoint, Visit, answering
from tests.fakes.sockets import until
from tests.unit.balancer.proxy.standing import GET, Standing, post, refusing, standing

pytestmark = pytest.mark.large

ROUTED, MISSING, UNROUTED = ("shop", "web", "cart"), ("shop", "web", "missing"), ("", "", "")


async def silent(visit: Visit) -> None:
    await visit.head()
    await visit.rest()


async def hangs_up(visit: Visit) -> None:
    await visit.head()
    await visit.close()


async def speaks_no_tls(visit: Visit) -> None:
    await visit.some()
    await visit.send(b"HTTP/1.1 400 Bad Request\r\n\r\n")


@contextmanager
def never_accepting() -> Iterator[Endpoint]:
    """An endpoint whose queue of connections is full, so the kernel does not answer any more."""
    with ExitStack() as stack:
        listener = stack.enter_context(socket.socket())
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        for _ in range(4):
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(listener.getsockname())
        yield builders.endpoint("127.0.0.1", port=listener.getsockname()[1], zone="zone-a")


def placed(endpoint: ScriptedEndpoint) -> Endpoint:
    return builders.endpoint(endpoint.address, port=endpoint.port)


def model(
    endpoint: Endpoint | None = None, *, settings: ProxySettings | None = None, to: str | None = "shop/cart:80",
    backend: dict[str, Any] | None = None, route: dict[str, Any] | None = None, policy: dict[str, Any] | None = None,
) -> RoutingModel:  # fmt: skip
    """`shop.test` with one route to one backend of one endpoint or none, each with changes."""
    cart: Backend = builders.backend(of=[] if endpoint is None else [endpoint])
    cart = msgspec.structs.replace(cart, **(backend or {}))
    path: Route = builders.route(to=to, policy=RoutePolicy(**{"tries": 1, **(policy or {})}))
    path = msgspec.structs.replace(path, **(route or {}))
    made = builders.model(cart, hosts=[builders.host("shop.test", path)])
    return msgspec.structs.replace(made, proxy=settings or ProxySettings())


async def trail(proxy: Standing, request: bytes, *, status: int) -> tuple[dict[str, Any], dict[tuple[str, ...], float]]:
    """Log line and responses counted after one request that is answered with `status`."""
    async with proxy.client() as client:
        assert (await client.ask(request)).status == status
        client.reset()
        await until(lambda: not proxy.clients)
    (line,) = proxy.log()
    return line, proxy.metric(RESPONSES)


async def leaves_its_trail(serving: RoutingModel, kind: ErrorKind, request: bytes, route: tuple[str, str, str]) -> None:
    """Answering `request` under this model leaves `kind`."""
    status = ANSWERS[kind].status
    async with standing(serving) as proxy:
        line, responses = await trail(proxy, request, status=status)
    assert (line["status"], line["error"]) == (status, kind.value)
    assert (line["namespace"], line["ingress"], line["service"]) == route
    assert responses == {(*route, str(status), kind.value): 1}


SOMEBODY = builders.endpoint("192.0.2.1")  # whom nobody asks

CERTIFIED = ClientCertificates(ClientDemand("shop.test", "shop/clients", ""))
NAMED = ClientCertificates(
    ClientDemand("shop.test", "shop/clients", "", ClientVerification.OPTIONAL), subject_pattern="CN=alice"
)
BEFORE_ENDPOINTS: dict[ErrorKind, tuple[RoutingModel, bytes, tuple[str, str, str]]] = {
    ErrorKind.BAD_REQUEST: (model(), b"GET /%zz HTTP/1.1\r\nHost: shop.test\r\n\r\n", UNROUTED),
    ErrorKind.REQUEST_TIMEOUT: (
        model(settings=ProxySettings(client_header_timeout_seconds=0.1)), b"GET / HTTP/1.1\r\n", UNROUTED,
    ),
    ErrorKind.TARGET_TOO_LONG: (model(), b"GET /%b HTTP/1.1\r\nHost: shop.test\r\n\r\n" % (b"a" * 70_000), UNROUTED),
    ErrorKind.HEAD_TOO_LARGE: (
        model(), b"GET / HTTP/1.1\r\nHost: shop.test\r\nX: %b\r\n\r\n" % (b"a" * 70_000), UNROUTED,
    ),
    ErrorKind.LOOP: (
        model(), b"GET / HTTP/1.1\r\nHost: shop.test\r\nCDN-Loop: %b\r\n\r\n" % b",".join([b"zonal"] * 10), UNROUTED,
    ),
    ErrorKind.METHOD_NOT_ALLOWED: (model(), b"TRACE / HTTP/1.1\r\nHost: shop.test\r\n\r\n", UNROUTED),
    ErrorKind.EXPECTATION_FAILED: (
        model(), b"GET / HTTP/1.1\r\nHost: shop.test\r\nExpect: the-unexpected\r\n\r\n", UNROUTED,
    ),
    ErrorKind.NO_ROUTE: (model(), GET.replace(b"shop.test", b"other.test"), UNROUTED),
    ErrorKind.BODY_TOO_LARGE: (model(policy={"max_body_bytes": 3}), post(b"body"), ROUTED),
    ErrorKind.PATH_CLOSED: (model(route={"closed": True}), GET, ROUTED),
    ErrorKind.SOURCE_DENIED: (model(SOMEBODY, route={"gates": (SourceRanges(("10.0.0.0/8",)),)}), GET, ROUTED),
    ErrorKind.CERTIFICATE_REFUSED: (model(SOMEBODY, route={"gates": (CERTIFIED,)}), GET, ROUTED),
    ErrorKind.CERTIFICATE_DENIED: (model(SOMEBODY, route={"gates": (NAMED,)}), GET, ROUTED),
    ErrorKind.CLIENT_BLOCKED: (model(route={"gates": (BlockedClients(agents=("",)),)}), GET, ROUTED),
    ErrorKind.RATE_LIMITED: (model(SOMEBODY, route={"gates": (RateLimit("zone", ()),)}), GET, ROUTED),
    ErrorKind.CONNECTIONS_LIMITED: (model(SOMEBODY, route={"gates": (FlightLimit("zone", 1),)}), GET, ROUTED),
    ErrorKind.AUTH_UNAVAILABLE: (model(SOMEBODY, route={"gates": (ExternalAuth("http://auth.test/"),)}), GET, ROUTED),
    ErrorKind.NO_BACKEND: (model(to=None), GET, MISSING),
    ErrorKind.BACKEND_INVALID: (
        model(route={"branches": (builders.branch(None, error=ErrorKind.BACKEND_INVALID),)}), GET, MISSING,
    ),
    ErrorKind.NO_ENDPOINT: (model(), GET, ROUTED),
}  # fmt: skip

OF_ENDPOINTS: dict[ErrorKind, tuple[Script, dict[str, Any], dict[str, Any]]] = {
    ErrorKind.ENDPOINT_TLS: (speaks_no_tls, {"tls": EndpointTls()}, {}),
    ErrorKind.ENDPOINT_CLOSED: (hangs_up, {}, {}),
    ErrorKind.ENDPOINT_TIMEOUT: (silent, {}, {"read_timeout_seconds": 0.1}),
    ErrorKind.INVALID_RESPONSE: (answering(b"SSH-2.0-OpenSSH\r\n\r\n"), {}, {}),
}

ELSEWHERE = {
    ErrorKind.CONNECT_REFUSED, ErrorKind.CONNECT_TIMEOUT, ErrorKind.OVERLOADED, ErrorKind.CLIENT_LEFT,
    ErrorKind.UNAUTHORIZED, ErrorKind.MISDIRECTED, ErrorKind.ENDPOINT_REFUSED, ErrorKind.ENDPOINT_SILENT,
    ErrorKind.CALL_TIMEOUT, ErrorKind.HOOK_FAILED,
}  # fmt: skip


def test_every_answer_of_the_table_is_tried_here() -> None:
    assert BEFORE_ENDPOINTS.keys() | OF_ENDPOINTS.keys() | ELSEWHERE == ANSWERS.keys()


@pytest.mark.parametrize("kind", BEFORE_ENDPOINTS, ids=lambda kind: kind.value)
async def test_an_error_before_any_endpoint_is_asked(kind: ErrorKind) -> None:
    serving, request, route = BEFORE_ENDPOINTS[kind]
    await leaves_its_trail(serving, kind, request, route)


@pytest.mark.parametrize("kind", OF_ENDPOINTS, ids=lambda kind: kind.value)
async def test_an_error_of_an_endpoint(kind: ErrorKind) -> None:
    script, backend, policy = OF_ENDPOINTS[kind]
    async with ScriptedEndpoint(script) as endpoint:
        serving = model(placed(endpoint), backend=backend, policy=policy)
        await leaves_its_trail(serving, kind, GET, ROUTED)


async def test_a_connection_that_is_refused() -> None:
    with refusing() as dead:
        await leaves_its_trail(model(dead), ErrorKind.CONNECT_REFUSED, GET, ROUTED)


async def test_a_connection_that_is_not_made_in_time() -> None:
    with never_accepting() as dead:
        serving = model(dead, policy={"connect_timeout_seconds": 0.1})
        await leaves_its_trail(serving, ErrorKind.CONNECT_TIMEOUT, GET, ROUTED)


async def test_a_backend_at_its_limit() -> None:
    async with ScriptedEndpoint(silent) as endpoint:
        serving = model(placed(endpoint), backend={"max_concurrency": 1})
        async with standing(serving) as proxy, proxy.client() as first, proxy.client() as second:
            first.send(GET)
            await until(lambda: endpoint.requests == 1)
            assert (await second.ask(GET)).status == 503
            await until(lambda: bool(proxy.metric(RESPONSES)))
            assert proxy.metric(RESPONSES) == {(*ROUTED, "503", "overloaded"): 1}
            assert [line["error"] for line in proxy.log()] == ["overloaded"]


async def test_a_client_that_leaves() -> None:
    async with ScriptedEndpoint(silent) as endpoint, standing(model(placed(endpoint))) as proxy:
        async with proxy.client() as client:
            client.send(GET)
            await until(lambda: endpoint.requests == 1)
            client.reset()
            await until(lambda: not proxy.clients)
        assert proxy.metric(RESPONSES) == {(*ROUTED, "499", "client_left"): 1}
        assert [(line["status"], line["error"]) for line in proxy.log()] == [(499, "client_left")]


async def test_a_response_that_is_cut_has_the_status_that_was_sent_and_the_error() -> None:
    async def script(visit: Visit) -> None:
        await visit.head()
        await visit.send(b"HTTP/1.1 206 Partial Content\r\nContent-Length: 50\r\n\r\nhello")

    async with ScriptedEndpoint(script) as endpoint, standing(model(placed(endpoint))) as proxy:
        async with proxy.client() as client:
            client.send(GET)
            await until(lambda: bool(proxy.metric(RESPONSES)))
        assert proxy.metric(RESPONSES) == {(*ROUTED, "206", "endpoint_closed"): 1}
        assert [(line["status"], line["error"]) for line in proxy.log()] == [(206, "endpoint_closed")]


async def test_neither_a_redirect_nor_an_error_that_an_endpoint_answers_is_an_error_of_the_proxy() -> None:
    async with ScriptedEndpoint(answering(b"HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n")) as endpoint:
        serving = model(placed(endpoint))
        async with standing(serving) as proxy:
            line, responses = await trail(proxy, GET, status=503)
            assert "error" not in line
            assert responses == {(*ROUTED, "503", ""): 1}
    async with standing(model(route={"gates": (HttpsRedirect(),)})) as proxy:
        line, responses = await trail(proxy, GET, status=308)
        assert "error" not in line
        assert responses == {(*ROUTED, "308", ""): 1}
