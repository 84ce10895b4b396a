"""One probe: what counts as well, over TLS too, and that nothing is followed, read to its end or left open."""

from __future__ import annotations

import asyncio
import ssl
import subprocess
import sys
from collections.abc import AsyncIterator

import pytest
import trustme
from aiohttp import web
from aiohttp.test_utils import RawTestServer

from balancer.connections.probing import Probes
from balancer.model.endpoints import HealthCheck
from balancer.model.handshakes import Handshake
from balancer.picking.checking import Probe
from balancer.picking.members import Member
from balancer.runtime.absences import Absences
from tests import builders as build
from tests.fakes.endpoints import Script, ScriptedEndpoint, Visit
from tests.fakes.sockets import until
from tests.fakes.stalls import stall
from tests.unit.balancer.proxy.standing import OK, refusing

pytestmark = pytest.mark.large

CHECK = HealthCheck("/well?really", timeout_seconds=10.0)
HASTY = HealthCheck("/well", timeout_seconds=0.2)
AUTHORITY = trustme.CA(key_type=trustme.KeyType.ECDSA)


@pytest.fixture
async def is_well() -> AsyncIterator[Probe]:
    """The probes of one worker, until the end of the test."""
    probes = Probes()
    yield probes.is_well
    await probes.close()


def one_answer(answer: bytes) -> Script:
    """Answers one request and closes."""

    async def script(visit: Visit) -> None:
        await visit.head()
        await visit.send(answer)

    return script


def member(endpoint: ScriptedEndpoint) -> Member:
    return Member(build.endpoint(endpoint.address, port=endpoint.port))


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (OK, True),
        (b"HTTP/1.0 204 No Content\r\n\r\n", True),
        (b"HTTP/1.1 302 Found\r\n\r\n", True),
        (b"HTTP/1.1 404 Not Found\r\n\r\n", False),
        (b"HTTP/1.1 503 Service Unavailable\r\n\r\n", False),
        (b"SSH-2.0-OpenSSH\r\n", False),
        (b"HTTP/1.1 abc\r\n", False),
        (b"HTTP/1.1 200", False),
        (b"x" * 5000, False),
        (b"", False),
    ],
)
async def test_an_answer_from_200_to_399_is_well(is_well: Probe, answer: bytes, expected: bool) -> None:
    async with ScriptedEndpoint(one_answer(answer)) as endpoint:
        assert await is_well(member(endpoint), CHECK, None) is expected


async def test_the_path_is_asked_for_as_it_is_written(is_well: Probe) -> None:
    async with ScriptedEndpoint(one_answer(OK)) as endpoint:
        await is_well(member(endpoint), CHECK, None)
        (visit,) = endpoint.visits
        assert visit.received.startswith(b"GET /well?really HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n" % endpoint.port)
        fields = visit.received.lower()
        assert b"\r\nconnection: close\r\n" in fields
        assert b"\r\nuser-agent: zonal-health\r\n" in fields


async def test_host_and_fields_are_those_of_the_check(is_well: Probe) -> None:
    check = HealthCheck("/well", host="shop.test:81", fields=(("X-Probe", "a b"), ("user-agent", "mine")))
    async with ScriptedEndpoint(one_answer(OK)) as endpoint:
        assert await is_well(member(endpoint), check, None)
        (visit,) = endpoint.visits
        head, _, _ = visit.received.partition(b"\r\n\r\n")
        request_line, *fields = head.split(b"\r\n")
        assert request_line == b"GET /well HTTP/1.1"
        assert sorted(fields, key=bytes.lower) == [
            b"Connection: close",
            b"Host: shop.test:81",
            b"user-agent: mine",
            b"X-Probe: a b",
        ]


async def test_probes_share_a_client_but_no_connection(is_well: Probe) -> None:
    async with ScriptedEndpoint(one_answer(OK)) as endpoint:
        assert all(await asyncio.gather(*(is_well(member(endpoint), CHECK, None) for _ in range(120))))
        assert len(endpoint.visits) == 120


async def test_a_client_that_nobody_needed_is_closed_as_well() -> None:
    await Probes().close()


async def test_silence_is_not_well_in_time(is_well: Probe) -> None:
    async def silent(visit: Visit) -> None:
        await visit.rest()

    async with ScriptedEndpoint(silent) as endpoint:
        assert not await is_well(member(endpoint), HASTY, None)
        assert await is_well(member(endpoint), HealthCheck("tcp", timeout_seconds=0.2), None)


async def test_a_refused_connection_is_not_well(is_well: Probe) -> None:
    with refusing() as dead:
        assert not await is_well(Member(dead), CHECK, None)
        assert not await is_well(Member(dead), HealthCheck("tcp"), None)


async def test_a_redirect_is_not_followed(is_well: Probe) -> None:
    moved = b"HTTP/1.1 302 Found\r\nLocation: /elsewhere\r\nContent-Length: 0\r\n\r\n"
    async with ScriptedEndpoint(one_answer(moved)) as endpoint:
        assert await is_well(member(endpoint), CHECK, None)
        assert len(endpoint.visits) == 1


async def test_a_body_without_end_is_not_read(is_well: Probe) -> None:
    ended: list[bool] = []

    async def endless(visit: Visit) -> None:
        await visit.head()
        try:
            await visit.send(b"HTTP/1.1 200 OK\r\n\r\n")
            while True:
                await visit.send(b"x" * 65536)
        finally:
            ended.append(True)

    async with ScriptedEndpoint(endless) as endpoint:
        assert await is_well(member(endpoint), CHECK, None)
        await until(lambda: bool(ended))


async def test_a_head_without_end_is_not_well(is_well: Probe) -> None:
    async with ScriptedEndpoint(one_answer(b"HTTP/1.1 200 OK\r\n" + b"X-A: b\r\n" * 5000)) as endpoint:
        assert not await is_well(member(endpoint), CHECK, None)


class Secured:
    """An endpoint that speaks TLS alone, with a certificate for shop.test."""

    def __init__(self) -> None:
        self.names: list[str | None] = []
        self._server = RawTestServer(self._answer)

    async def __aenter__(self) -> Member:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        AUTHORITY.issue_cert("shop.test", key_type=trustme.KeyType.ECDSA).configure_cert(context)
        context.sni_callback = lambda _connection, name, _context: self.names.append(name)
        await self._server.start_server(ssl=context)
        assert self._server.port is not None
        return Member(build.endpoint("127.0.0.1", port=self._server.port))

    async def __aexit__(self, *_: object) -> None:
        await self._server.close()

    async def _answer(self, request: web.BaseRequest) -> web.Response:
        return web.Response()


@pytest.mark.parametrize(
    ("tls", "expected"),
    [
        pytest.param(Handshake(), True, id="not verified"),
        pytest.param(Handshake(True, "shop.test", AUTHORITY.cert_pem.bytes()), True, id="verified"),
        pytest.param(Handshake(True, "other.test", AUTHORITY.cert_pem.bytes()), False, id="of another name"),
        pytest.param(Handshake(True, "shop.test"), False, id="of an authority that is not trusted"),
        pytest.param(Handshake(True, "shop.test", b"no certificate"), False, id="without a usable authority"),
        pytest.param(None, False, id="plain HTTP to a TLS port"),
    ],
)
async def test_tls_is_verified_as_for_requests(is_well: Probe, tls: Handshake | None, expected: bool) -> None:
    async with Secured() as endpoint:
        assert await is_well(endpoint, CHECK, tls) is expected


async def test_the_handshake_asks_for_the_name_of_the_backend(is_well: Probe) -> None:
    secured = Secured()
    async with secured as endpoint:
        await is_well(endpoint, CHECK, Handshake(server_name="shop.test"))
    assert secured.names == ["shop.test"]


def test_a_worker_without_checks_does_not_import_aiohttp() -> None:
    program = "import sys, balancer.workers.process, balancer.connections.probing; sys.exit('aiohttp' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


@pytest.mark.parametrize("path", ["/well", "tcp"])
async def test_an_endpoint_does_not_fail_because_the_own_loop_was_held(path: str) -> None:
    """No beat follows the first, so all that is longer than a beat is an absence."""
    loop, absences = asyncio.get_running_loop(), Absences()
    probes = Probes(absences)
    absences.beat(loop.time(), 0.0)
    async with ScriptedEndpoint(one_answer(OK)) as endpoint:
        loop.call_soon(loop.call_soon, stall, 2.0 * HASTY.timeout_seconds)
        assert await probes.is_well(member(endpoint), HealthCheck(path, timeout_seconds=HASTY.timeout_seconds), None)
    await probes.close()
