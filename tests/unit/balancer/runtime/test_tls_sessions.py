"""A session goes on as far as the bytes of its peer reach, and says what it lacks by what it returns."""

from __future__ import annotations

import ssl
from contextlib import suppress

import pytest

from balancer.runtime.tls_sessions import TlsSession
from tests.integration.wire import trusting
from tests.unit.balancer.runtime.tls_lines import SERVER


class Talk:
    """A session, and a client of it, with the bytes between them."""

    def __init__(self) -> None:
        self.session = TlsSession(SERVER)
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.client = trusting().wrap_bio(self._incoming, self._outgoing, server_hostname="shop.test")

    def carry(self) -> None:
        """Brings what each side has said to the other one."""
        self.session.put(self._outgoing.read())
        self._incoming.write(self.session.take())

    def shake(self) -> None:
        is_over = False
        while not is_over:
            with suppress(ssl.SSLWantReadError):
                self.client.do_handshake()
            self.carry()
            is_over = self.session.shake()
            self.carry()
        with suppress(ssl.SSLWantReadError):
            self.client.do_handshake()
        self.carry()


def test_a_handshake_wants_bytes_until_it_is_over() -> None:
    talk = Talk()
    assert not talk.session.shake()
    talk.shake()
    talk.client.write(b"hello")
    talk.carry()
    assert talk.session.read(100) == b"hello"
    talk.session.write(b"good day")
    talk.carry()
    assert talk.client.read(100) == b"good day"


def test_what_is_dropped_tells_the_goodbye_behind_it() -> None:
    talk = Talk()
    talk.shake()
    talk.client.write(bytes(40_000))
    talk.carry()
    assert not talk.session.drop_input()
    assert talk.session.incoming.pending == 0
    with suppress(ssl.SSLWantReadError):
        talk.client.unwrap()
    talk.carry()
    assert talk.session.drop_input()


def test_a_goodbye_is_mutual_when_the_peer_has_said_it() -> None:
    talk = Talk()
    talk.shake()
    assert not talk.session.say_goodbye()
    talk.carry()
    talk.client.unwrap()
    talk.carry()
    assert talk.session.say_goodbye()


def test_bytes_that_are_no_tls_are_an_error() -> None:
    talk = Talk()
    talk.session.put(b"GET / HTTP/1.1\r\n\r\n")
    with pytest.raises(ssl.SSLError):
        talk.session.shake()
