"""PROXY headers: both versions, whole or in pieces, and nothing that only looks like one."""

from __future__ import annotations

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from balancer.connections.proxyprotocol import (
    HEADER_BYTES_MAX,
    InvalidHeader,
    ProxyHeader,
    proxy_line,
    read_proxy_header,
)

SIGNATURE = b"\r\n\r\n\x00\r\nQUIT\n"


def v2(command: int, family: int, payload: bytes) -> bytes:
    return SIGNATURE + bytes((command, family)) + len(payload).to_bytes(2, "big") + payload


def addresses(source: str, port: int = 80) -> bytes:
    packed = ipaddress.ip_address(source).packed
    return packed + packed + b"\x12\x34" + port.to_bytes(2, "big")


VALID = [
    (b"PROXY TCP4 192.0.2.7 198.51.100.1 56324 443\r\n", "192.0.2.7", 443),
    (b"PROXY TCP6 2001:DB8::7 2001:db8::1 0 65535\r\n", "2001:db8::7", 65535),
    (b"PROXY TCP6 ::ffff:192.0.2.7 ::1 1 2\r\n", "192.0.2.7", 2),
    (b"PROXY UNKNOWN\r\n", None, None),
    (b"PROXY UNKNOWN ffff::1 ffff::2 65535 65535\r\n", None, None),
    (v2(0x21, 0x11, addresses("192.0.2.7")), "192.0.2.7", 80),
    (v2(0x21, 0x21, addresses("2001:db8::7")), "2001:db8::7", 80),
    (v2(0x21, 0x21, addresses("::ffff:192.0.2.7")), "192.0.2.7", 80),
    (v2(0x21, 0x11, addresses("192.0.2.7") + b"\x04\x00\x03any"), "192.0.2.7", 80),
    (v2(0x21, 0x31, b"\x00" * 216), None, None),
    (v2(0x21, 0x00, b""), None, None),
    (v2(0x20, 0x11, addresses("192.0.2.7")), None, None),
    (v2(0x20, 0x00, b""), None, None),
    (v2(0x21, 0x11, addresses("192.0.2.7") + bytes(HEADER_BYTES_MAX - 28)), "192.0.2.7", 80),
]

INVALID = [
    b"GET / HTTP/1.1\r\n\r\n",
    b"\x16\x03\x01\x02\x00\x01\x00",
    b"PROXY\tTCP4 192.0.2.7 198.51.100.1 1 2\r\n",
    b"proxy TCP4 192.0.2.7 198.51.100.1 1 2\r\n",
    b"PROXY TCP4 192.0.2.7  198.51.100.1 1 2\r\n",
    b"PROXY TCP4 192.0.2.7 198.51.100.1 1 2 \r\n",
    b"PROXY TCP4 192.0.2.7 198.51.100.1 01 2\r\n",
    b"PROXY TCP4 192.0.2.7 198.51.100.1 1 65536\r\n",
    b"PROXY TCP4 192.0.2.7 198.51.100.1 1\r\n",
    b"PROXY TCP4 192.0.2.07 198.51.100.1 1 2\r\n",
    b"PROXY TCP4 192.0.2.7 nowhere 1 2\r\n",
    b"PROXY TCP4 2001:db8::7 2001:db8::1 1 2\r\n",
    b"PROXY TCP6 192.0.2.7 198.51.100.1 1 2\r\n",
    b"PROXY TCP6 fe80::1%eth0 2001:db8::1 1 2\r\n",
    b"PROXY TCP4 \xff \xff 1 2\r\n",
    b"PROXY UDP4 192.0.2.7 198.51.100.1 1 2\r\n",
    b"PROXY UNKNOWN\n\r\n",
    b"PROXY UNKNOWN" + b" " * 100 + b"\r\n",
    v2(0x11, 0x11, addresses("192.0.2.7")),
    v2(0x22, 0x11, addresses("192.0.2.7")),
    v2(0x21, 0x13, addresses("192.0.2.7")),
    v2(0x21, 0x41, addresses("192.0.2.7")),
    v2(0x21, 0x11, addresses("192.0.2.7")[:-1]),
    v2(0x21, 0x21, addresses("192.0.2.7")),
    v2(0x21, 0x11, bytes(HEADER_BYTES_MAX - 15)),
]


@pytest.mark.parametrize(("data", "address", "port"), VALID)
def test_a_header_gives_the_clients_address_and_the_port_it_asked_or_leaves_those_of_the_connection(
    data: bytes, address: str | None, port: int | None
) -> None:
    assert read_proxy_header(data + b"GET / HTTP/1.1\r\n\r\n") == ProxyHeader(len(data), address, port)


@pytest.mark.parametrize("data", [data for data, _, _ in VALID])
def test_no_part_of_a_header_is_one(data: bytes) -> None:
    assert {read_proxy_header(data[:cut]) for cut in range(len(data))} == {None}


@pytest.mark.parametrize("data", INVALID)
def test_what_is_no_header_is_refused_without_being_quoted(data: bytes) -> None:
    with pytest.raises(InvalidHeader) as refused:
        read_proxy_header(data)
    assert "192.0.2" not in str(refused.value)


def outcome(data: bytes, cuts: list[int]) -> ProxyHeader | str | None:
    """What becomes of `data` that comes in pieces: the first verdict counts."""
    try:
        for cut in [*sorted(cuts), len(data)]:
            if header := read_proxy_header(data[:cut]):
                return header
    except InvalidHeader as refused:
        return str(refused)
    return None


MUTATED = st.builds(
    lambda whole, place, noise: whole[:place] + noise + whole[place + len(noise) :],
    st.sampled_from([data for data, _, _ in VALID[:-1]] + INVALID[:-1]),
    st.integers(0, 60),
    st.binary(max_size=3),
)


@given(data=MUTATED | st.binary(max_size=40), cuts=st.lists(st.integers(0, 260), max_size=6))
def test_the_outcome_is_the_same_however_the_bytes_are_cut(data: bytes, cuts: list[int]) -> None:
    cuts = [min(cut, len(data)) for cut in cuts]
    assert outcome(data, cuts) == outcome(data, [])


@given(st.ip_addresses(), st.integers(0, 65535), st.binary(max_size=30))
def test_every_address_and_port_comes_through_both_versions(
    address: ipaddress.IPv4Address, port: int, rest: bytes
) -> None:
    family, name = (0x11, b"TCP4") if address.version == 4 else (0x21, b"TCP6")
    line = b"PROXY %b %b %b 1 %d\r\n" % (name, str(address).encode(), str(address).encode(), port)
    expected = str(getattr(address, "ipv4_mapped", None) or address)
    for whole in (line, v2(0x21, family, addresses(str(address), port))):
        if "%" not in str(address):
            assert read_proxy_header(whole + rest) == ProxyHeader(len(whole), expected, port)


@pytest.mark.parametrize(
    ("source", "target", "line"),
    [
        (("192.0.2.7", 4321), ("198.51.100.1", 443), b"PROXY TCP4 192.0.2.7 198.51.100.1 4321 443\r\n"),
        (("2001:db8::7", 1), ("2001:db8::1", 2), b"PROXY TCP6 2001:db8::7 2001:db8::1 1 2\r\n"),
        (("192.0.2.7", 1), ("2001:db8::1", 2), b"PROXY TCP6 ::ffff:192.0.2.7 2001:db8::1 1 2\r\n"),
        (("", 1), ("192.0.2.1", 2), b"PROXY UNKNOWN\r\n"),
    ],
)
def test_a_line_of_version_1_says_what_it_was_told(
    source: tuple[str, int], target: tuple[str, int], line: bytes
) -> None:
    assert proxy_line(source, target) == line
    assert read_proxy_header(line) is not None
