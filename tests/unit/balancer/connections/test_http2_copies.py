"""Copies over HTTP/2: what they say, and that each ends with its answer or with an error."""

from __future__ import annotations

import asyncio

import pytest

from balancer.connections.checked_tls import checked_contexts
from balancer.connections.http2_copies import send_over_http2
from balancer.matching.gates.external_auth.requests import AuthRequest
from tests.fakes.http2_endpoints import Call, Http2Endpoint
from tests.fakes.sockets import until

pytestmark = pytest.mark.large


def copy_to(port: int, *fields: tuple[bytes, bytes], body: bytes = b"") -> AuthRequest:
    return AuthRequest(
        "POST",
        "http",
        f"127.0.0.1:{port}",
        b"mirror.test",
        b"/x?y",
        fields,
        verify=False,
        allow_local=True,
        body=body,
        http2=True,
    )


async def test_a_copy_says_what_it_has_to_say() -> None:
    async with Http2Endpoint(Call.answer) as endpoint:
        await send_over_http2(copy_to(endpoint.port, (b"X-Zonal-Copy", b"1")), checked_contexts())
        await until(lambda: endpoint.open_connections == 0)
        (call,) = endpoint.calls
    assert call.fields == {
        b":method": b"POST",
        b":scheme": b"http",
        b":authority": b"mirror.test",
        b":path": b"/x?y",
        b"x-zonal-copy": b"1",
    }


async def test_a_call_is_one_and_a_body_beyond_the_window_gets_through() -> None:
    body = bytes(300_000)
    async with Http2Endpoint(Call.answer) as endpoint:
        await send_over_http2(
            copy_to(endpoint.port, (b"content-type", b"application/grpc"), body=body), checked_contexts()
        )
        (call,) = endpoint.calls
    assert (call.body, call.fields[b"te"]) == (body, b"trailers")


async def test_an_answer_beyond_the_window_is_read_to_its_end() -> None:
    async with Http2Endpoint(lambda call: call.answer(bytes(300_000))) as endpoint:
        await send_over_http2(copy_to(endpoint.port), checked_contexts())
        assert endpoint.calls[0].is_closed


async def test_a_mirror_that_leaves_or_breaks_the_protocol_is_an_error() -> None:
    for answer in (
        lambda call: call.connection.transport.abort(),
        lambda call: call.connection.transport.write(b"HTTP/1.1 200 OK\r\n\r\n"),
    ):
        async with Http2Endpoint(answer) as endpoint:
            with pytest.raises(OSError):
                await send_over_http2(copy_to(endpoint.port), checked_contexts())


async def test_whoever_gives_up_leaves_no_connection() -> None:
    async with Http2Endpoint() as endpoint:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(send_over_http2(copy_to(endpoint.port), checked_contexts()), 0.1)
        await until(lambda: endpoint.open_connections == 0)
