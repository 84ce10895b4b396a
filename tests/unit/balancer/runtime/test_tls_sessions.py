"""A session goes on as far as the bytes of its peer reach, and says what it lacks by what it returns.

Every test asks a session with the means of `ssl`, and the one that this build makes.
"""

from __future__ import annotations

import gc
import os
import ssl
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress

import pytest

from balancer import BUILD
from balancer.connections.tls import make_context, self_signed
from balancer.runtime.reading import PIECE, PIECE_BYTES
from balancer.runtime.tls_sessions import TlsSession, choose, make_session, shortfall, wrapped
from tests.integration.wire import trusting
from tests.unit.balancer.runtime.tls_lines import SERVER, VERSIONS

Make = Callable[[ssl.SSLContext], TlsSession]
NATIVE = "balancer.runtime.native_tls"
SECOND = make_context(self_signed())

ASK = """
import ssl
{change}
from balancer.connections.tls import make_context, self_signed
from balancer.runtime.tls_sessions import make_session, shortfall
print(type(make_session(make_context(self_signed()))).__name__, shortfall())
"""


class Talk:
    """A session, and a client of it, with the bytes between them."""

    def __init__(self, make: Make, version: ssl.TLSVersion = ssl.TLSVersion.TLSv1_3) -> None:
        self.session = make(SERVER)
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        context = trusting()
        context.minimum_version = context.maximum_version = version
        self.client = context.wrap_bio(self._incoming, self._outgoing, server_hostname="shop.test")

    def say(self, data: bytes) -> None:
        """The session hears so many bytes."""
        for start in range(0, len(data), PIECE_BYTES):
            part = data[start : start + PIECE_BYTES]
            PIECE[: len(part)] = part
            self.session.hear(len(part))

    def said(self) -> bytes:
        """What the client has for the session."""
        return self._outgoing.read()

    def carry(self) -> None:
        """Brings what each side has said to the other one."""
        self.say(self.said())
        self.bring()

    def bring(self) -> None:
        """Brings what the session has said to the client."""
        has_output = self.session.has_output()
        said = self.session.take()
        assert has_output == bool(said)
        assert not self.session.has_output()
        self._incoming.write(said)

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

    def heard(self) -> bytes:
        """All that the session can decrypt."""
        parts = []
        while self.session.has_input():
            count = self.session.read_into(7, 1000)
            if count < 0:
                break
            parts.append(bytes(PIECE[7 : 7 + count]))
        return b"".join(parts)


@pytest.fixture(params=[wrapped, make_session], ids=["ssl", "own"])
def make(request: pytest.FixtureRequest) -> Make:
    made: Make = request.param
    return made


@pytest.fixture(params=VERSIONS)
def talk(make: Make, request: pytest.FixtureRequest) -> Talk:
    talk = Talk(make, request.param)
    talk.shake()
    return talk


def test_a_handshake_wants_bytes_until_it_is_over(make: Make) -> None:
    talk = Talk(make)
    assert not talk.session.shake()
    talk.shake()
    assert talk.session.ssl_object.version() == "TLSv1.3"


def test_bytes_pass_both_ways(talk: Talk) -> None:
    talk.client.write(b"hello")
    assert not talk.session.has_input()
    talk.carry()
    assert talk.heard() == b"hello"
    assert talk.session.encrypt(b"a good day", 2, 8) == 8
    talk.bring()
    assert talk.client.read(100) == b"good day"


def test_a_record_that_comes_in_parts_is_waited_for(talk: Talk) -> None:
    talk.client.write(b"hello")
    said = talk.said()
    for at in range(len(said) - 1):
        talk.say(said[at : at + 1])
        assert talk.session.has_input()
        assert talk.session.read_into(0, 100) == -1
    talk.say(said[-1:])
    assert talk.heard() == b"hello"


def test_what_is_not_read_stays_in_front_of_what_comes(talk: Talk) -> None:
    bodies = [bytes([at]) * (30_000 + at) for at in range(5)]
    expected = b"".join(bodies)
    first = bytearray()
    for body in bodies:
        talk.client.write(body)
        talk.say(talk.said())
        count = talk.session.read_into(0, 10)
        first += PIECE[:count]
    assert bytes(first) + talk.heard() == expected


def test_a_read_never_gives_more_than_was_asked_for(talk: Talk) -> None:
    talk.client.write(bytes(range(100)))
    talk.carry()
    PIECE[:40] = b"-" * 40
    assert talk.session.read_into(10, 20) == 20
    assert bytes(PIECE[:40]) == b"-" * 10 + bytes(range(20)) + b"-" * 10


@pytest.mark.parametrize("size", [1, 16_384, 16_385, 32_768])
def test_what_is_encrypted_is_whole(talk: Talk, size: int) -> None:
    data = os.urandom(size + 3)
    assert talk.session.encrypt(data, 3, size) == size
    talk.bring()
    heard = bytearray()
    while len(heard) < size:
        heard += talk.client.read(size)
    assert bytes(heard) == data[3:]


def test_several_pieces_may_be_taken_at_once(talk: Talk) -> None:
    pieces = [bytes([at % 256]) * (at * 97 % 5000 + 1) for at in range(60)]
    for piece in pieces:
        assert talk.session.encrypt(piece, 0, len(piece)) == len(piece)
    talk.bring()
    heard, expected = bytearray(), b"".join(pieces)
    while len(heard) < len(expected):
        heard += talk.client.read(1 << 16)
    assert bytes(heard) == expected


def test_what_is_dropped_tells_the_goodbye_behind_it(make: Make) -> None:
    talk = Talk(make)
    talk.shake()
    talk.client.write(bytes(40_000))
    talk.carry()
    assert not talk.session.drop_input()
    assert not talk.session.has_input()
    with suppress(ssl.SSLWantReadError):
        talk.client.unwrap()
    talk.carry()
    assert talk.session.drop_input()
    assert talk.session.read_into(0, 10) == 0


def test_a_goodbye_is_mutual_when_the_peer_has_said_it(talk: Talk) -> None:
    assert not talk.session.say_goodbye()
    talk.carry()
    talk.client.unwrap()
    talk.carry()
    assert talk.session.say_goodbye()


def test_bytes_that_are_no_tls_are_an_error(make: Make) -> None:
    talk = Talk(make)
    talk.say(b"GET / HTTP/1.1\r\n\r\n")
    with pytest.raises(ssl.SSLError):
        talk.session.shake()


def test_a_record_that_was_changed_is_an_error_and_told(talk: Talk) -> None:
    talk.client.write(b"hello")
    said = bytearray(talk.said())
    said[-1] ^= 1
    talk.say(bytes(said))
    with pytest.raises(ssl.SSLError):
        talk.session.read_into(0, 100)
    talk.bring()
    with pytest.raises(ssl.SSLError, match=r"(?i)bad.record.mac"):
        talk.client.read(1)


def test_nothing_can_be_encrypted_behind_the_own_goodbye(talk: Talk) -> None:
    talk.session.say_goodbye()
    with pytest.raises(ssl.SSLError):
        talk.session.encrypt(b"late", 0, 4)
    assert talk.session.take()


def test_goodbyes_are_said_one_after_the_other(talk: Talk) -> None:
    assert not talk.session.say_goodbye()
    talk.bring()
    assert talk.client.read(10) == b""
    with suppress(ssl.SSLError):
        talk.client.unwrap()
    talk.say(talk.said())
    with suppress(ssl.SSLZeroReturnError):  # as `ssl` says it
        assert talk.session.drop_input()


def test_who_answers_a_goodbye_knows_that_it_is_the_last(talk: Talk) -> None:
    with pytest.raises(ssl.SSLWantReadError):
        talk.client.unwrap()
    talk.say(talk.said())
    assert talk.session.say_goodbye()
    talk.bring()
    talk.client.unwrap()


def test_data_before_the_goodbye_of_the_peer_are_no_goodbye(talk: Talk) -> None:
    talk.client.write(b"more")
    talk.say(talk.said())
    try:
        assert not talk.session.say_goodbye()
    except ssl.SSLError:
        assert talk.session.has_output()  # it was said nevertheless


def test_sessions_do_not_mix(make: Make) -> None:
    talks = [Talk(make) for _ in range(3)]
    for talk in talks:
        talk.shake()
    for number, talk in enumerate(talks):
        talk.client.write(b"%d" % number)
        talk.say(talk.said())
        talk.session.encrypt(b"to %d" % number, 0, 4)
    for number, talk in enumerate(talks):
        assert talk.heard() == b"%d" % number
        talk.bring()
        assert talk.client.read(10) == b"to %d" % number


def test_the_object_of_a_session_may_outlive_it(make: Make) -> None:
    talk = Talk(make)
    talk.shake()
    talk.client.write(bytes(100))
    talk.say(talk.said())
    talk.session.encrypt(bytes(100), 0, 100)
    kept = talk.session.ssl_object
    talk.session = wrapped(SECOND)
    gc.collect()
    assert kept.version() == "TLSv1.3"
    assert kept.write(bytes(10)) == 10
    with suppress(ssl.SSLError):  # something is left to be read
        kept.unwrap()


@pytest.mark.skipif(not BUILD, reason="the plain source cannot reach beyond an object")
@pytest.mark.parametrize(("at", "size"), [(-1, 10), (0, 0), (0, PIECE_BYTES + 1), (PIECE_BYTES, 1)])
def test_no_memory_but_that_which_is_meant_is_touched(at: int, size: int) -> None:
    talk = Talk(make_session)
    talk.shake()
    with pytest.raises(ValueError, match="no part of the buffer"):
        talk.session.read_into(at, size)
    with pytest.raises(ValueError, match="no part of the data"):
        talk.session.encrypt(bytes(5), at, size)
    with pytest.raises(ValueError, match="no bytes of the buffer"):
        talk.session.hear(PIECE_BYTES + 1)


def test_a_build_lacks_nothing() -> None:
    assert shortfall() == ""
    assert (type(make_session(SERVER)) is not TlsSession) == bool(BUILD)


def test_what_cannot_be_imported_is_told() -> None:
    assert choose("balancer.runtime.no_tls") == (wrapped, "No module named 'balancer.runtime.no_tls'")
    assert choose("") == (wrapped, "")


@pytest.mark.skipif(not BUILD, reason="the plain source asks OpenSSL by ssl")
@pytest.mark.parametrize(
    ("change", "why"),
    [
        ("import _ssl; _ssl.__file__ = '/nowhere'", "/nowhere cannot be opened"),
        ("import _ssl, balancer.runtime.tcp as it; _ssl.__file__ = it.__file__", "the OpenSSL of ssl does not export "),
        ("import _ssl; del _ssl.__file__", "ssl is a part of the interpreter"),
    ],
)
def test_a_compiled_build_says_why_it_asks_by_ssl(change: str, why: str) -> None:
    asked = [sys.executable, "-c", ASK.format(change=change)]
    said = subprocess.run(asked, capture_output=True, text=True, check=True, env=os.environ.copy())
    assert said.stdout.startswith(f"TlsSession {why}")
