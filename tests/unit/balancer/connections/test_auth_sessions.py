"""One request to an auth service over TLS: verified only where that is asked for."""

from __future__ import annotations

import asyncio
import socket
import ssl

import pytest
import trustme
from aiohttp import web
from aiohttp.test_utils import RawTestServer

from balancer.connections.auth_sessions import AuthSession, is_own
from balancer.connections.names import Names
from balancer.matching.gates.external_auth.answers import AuthAnswer
from balancer.matching.gates.external_auth.requests import AuthRequest

pytestmark = pytest.mark.large


@pytest.fixture(scope="module")
def context() -> ssl.SSLContext:
    """Of a server with a certificate that no system trusts."""
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    trustme.CA(key_type=trustme.KeyType.ECDSA).issue_cert("127.0.0.1").configure_cert(made)
    return made


async def welcome(request: web.BaseRequest) -> web.Response:
    return web.Response(status=204, headers={"X-Host": request.host})


@pytest.mark.parametrize("verify", [True, False])
async def test_a_certificate_counts_only_if_it_is_verified(context: ssl.SSLContext, verify: bool) -> None:
    answers: list[AuthAnswer] = []
    server = RawTestServer(welcome, scheme="https")
    await server.start_server(ssl=context)
    session = AuthSession(Names(), allow_local=True)
    authority = f"127.0.0.1:{server.port}"
    request = AuthRequest("GET", "https", authority, b"auth.test", b"/", (), verify=verify, allow_local=True)
    try:
        if verify:
            with pytest.raises(OSError, match="Certificate"):
                await session.ask(request, answers.append)
        else:
            await session.ask(request, answers.append)
    finally:
        await session.close()
        await server.close()
    assert [answer.status for answer in answers] == ([] if verify else [204])
    assert all((b"x-host", b"auth.test") in answer.fields for answer in answers)


async def test_a_connection_is_used_again() -> None:
    ports: set[int] = set()

    async def note(request: web.BaseRequest) -> web.Response:
        assert request.transport is not None
        ports.add(request.transport.get_extra_info("peername")[1])
        return web.Response(status=401, text="who are you?")

    server = RawTestServer(note)
    await server.start_server()
    session = AuthSession(Names(), allow_local=True)
    authority = f"127.0.0.1:{server.port}"
    request = AuthRequest("GET", "http", authority, b"auth.test", b"/", (), verify=False, allow_local=True)
    answers: asyncio.Queue[AuthAnswer] = asyncio.Queue()
    for _ in range(3):
        await session.ask(request, answers.put_nowait)
        assert (await answers.get()).body == b"who are you?"
    await session.close()
    await server.close()
    assert len(ports) == 1


@pytest.mark.parametrize(
    ("family", "address"),
    [
        (socket.AF_INET, "127.0.0.1"),
        (socket.AF_INET, "0.0.0.0"),
        (socket.AF_INET6, "::1"),
        (socket.AF_INET6, "::ffff:127.0.0.1"),
    ],
)
async def test_the_very_address_is_judged_to_which_a_connection_is_made(
    family: socket.AddressFamily, address: str
) -> None:
    """The name was judged before it was looked up, and a name server may say whatever its tenant likes."""
    reached: list[str] = []

    async def note(request: web.BaseRequest) -> web.Response:
        reached.append(request.host)
        return web.Response()

    server = RawTestServer(note)
    await server.start_server()
    session = AuthSession(Names(look_up=lambda _: ((family, address),)), allow_local=False)
    authority = f"innocent.test:{server.port}"
    request = AuthRequest("GET", "http", authority, b"auth.test", b"/", (), verify=False, allow_local=False)
    with pytest.raises(OSError, match="Client"):
        await session.ask(request, lambda _: None)
    await session.close()
    await server.close()
    assert reached == []


def test_addresses_of_this_machine_are_known_without_a_list() -> None:
    assert is_own(socket.AF_INET, "127.0.0.1")
    assert is_own(socket.AF_INET6, "::1")
    assert not is_own(socket.AF_INET, "192.0.2.1")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as way:
        try:
            way.connect(("192.0.2.1", 9))
        except OSError:
            return  # this machine has no address but those of loopback
        assert is_own(socket.AF_INET, way.getsockname()[0])
