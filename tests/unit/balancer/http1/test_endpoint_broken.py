"""A response that is wrong, cut short or followed by more ends its connection."""

from __future__ import annotations

import asyncio

import pytest

from balancer.errors import ErrorKind
from tests.fakes.endpoints import Visit
from tests.fakes.sockets import until
from tests.unit.balancer.http1.test_endpoint import (
    OK,
    connected,
    exchanged,
    saying,
)

pytestmark = pytest.mark.large


@pytest.mark.parametrize(
    "response",
    [
        pytest.param(b"HTTP/1.1 103 Early Hints\r\n\r\n" * 9 + OK, id="too many interim responses"),
        pytest.param(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\n\r\n", id="an upgrade nobody asked for"),
        pytest.param(b"HTTP/1.1 200 OK\nContent-Length: 5\r\n\r\n", id="bare LF"),
        pytest.param(b"HTTP/1.1 200 OK\r\nX: a\x00\r\n\r\n", id="NUL"),
        pytest.param(b"\x15\x03\x01\x00\x02\x02\x50", id="a TLS alert"),
        pytest.param(b"HTTP/1.1 200 OK\r\nX: " + b"a" * 70_000, id="a head over the limit"),
        pytest.param(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", id="two framings"),
        pytest.param(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nXYZ\r\n", id="a malformed chunk"),
    ],
)
async def test_an_invalid_response_fails_and_spoils_the_connection(response: bytes) -> None:
    async with connected(saying(response)) as connection:
        taker = await exchanged(connection)
        assert taker.failure is ErrorKind.INVALID_RESPONSE
        assert taker.trailers is None
        assert not connection.reusable


@pytest.mark.parametrize(
    "response",
    [
        OK + b"HTTP/1.1 200 OK\r\n\r\n",
        OK + b"\r\n",
        b"HTTP/1.1 204 No Content\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nx",
    ],
)
async def test_surplus_bytes_are_never_given_out_and_spoil_the_connection(response: bytes) -> None:
    async with connected(saying(response)) as connection:
        taker = await exchanged(connection)
        assert taker.trailers == ()
        assert taker.body in {b"", b"hello"}
        assert not connection.reusable


async def test_surplus_bytes_that_come_later_discard_the_connection() -> None:
    late = asyncio.Event()

    async def script(visit: Visit) -> None:
        await visit.head()
        await visit.send(OK)
        await late.wait()
        await visit.send(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        await visit.rest()

    async with connected(script) as connection:
        assert (await exchanged(connection)).body == b"hello"
        assert connection.reusable
        late.set()
        await until(lambda: connection.closed)
        assert not connection.reusable


CHUNK = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"


@pytest.mark.parametrize("response", [b"", b"HTTP/1.1 200 OK\r\nConte", OK[:-1], CHUNK])
async def test_a_response_cut_short_has_failed(response: bytes) -> None:
    async with connected(saying(response, close=True)) as connection:
        taker = await exchanged(connection)
        assert (taker.failure, taker.trailers) == (ErrorKind.ENDPOINT_CLOSED, None)


@pytest.mark.parametrize("response", [b"SSH-2.0-OpenSSH_9.9\r\n", b"<", b"HTTP/2"])
async def test_what_cannot_become_a_response_is_refused_at_once(response: bytes) -> None:
    async with connected(saying(response)) as connection:
        taker = await exchanged(connection)
        assert (taker.failure, taker.trailers) == (ErrorKind.INVALID_RESPONSE, None)
