"""Plain text where TLS is spoken is answered with 400, and anything else stays where it is."""

from __future__ import annotations

import socket

import pytest

from balancer.connections.plain_requests import refuses_plain_request


@pytest.mark.parametrize("said", [b"GET / HTTP/1.1\r\nHost: app.test\r\n\r\n", b"OPTIONS *", b"PRI * HTTP/2.0"])
def test_a_plain_request_is_answered_and_the_stream_ends(said: bytes) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.send(said)
        assert refuses_plain_request(ours)
        answer = theirs.recv(4096)
        assert answer.startswith(b"HTTP/1.1 400 ")
        assert b"\r\nConnection: close\r\n" in answer
        assert theirs.recv(1) == b""


@pytest.mark.parametrize("said", [b"\x16\x03\x01\x00\x05hello", b"get / HTTP/1.1", b"GE", b"\x80\x2e\x01"])
def test_other_bytes_stay_for_tls(said: bytes) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.send(said)
        assert not refuses_plain_request(ours)
        assert ours.recv(4096) == said


def test_a_connection_on_which_nothing_came_is_left_alone() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        assert not refuses_plain_request(ours)
        assert ours.fileno() != -1


def test_a_client_that_left_is_no_failure() -> None:
    ours, theirs = socket.socketpair()
    theirs.send(b"GET / HTTP/1.1\r\n\r\n")
    theirs.close()
    with ours:
        assert refuses_plain_request(ours)
