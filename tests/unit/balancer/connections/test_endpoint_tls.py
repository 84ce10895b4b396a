"""A handshake with an endpoint demands what its backend says; `test_tls` has what is checked on the wire."""

from __future__ import annotations

import ssl

import pytest

from balancer.connections.endpoint_tls import endpoint_name, make_endpoint_context, make_raw_context, shared_demands
from balancer.model.handshakes import Handshake


@pytest.mark.parametrize(
    ("context", "protocols"),
    [
        (make_endpoint_context(Handshake(), False), b"http/1.1"),
        (make_endpoint_context(Handshake(), True), b"h2"),
        (make_raw_context(Handshake(), False), b""),
    ],
)
def test_each_way_to_speak_offers_its_protocol(context: ssl.SSLContext, protocols: bytes) -> None:
    outgoing = ssl.MemoryBIO()
    client = context.wrap_bio(ssl.MemoryBIO(), outgoing, server_hostname="a.test")
    with pytest.raises(ssl.SSLWantReadError):
        client.do_handshake()
    said = outgoing.read()
    assert [each for each in (b"http/1.1", b"\x02h2") if each in said] == (
        [] if not protocols else [b"\x02h2"] if protocols == b"h2" else [b"http/1.1"]
    )


def test_names_do_not_make_another_context() -> None:
    one, other = Handshake(server_name="a.test"), Handshake(server_name="b.test", follows_client=True)
    assert shared_demands(one) == shared_demands(other)
    assert (endpoint_name(one, "192.0.2.1"), endpoint_name(Handshake(), "192.0.2.1")) == ("a.test", "")
