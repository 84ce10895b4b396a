"""The demo's gRPC backend: one message for every call, whatever the call brings, and a clean end."""

from __future__ import annotations

import asyncio
import socket

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingress.demo.answering import framed, serve_calls
from ingress.demo.calling import CallAnswer, CallClient

pytestmark = pytest.mark.large


def free_port() -> tuple[socket.socket, int]:
    """A port, and the socket that keeps it from others as the demo's reservation does."""
    kept = socket.socket()
    kept.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    kept.bind(("127.0.0.1", 0))
    return kept, kept.getsockname()[1]


async def test_every_call_has_the_message_and_the_status_ok() -> None:
    kept, port = free_port()
    backend = await serve_calls(b"here", "127.0.0.1", port)
    client = CallClient("127.0.0.1", port, seconds=10.0)

    answers = await asyncio.gather(*(client.call("any.example") for _ in range(20)))

    whole = CallAnswer(
        fields=((b":status", b"200"), (b"content-type", b"application/grpc"), (b"grpc-status", b"0")),
        body=framed(b"here"),
    )
    assert answers == [whole] * 20
    client.close()
    await backend.cleanup()
    kept.close()


async def test_after_its_end_it_has_closed_its_connections_and_refuses_new_ones() -> None:
    kept, port = free_port()
    backend = await serve_calls(b"here", "127.0.0.1", port)
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    await reader.readexactly(9)  # the head of its SETTINGS: it has taken the connection

    await backend.cleanup()

    async with asyncio.timeout(10):
        await reader.read()
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection("127.0.0.1", port)
    writer.close()
    kept.close()


async def test_a_client_that_does_not_speak_http2_is_closed() -> None:
    kept, port = free_port()
    backend = await serve_calls(b"here", "127.0.0.1", port)
    reader, writer = await asyncio.open_connection("127.0.0.1", port)

    writer.write(b"GET / HTTP/1.1\r\nHost: any.example\r\n\r\n")

    async with asyncio.timeout(10):
        await reader.read()
    writer.close()
    await backend.cleanup()
    kept.close()


@given(st.binary(max_size=300))
def test_a_framed_message_tells_its_length(message: bytes) -> None:
    frame = framed(message)

    assert (frame[0], int.from_bytes(frame[1:5], "big"), frame[5:]) == (0, len(message), message)
