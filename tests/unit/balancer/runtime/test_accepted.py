"""An accepted connection does not block, has an object of `socket` for whoever asks, and is closed once."""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from balancer.runtime.accepted import AcceptedSocket, whole


@contextmanager
def accepted() -> Iterator[tuple[AcceptedSocket, socket.socket]]:
    """A connection, and the socket of its client."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        client = socket.create_connection(listener.getsockname())
        came, _ = listener.accept()
        connection = AcceptedSocket(came.detach(), int(listener.family))
        with client:
            try:
                yield connection, client
            finally:
                connection.close()


def is_open(descriptor: int) -> bool:
    try:
        os.fstat(descriptor)
    except OSError as error:
        assert error.errno == errno.EBADF
        return False
    return True


def test_whoever_asks_gets_the_connection_as_a_socket_and_the_same_one_again() -> None:
    with accepted() as (connection, client):
        made = connection.whole()
        assert (made.fileno(), made.family, made.type) == (connection.fileno(), socket.AF_INET, socket.SOCK_STREAM)
        assert not made.getblocking()
        assert connection.whole() is made
        assert whole(connection) is made
        assert whole(client) is client
        made.sendall(b"said")
        assert client.recv(10) == b"said"


@pytest.mark.parametrize("asks", [False, True])
def test_closed_it_is_closed_once_and_the_client_reads_its_end(asks: bool) -> None:
    with accepted() as (connection, client):
        if asks:
            connection.whole()
        descriptor = connection.fileno()
        connection.close()
        assert (connection.fileno(), is_open(descriptor)) == (-1, False)
        assert client.recv(1) == b""
        again, other = socket.socketpair()  # one of them takes the number of the descriptor
        with again, other:
            connection.close()
            again.sendall(b"x")
            assert other.recv(1) == b"x"


def test_what_is_closed_is_no_socket_any_more() -> None:
    with accepted() as (connection, _):
        connection.close()
        with pytest.raises(OSError, match=os.strerror(errno.EBADF)):
            connection.whole()


@pytest.mark.parametrize("asks", [False, True])
def test_forgotten_it_is_closed_with_a_warning(asks: bool) -> None:
    with accepted() as (connection, client):
        forgotten = AcceptedSocket(os.dup(connection.fileno()), int(socket.AF_INET))
        descriptor = forgotten.fileno()
        if asks:
            forgotten.whole()
        with pytest.warns(ResourceWarning, match="was not closed"):
            del forgotten
        assert not is_open(descriptor)
        assert client.send(b"x") == 1
