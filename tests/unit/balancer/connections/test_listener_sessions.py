"""A session of a listener reads and writes as one of Python's ssl does, also where nothing is there to read."""

from __future__ import annotations

import ssl
from contextlib import suppress

import pytest

from balancer.connections.listener_sessions import ListenerSession
from balancer.connections.tls import make_context, self_signed


class Pair:
    """A client and the server side, after their handshake."""

    def __init__(self, version: ssl.TLSVersion) -> None:
        trusting = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
        trusting.maximum_version = version
        self.to_server, self.to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.client = trusting.wrap_bio(self.to_client, self.to_server)
        self.server = make_context(self_signed()).wrap_bio(self.to_server, self.to_client, server_side=True)
        for end in (self.client, self.server, self.client, self.server):
            with suppress(ssl.SSLWantReadError):
                end.do_handshake()


@pytest.fixture(params=[ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def pair(request: pytest.FixtureRequest) -> Pair:
    return Pair(request.param)


def test_nothing_to_read_is_said_as_ssl_says_it(pair: Pair) -> None:
    assert isinstance(pair.server, ListenerSession)
    with pytest.raises(ssl.SSLWantReadError):
        pair.server.read()
    with pytest.raises(ssl.SSLWantReadError):
        pair.server.read(10, bytearray(10))


def test_what_came_is_read_in_parts_and_as_a_whole(pair: Pair) -> None:
    pair.client.write(b"a request")
    assert pair.server.read(2) == b"a "
    assert pair.server.pending() == 7
    buffer = bytearray(10)
    pair.server.read(10, buffer)
    assert buffer == b"request\0\0\0"
    with pytest.raises(ssl.SSLWantReadError):
        pair.server.read()


def test_a_record_that_comes_in_two_parts_is_read_when_it_is_whole(pair: Pair) -> None:
    pair.client.write(b"a request")
    record = pair.to_server.read()
    for part in (record[:3], record[3:-1]):
        pair.to_server.write(part)
        with pytest.raises(ssl.SSLWantReadError):
            pair.server.read()
    pair.to_server.write(record[-1:])
    assert pair.server.read() == b"a request"


def test_the_end_that_follows_data_is_read_after_it(pair: Pair) -> None:
    pair.client.write(b"a request")
    with pytest.raises(ssl.SSLWantReadError):
        pair.client.unwrap()
    assert pair.server.read() == b"a request"
    assert pair.server.read() == b""


def test_what_is_written_reaches_the_client(pair: Pair) -> None:
    assert pair.server.write(b"an answer") == 9
    assert pair.client.read() == b"an answer"
