"""Copies leave in bounded time and number, and what comes back is forgotten."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from balancer.connections.auth_services import AuthLimits
from balancer.connections.mirrors import MirrorClient
from balancer.matching.gates.external_auth.requests import AuthRequest
from tests.fakes.endpoints import ScriptedEndpoint, Visit
from tests.fakes.sockets import until
from tests.unit.balancer.proxy.standing import refusing


def copy_to(authority: str, body: bytes = b"") -> AuthRequest:
    return AuthRequest("POST", "http", authority, b"mirror.test", b"/x", (), verify=False, allow_local=True, body=body)


@asynccontextmanager
async def client_of(limits: AuthLimits) -> AsyncIterator[MirrorClient]:
    client = MirrorClient(limits)
    try:
        yield client
    finally:
        await client.stop()
        await until(lambda: not client.busy)


async def test_a_copy_has_its_body_and_ends_with_the_answer() -> None:
    seen: list[bytes] = []

    async def script(visit: Visit) -> None:
        seen.append(await visit.head())
        seen.append(await visit.exactly(5))
        await visit.send(b"HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n")

    ended = asyncio.Event()
    async with ScriptedEndpoint(script) as endpoint, client_of(AuthLimits()) as client:
        assert client.send(copy_to(f"{endpoint.address}:{endpoint.port}", b"hello"), ended.set)
        await ended.wait()
    assert seen[0].startswith(b"POST /x HTTP/1.1\r\n")
    assert b"Host: mirror.test\r\n" in seen[0]
    assert seen[1] == b"hello"


async def test_a_mirror_that_hangs_is_given_up_and_one_that_is_away_fails_nobody() -> None:
    async def silent(visit: Visit) -> None:
        await visit.head()
        await visit.rest()

    for limits in (AuthLimits(deadline_seconds=0.2),):
        ended = asyncio.Event()
        async with ScriptedEndpoint(silent) as endpoint, client_of(limits) as client:
            assert client.send(copy_to(f"{endpoint.address}:{endpoint.port}"), ended.set)
            await ended.wait()
    ended = asyncio.Event()
    with refusing() as port:
        async with client_of(AuthLimits()) as client:
            assert client.send(copy_to(f"127.0.0.1:{port}"), ended.set)
            await ended.wait()


async def test_copies_beyond_the_limit_are_refused() -> None:
    async def silent(visit: Visit) -> None:
        await visit.head()
        await visit.rest()

    limits = AuthLimits(at_once=1, waiting=1)
    async with ScriptedEndpoint(silent) as endpoint, client_of(limits) as client:
        where = f"{endpoint.address}:{endpoint.port}"
        assert [client.send(copy_to(where), lambda: None) for _ in range(3)] == [True, True, False]
