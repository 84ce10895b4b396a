"""A ClientHello is read for what it offers, whole or in parts, and nonsense offers nothing."""

from __future__ import annotations

import ssl

import pytest
from hypothesis import given
from hypothesis import strategies as st

from balancer.connections.clienthello import HELLO_BYTES_MAX, RECORDS_MOST, Hello, read_hello
from tests.properties import examples


def hello(*protocols: str, server_name: str = "shop.test") -> bytes:
    """What OpenSSL says first."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # the authorities of the machine take a hundredth of a second
    if protocols:
        context.set_alpn_protocols(list(protocols))
    outgoing = ssl.MemoryBIO()
    client = context.wrap_bio(ssl.MemoryBIO(), outgoing, server_hostname=server_name)
    with pytest.raises(ssl.SSLWantReadError):
        client.do_handshake()
    return outgoing.read()


def spread(said: bytes, count: int) -> bytes:
    """The same message in `count` records (RFC 8446 5.1)."""
    size = -(-len(said[5:]) // count)
    parts = [said[at : at + size] for at in range(5, len(said), size)]
    return b"".join(said[:3] + len(part).to_bytes(2, "big") + part for part in parts)


@pytest.mark.parametrize("protocols", [(), ("h2",), ("http/1.1",), ("h2", "http/1.1"), ("x" * 255, "h2")])
def test_the_protocols_of_a_real_client_are_read(protocols: tuple[str, ...]) -> None:
    said = hello(*protocols)
    told = tuple(name.encode() for name in protocols)
    assert read_hello(said) == read_hello(said + b"more") == Hello(len(said), told, "shop.test", True)


def test_a_part_tells_how_much_there_will_be() -> None:
    said = hello("h2")
    assert [read_hello(said[:count]).needs_bytes for count in range(5)] == [5] * 5
    assert {read_hello(said[:count]).needs_bytes for count in range(5, len(said))} == {len(said)}


@pytest.mark.parametrize(
    "said",
    [
        pytest.param(b"GET / HTTP/1.1\r\n", id="no TLS"),
        pytest.param(b"\x15\x03\x03\x00\x02\x02\x78", id="an alert"),
        pytest.param(b"\x16\x03\x01\xff\xff" + b"x" * 70_000, id="a record too long"),
        pytest.param(b"\x16\x03\x01\x00\x04\x02\x00\x00\x00", id="no ClientHello"),
        pytest.param(b"\x16\x03\x01\x00\x00", id="an empty record"),
    ],
)
def test_what_is_no_whole_hello_offers_nothing(said: bytes) -> None:
    assert read_hello(said).needs_bytes <= len(said)
    assert read_hello(said).protocols == ()


SAID = hello("h2", "http/1.1")


@examples(500)
@given(st.integers(0, len(SAID) - 1), st.binary(max_size=4), st.integers(0, 8))
def test_no_change_of_a_hello_is_more_than_nonsense(at: int, instead: bytes, dropped: int) -> None:
    read = read_hello(SAID[:at] + instead + SAID[at + dropped :])
    assert 0 <= read.needs_bytes <= HELLO_BYTES_MAX


@given(st.binary(max_size=200))
def test_any_bytes_are_read(data: bytes) -> None:
    assert 0 <= read_hello(b"\x16\x03\x01" + data).needs_bytes <= HELLO_BYTES_MAX


@pytest.mark.parametrize("name", ["shop.test", "a.b.shop.test", "x" * 60 + ".test"])
def test_the_name_of_a_real_client_is_read(name: str) -> None:
    assert read_hello(hello("http/1.1", server_name=name)).server_name == name


def test_a_name_that_is_not_ascii_is_none_and_the_protocols_stay() -> None:
    said = hello("h2").replace(b"shop.test", b"sh\xf6p.test")
    assert read_hello(said) == Hello(len(said), (b"h2",), None, True)


def test_lengths_that_contradict_each_other_say_nothing() -> None:
    said = hello("h2")
    for count in range(6, len(said)):  # the record ends early and says so
        shorter = said[:3] + (count - 5).to_bytes(2, "big") + said[5:count]
        assert read_hello(shorter) == Hello(count + 5)  # the next record may have the rest
        assert read_hello(shorter + b"\x17\x03\x03\x00\x00") == Hello(0)


@pytest.mark.parametrize("count", [2, 3, 20])
def test_a_hello_in_several_records_is_read(count: int) -> None:
    said = spread(hello("h2"), count)
    assert read_hello(said) == read_hello(said + b"more") == Hello(len(said), (b"h2",), "shop.test", True)
    assert {read_hello(said[:seen]).needs_bytes > seen for seen in range(len(said))} == {True}


def test_a_hello_in_too_many_records_or_bytes_is_read_by_nobody() -> None:
    said = hello("h2")
    assert read_hello(spread(said, 2 * RECORDS_MOST)) == Hello(0)
    large = b"\x01" + HELLO_BYTES_MAX.to_bytes(3, "big") + bytes(16_000)
    first = b"\x16\x03\x01" + len(large).to_bytes(2, "big") + large
    assert read_hello(first + b"\x16\x03\x01\x3f\xff") == Hello(0)


@examples(500)
@given(st.integers(0, len(SAID) - 1), st.binary(max_size=4), st.integers(0, 8))
def test_the_name_of_a_changed_hello_is_a_text_or_none(at: int, instead: bytes, dropped: int) -> None:
    name = read_hello(SAID[:at] + instead + SAID[at + dropped :]).server_name
    assert name is None or name.isascii()


@pytest.mark.parametrize("count", [0, 4, 5, 100, len(SAID) - 1])
def test_a_part_names_nobody(count: int) -> None:
    assert read_hello(SAID[:count]).server_name is None


def test_what_is_no_hello_names_nobody() -> None:
    assert read_hello(b"GET / HTTP/1.1\r\n").server_name is None
    assert read_hello(b"\x16\x03\x01\x00\x04\x02\x00\x00\x00").server_name is None
