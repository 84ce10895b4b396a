"""What the socket under a transport tells, on real sockets and on the transports that Python has."""

from __future__ import annotations

import asyncio

import pytest

from balancer.runtime.transports import has_unread, peer_address, reset_on_close
from tests.fakes.sockets import until


class Named(asyncio.BaseTransport):
    """A transport that knows only who is on the other side."""

    def __init__(self, *peername: object) -> None:
        super().__init__({"peername": peername or None})


class Unread(asyncio.Protocol):
    """Reads nothing of what comes."""

    def __init__(self, opened: asyncio.Queue[asyncio.Transport]) -> None:
        self._opened = opened

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        transport.pause_reading()
        self._opened.put_nowait(transport)


@pytest.mark.parametrize(
    ("peername", "address"),
    [
        (("192.0.2.1", 1234), "192.0.2.1"),
        (("::ffff:192.0.2.1", 1234, 0, 0), "192.0.2.1"),
        (("2001:db8::1", 1234, 0, 0), "2001:db8::1"),
        ((), ""),
    ],
)
def test_the_peer_is_told_without_port_and_ipv4_as_such(peername: tuple[object, ...], address: str) -> None:
    assert peer_address(Named(*peername)) == address


async def test_what_was_not_read_is_seen_and_a_reset_is_no_clean_end() -> None:
    accepted: asyncio.Queue[asyncio.Transport] = asyncio.Queue()
    server = await asyncio.get_running_loop().create_server(lambda: Unread(accepted), "127.0.0.1", 0)
    async with server:
        reader, client = await asyncio.open_connection(*server.sockets[0].getsockname())
        transport = await accepted.get()
        assert not has_unread(transport)
        client.write(b"x")
        await until(lambda: has_unread(transport))
        reset_on_close(transport)
        transport.abort()
        with pytest.raises(ConnectionResetError):
            await reader.read()
        client.close()


def test_a_transport_without_a_socket_is_left_as_it_is() -> None:
    reset_on_close(Named())
