"""An accepted connection is a socket like others, and knows its peer."""

from __future__ import annotations

import socket

import pytest

from balancer.runtime.accepted import accept


def test_a_connection_that_came_is_accepted_with_the_address_of_its_peer() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        client = socket.create_connection(listener.getsockname())
        connection, address = accept(listener, int(listener.family))
        with client, connection:
            assert address == client.getsockname()[0]
            assert (connection.family, connection.type) == (socket.AF_INET, socket.SOCK_STREAM)
            connection.sendall(b"said")
            assert client.recv(10) == b"said"


def test_without_a_connection_it_is_an_os_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setblocking(False)
        with pytest.raises(BlockingIOError):
            accept(listener, int(listener.family))
