"""System calls on real sockets: what came, what was taken, and errors as negative numbers."""

from __future__ import annotations

import errno
import os
import select
import socket
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from balancer.connections.listeners import CannotListen, listen
from balancer.runtime import calls
from balancer.runtime.accepted import AcceptedSocket

SIZE = 8


@contextmanager
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    one, other = socket.socketpair()
    with one, other:
        one.setblocking(False)
        yield one, other


def test_what_has_come_stands_at_the_beginning_of_the_memory() -> None:
    memory = bytearray(b"........")
    with pair() as (one, other):
        other.send(b"abc")
        assert calls.receive(one.fileno(), memory, memoryview(memory)[:SIZE], SIZE) == 3
        assert memory == b"abc....."


def test_no_more_is_read_than_asked_for() -> None:
    memory = bytearray(SIZE)
    with pair() as (one, other):
        other.send(b"abcdef")
        assert calls.receive(one.fileno(), memory, memoryview(memory)[:4], 4) == 4
        assert calls.receive(one.fileno(), memory, memoryview(memory)[:4], 4) == 2


def test_nothing_to_read_the_end_and_a_closed_socket() -> None:
    memory = bytearray(SIZE)
    with pair() as (one, other):
        assert calls.receive(one.fileno(), memory, memoryview(memory)[:SIZE], SIZE) == -errno.EAGAIN
        other.close()
        assert calls.receive(one.fileno(), memory, memoryview(memory)[:SIZE], SIZE) == 0
        assert calls.send(one.fileno(), b"late", 0) == -errno.EPIPE


def test_sending_begins_behind_what_was_sent() -> None:
    with pair() as (one, other):
        assert calls.send(one.fileno(), b"abcdef", 0) == 6
        assert calls.send(one.fileno(), b"abcdef", 4) == 2
        assert other.recv(100) == b"abcdefef"


def test_who_waits_to_be_accepted_is_counted() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        assert calls.waiting(server) == 1  # nobody, but to try once is no mistake
        with socket.create_connection(server.getsockname()), socket.create_connection(server.getsockname()):
            assert calls.waiting(server) == 2
            server.accept()[0].close()
            assert calls.waiting(server) == 1


def test_the_last_bytes_arrive_also_if_nobody_has_read_what_the_peer_said() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as peer:
        one, _ = server.accept()
        with one:
            peer.send(b"more")
            assert select.select([one], [], [], 20)[0]
            assert calls.send_last(one.fileno(), b"abcdef", 2) == 4
        assert peer.recv(100) == b"cdef"


def test_a_full_socket_takes_a_part_and_then_nothing() -> None:
    data = bytes(16 << 20)
    with pair() as (one, _):
        assert 0 < calls.send(one.fileno(), data, 0) < len(data)
        assert calls.send(one.fileno(), data, 0) == -errno.EAGAIN


def test_sockets_that_are_ready_are_found_at_most_so_many() -> None:
    room = calls.room_for(1)
    with select.epoll() as epoll, pair() as (one, other), pair() as (another, far):
        for each in (one, another):
            epoll.register(each.fileno(), select.EPOLLIN)
        assert calls.ready(epoll, room, 1) == 0
        other.send(b"abc")
        assert calls.ready(epoll, room, 1) == 1
        assert calls.event_at(room, 0) == (one.fileno(), select.EPOLLIN)
        far.send(b"abc")
        assert calls.ready(epoll, room, 1) == 1


@pytest.mark.parametrize(
    ("address", "from_address", "peer"),
    [("127.0.0.1", "127.0.0.1", "127.0.0.1"), ("::", "127.0.0.1", "127.0.0.1"), ("::1", "::1", "::1")],
)
def test_who_waits_is_accepted_with_the_address_of_the_peer(address: str, from_address: str, peer: str) -> None:
    room = calls.room_for_peer()
    try:
        listener = listen(address, 0)
    except CannotListen:
        pytest.skip("there is no IPv6 here")
    with listener:
        assert calls.accept(listener, room) == -errno.EAGAIN
        with socket.create_connection((from_address, listener.getsockname()[1])):
            descriptor = calls.accept(listener, room)
            assert calls.peer_of(room) == peer
            assert not os.get_blocking(descriptor)
            assert not os.get_inheritable(descriptor)
            with socket.socket(fileno=descriptor) as accepted:
                assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_a_listener_that_is_gone_is_an_error() -> None:
    listener = listen("127.0.0.1", 0)
    listener.close()
    assert calls.accept(listener, calls.room_for_peer()) == -errno.EBADF


def test_what_has_come_can_be_looked_at_and_stays() -> None:
    memory = bytearray(SIZE)
    with pair() as (one, other):
        connection = AcceptedSocket(os.dup(one.fileno()), int(socket.AF_UNIX))
        assert calls.peek(connection, memory, SIZE) == b""
        assert not calls.has_unread(one.fileno())
        other.send(b"abcdefghij")
        for _ in range(2):
            assert calls.peek(connection, memory, 4) == b"abcd"
            assert calls.has_unread(one.fileno())
        assert one.recv(100) == b"abcdefghij"
        other.close()
        assert calls.peek(connection, memory, SIZE) == b""
        assert calls.has_unread(one.fileno())
        connection.close()


def test_a_descriptor_is_closed_and_one_that_is_closed_is_no_error() -> None:
    descriptor = os.open("/dev/null", os.O_RDONLY)
    calls.close(descriptor)
    with pytest.raises(OSError, match=os.strerror(errno.EBADF)):
        os.fstat(descriptor)
    calls.close(descriptor)
