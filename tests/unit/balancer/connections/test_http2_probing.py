"""Probes over HTTP/2: a path, and the health protocol of gRPC, which gRPC's own server answers here."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import grpc
import pytest
import trustme

from balancer.connections.probing import Probes
from balancer.http.messages import Fields
from balancer.model.endpoints import HealthCheck
from balancer.model.handshakes import Handshake
from balancer.picking.members import Member
from tests import builders as build
from tests.fakes.http2_endpoints import Call, Http2Endpoint
from tests.fakes.sockets import until

pytestmark = pytest.mark.large

SERVING, NOT_SERVING, UNKNOWN = b"\x08\x01", b"\x08\x02", b""
STATES = {b"": SERVING, b"\x0a\x04cart": SERVING, b"\x0a\x04shop": NOT_SERVING, b"\x0a\x03new": UNKNOWN}


def check(path: str, *, seconds: float = 10.0) -> HealthCheck:
    return HealthCheck(path, timeout_seconds=seconds, http2=True)


def member(port: int) -> Member:
    return Member(build.endpoint("127.0.0.1", port=port))


def state_of(request: bytes, context: grpc.ServicerContext) -> bytes:
    if request not in STATES:
        context.abort(grpc.StatusCode.NOT_FOUND, "unknown service")
    return STATES[request]


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA(key_type=trustme.KeyType.ECDSA)


@pytest.fixture(params=[False, True], ids=["plain", "tls"])
def served(request: pytest.FixtureRequest, authority: trustme.CA) -> Iterator[tuple[int, Handshake | None]]:
    """The port of a server of gRPC, and how to speak to it."""
    server = grpc.server(ThreadPoolExecutor(2))
    check_handler = grpc.unary_unary_rpc_method_handler(state_of)
    server.add_generic_rpc_handlers(
        (grpc.method_handlers_generic_handler("grpc.health.v1.Health", {"Check": check_handler}),)
    )
    if request.param:
        issued = authority.issue_cert("cart.test")
        pair = (issued.private_key_pem.bytes(), b"".join(blob.bytes() for blob in issued.cert_chain_pems))
        port = server.add_secure_port("127.0.0.1:0", grpc.ssl_server_credentials([pair]))
    else:
        port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    yield port, Handshake(True, "cart.test", authority.cert_pem.bytes()) if request.param else None
    server.stop(0).wait()


@pytest.mark.parametrize(
    ("path", "expected"),
    [("grpc", True), ("grpc:cart", True), ("grpc:shop", False), ("grpc:new", False), ("grpc:gone", False)],
)
async def test_serving_is_well_and_nothing_else(
    served: tuple[int, Handshake | None], path: str, expected: bool
) -> None:
    port, tls = served
    assert await Probes().is_well(member(port), check(path), tls) is expected


def answering(*, data: bytes = b"", fields: Fields = (), trailers: Fields = ()) -> Callable[[Call], None]:
    return lambda call: call.answer(data, fields=((b":status", b"200"), *fields), trailers=trailers)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (answering(data=b"\0\0\0\0\2" + SERVING, trailers=((b"grpc-status", b"0"),)), True),
        (answering(data=b"\0\0\0\0\2" + SERVING, trailers=((b"grpc-status", b"14"),)), False),
        (answering(data=b"\1\0\0\0\2" + SERVING, trailers=((b"grpc-status", b"0"),)), False),
        (answering(data=b"\0\0\0\0\2" + NOT_SERVING, trailers=((b"grpc-status", b"0"),)), False),
        (answering(data=b"\0\0\0\0\2" + SERVING * 9999, trailers=((b"grpc-status", b"0"),)), False),
        (answering(fields=((b"grpc-status", b"0"),)), False),
        (lambda call: call.reset(7), False),
        (lambda call: call.connection.transport.abort(), False),
        (lambda call: call.connection.transport.write(b"HTTP/1.1 200 OK\r\n\r\n"), False),
    ],
)
async def test_an_answer_that_does_not_say_so_is_not_well(answer: Callable[[Call], None], expected: bool) -> None:
    async with Http2Endpoint(answer) as endpoint:
        assert await Probes().is_well(member(endpoint.port), check("grpc"), None) is expected
        await until(lambda: endpoint.open_connections == 0)


@pytest.mark.parametrize(
    ("status", "expected"), [(b"200", True), (b"204", True), (b"302", True), (b"404", False), (b"503", False)]
)
async def test_a_path_is_asked_by_get(status: bytes, expected: bool) -> None:
    async with Http2Endpoint(lambda call: call.answer(fields=((b":status", status),))) as endpoint:
        assert await Probes().is_well(member(endpoint.port), check("/well?now"), None) is expected
        (call,) = endpoint.calls
        assert (call.fields[b":method"], call.fields[b":path"]) == (b"GET", b"/well?now")
        assert call.fields[b":authority"] == b"127.0.0.1:%d" % endpoint.port


async def test_host_and_fields_are_those_of_the_check() -> None:
    asked = HealthCheck("/well", host="cart.test", fields=(("X-Probe", "zonal"), ("User-Agent", "mine")), http2=True)
    async with Http2Endpoint(Call.answer) as endpoint:
        assert await Probes().is_well(member(endpoint.port), asked, None)
        (call,) = endpoint.calls
        assert (call.fields[b":authority"], call.fields[b"x-probe"]) == (b"cart.test", b"zonal")
        assert call.fields[b"user-agent"] == b"mine"


async def test_nobody_is_waited_for_longer_than_was_said() -> None:
    async with Http2Endpoint() as endpoint:
        assert not await Probes().is_well(member(endpoint.port), check("grpc", seconds=0.1), None)
        await until(lambda: endpoint.open_connections == 0)


async def test_an_endpoint_that_cannot_be_reached_is_not_well() -> None:
    async with Http2Endpoint() as endpoint:
        port = endpoint.port
        assert not await Probes().is_well(member(port), check("grpc"), Handshake())
    assert not await Probes().is_well(member(port), check("grpc"), None)
