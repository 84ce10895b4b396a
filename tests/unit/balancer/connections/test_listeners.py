"""Listening sockets: any free port, both families on one, and one clear line when a port cannot be had."""

from __future__ import annotations

import resource
import socket
from collections.abc import Iterator

import pytest

from balancer.connections.listeners import (
    BACKLOG,
    CannotListen,
    connection_bound,
    descriptor_limit,
    endpoint_bound,
    join,
    listen,
    listen_together,
    place_of,
    port_of,
)


def reaches(address: str, port: int) -> bool:
    try:
        socket.create_connection((address, port), timeout=5).close()
    except OSError:
        return False
    return True


def test_port_0_takes_any_free_port() -> None:
    with listen("127.0.0.1", 0) as one, listen("127.0.0.1", 0) as two:
        assert 0 < port_of(one) != port_of(two) > 0
        assert reaches("127.0.0.1", port_of(one))


def test_the_default_address_takes_ipv4_too() -> None:
    with listen("::", 0) as listener:
        assert reaches("127.0.0.1", port_of(listener))


def test_an_address_is_the_only_one_that_answers() -> None:
    with listen("127.0.0.2", 0) as listener:
        assert not reaches("127.0.0.3", port_of(listener))


def test_a_port_in_use_is_one_line_with_the_address_and_port() -> None:
    with listen("127.0.0.1", 0) as taken:
        port = port_of(taken)
        with pytest.raises(CannotListen) as refused:
            listen("127.0.0.1", port, purpose="admin")
    assert str(refused.value) == f"cannot listen on 127.0.0.1 port {port}: Address already in use"
    assert (refused.value.purpose, refused.value.is_port) == ("admin", True)


def test_a_port_is_free_again_at_once() -> None:
    with listen("127.0.0.1", 0) as first:
        port = port_of(first)
        socket.create_connection(("127.0.0.1", port), timeout=5).close()
    listen("127.0.0.1", port).close()


@pytest.fixture
def together() -> Iterator[list[socket.socket]]:
    listeners = listen_together("127.0.0.1", 0, count=3)
    yield listeners
    for listener in listeners:
        listener.close()


def accepted(listener: socket.socket) -> int:
    """How many connections wait; they are taken."""
    for count in range(1000):
        try:
            listener.accept()[0].close()
        except BlockingIOError:
            return count
    raise AssertionError


def test_several_sockets_on_one_port_share_its_connections(together: list[socket.socket]) -> None:
    assert len({port_of(listener) for listener in together}) == 1
    clients = [socket.create_connection(together[0].getsockname(), timeout=5) for _ in range(200)]
    shares = list(map(accepted, together))
    for client in clients:
        client.close()
    assert sum(shares) == 200
    assert min(shares) >= 20


def test_a_port_that_is_shared_is_in_use_for_everybody_else(together: list[socket.socket]) -> None:
    port = port_of(together[0])
    for count in (1, 2):
        with pytest.raises(CannotListen, match=f"127.0.0.1 port {port}: Address already in use"):
            listen_together("127.0.0.1", port, count=count)


def test_a_shared_port_is_free_when_the_last_has_left(together: list[socket.socket]) -> None:
    port = port_of(together[0])
    for listener in together:
        listener.close()
    listen("127.0.0.1", port).close()


@pytest.mark.parametrize("address", ["192.0.2.1", "nowhere.invalid", "2001:db8::1"])
def test_an_address_that_is_not_ours_is_refused(address: str) -> None:
    with pytest.raises(CannotListen, match=f"cannot listen on {address} port 0: ") as refused:
        listen(address, 0)
    assert not refused.value.is_port


@pytest.mark.parametrize(("descriptors", "bound"), [(20_000, 9000), (1024, 461), (256, 96), (64, 1), (0, 1)])
def test_clients_leave_descriptors_for_endpoints_and_for_all_else(descriptors: int, bound: int) -> None:
    assert connection_bound(descriptors) == bound
    assert max(1, endpoint_bound(descriptors) // 2) == bound


def test_the_limit_of_descriptors_is_raised_to_what_is_allowed() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(soft, 512), hard))
        assert descriptor_limit() == hard
        assert resource.getrlimit(resource.RLIMIT_NOFILE) == (hard, hard)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.parametrize("address", ["127.0.0.1", "::"])
@pytest.mark.parametrize("closed", [0, 1])
def test_one_that_joins_gets_connections_when_it_listens(address: str, closed: int) -> None:
    listeners = listen_together(address, 0, count=2)
    place = place_of(listeners[0])
    listeners[closed].close()
    with listeners[1 - closed] as left, join(place) as joined:
        for _ in range(20):
            socket.create_connection(("127.0.0.1", place[1]), timeout=5).close()
            left.accept()[0].close()  # or it would raise BlockingIOError
        joined.listen(BACKLOG)
        left.close()
        assert reaches("127.0.0.1", place[1])
