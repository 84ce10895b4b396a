"""What trusted proxies say about a client: whom a chain of addresses leads to, and what is not believed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from balancer.http.origin import Origin
from balancer.matching.forwarded import ForwardedReader
from balancer.model.entry_points import HTTP, HTTPS
from balancer.model.settings import TrustedProxies
from tests.messages import request_head

EVERYBODY = ("0.0.0.0/0", "::/0")
INSIDE = ("10.0.0.0/8", "2001:db8::/32")


def recovered(
    *fields: tuple[str, str],
    networks: tuple[str, ...] = INSIDE,
    peer: str = "10.0.0.1",
    secure: bool = False,
    port: int | None = None,
    address_field: str = "x-forwarded-for",
    believes_all: bool = False,
    appends: bool = False,
) -> Origin:
    rules = TrustedProxies(networks, address_field, believes_all=believes_all, appends=appends)
    request = request_head(fields=tuple((name.encode(), value.encode()) for name, value in fields))
    return ForwardedReader(rules).origin_of(
        Origin(peer=peer, entry_point=HTTPS if secure else HTTP, port=port), request
    )


@pytest.mark.parametrize(
    ("chain", "client"),
    [
        ("1.2.3.4", "1.2.3.4"),
        ("5.5.5.5, 1.2.3.4", "1.2.3.4"),
        ("5.5.5.5, 1.2.3.4, 10.0.0.9", "1.2.3.4"),
        ("5.5.5.5 1.2.3.4\t10.0.0.9,,", "1.2.3.4"),
        ("10.0.0.7,10.0.0.9", "10.0.0.7"),
        ("1.2.3.4:5678", "1.2.3.4"),
        ("[2001:db9::1]:443", "2001:db9::1"),
        ("2001:DB9:0::1", "2001:db9::1"),
        ("::ffff:1.2.3.4", "1.2.3.4"),
        ("1.2.3.4, ::ffff:10.0.0.9", "1.2.3.4"),
        ("", "10.0.0.1"),
        (" , ", "10.0.0.1"),
        ("1.2.3.4, unknown", "10.0.0.1"),
        ("1.2.3.4, unknown, 10.0.0.9", "10.0.0.9"),
        ("1.2.3.4, _hidden", "10.0.0.1"),
        ("1.2.3.4, 1.2.3.04", "10.0.0.1"),
        ("1.2.3.4, fe80::1%eth0", "10.0.0.1"),
        ('1.2.3.4, "10.0.0.9"', "10.0.0.1"),
        ("1.2.3.4, [10.0.0.9]", "1.2.3.4"),
    ],
)
def test_the_client_is_the_first_address_from_the_right_that_is_no_trusted_proxy(chain: str, client: str) -> None:
    assert recovered(("x-forwarded-for", chain)).peer == client


def test_several_lines_are_one_list() -> None:
    assert recovered(("x-forwarded-for", "6.6.6.6"), ("x-forwarded-for", "1.2.3.4, 10.0.0.9")).peer == "1.2.3.4"


def test_with_everybody_trusted_the_leftmost_address_counts() -> None:
    assert recovered(("x-forwarded-for", "5.5.5.5, 1.2.3.4"), networks=EVERYBODY).peer == "5.5.5.5"


def test_only_so_many_addresses_are_read() -> None:
    chain = ", ".join(["5.5.5.5", *["1.2.3.4"] * 4000])
    assert recovered(("x-forwarded-for", chain), networks=EVERYBODY).peer == "1.2.3.4"


def test_another_field_may_list_the_addresses() -> None:
    fields = ("x-forwarded-for", "6.6.6.6"), ("cf-connecting-ip", "1.2.3.4")
    assert recovered(*fields, address_field="cf-connecting-ip").peer == "1.2.3.4"
    assert recovered(*fields, address_field="").peer == "10.0.0.1"


CLAIMS = (
    ("x-forwarded-for", "1.2.3.4"),
    ("x-forwarded-proto", "https"),
    ("x-forwarded-port", "1234"),
    ("x-forwarded-host", "other.test"),
)


@pytest.mark.parametrize("peer", ["192.0.2.1", "2001:db9::1", "11.0.0.1", "::ffff:192.0.2.1", "", "nonsense"])
def test_nothing_is_believed_of_a_peer_that_is_not_trusted(peer: str) -> None:
    rules = TrustedProxies(INSIDE, believes_all=True, appends=True)
    request = request_head(fields=tuple((name.encode(), value.encode()) for name, value in CLAIMS))
    origin = Origin(peer=peer, entry_point=HTTP)
    assert ForwardedReader(rules).origin_of(origin, request) is origin


def test_the_address_alone_may_be_believed() -> None:
    origin = recovered(*CLAIMS, secure=True)
    assert (origin.peer, origin.scheme, origin.https, origin.shown_port) == ("1.2.3.4", b"https", True, 443)
    assert (origin.host, origin.forwarded_for) == (b"", b"")
    assert not recovered(*CLAIMS).https


def test_scheme_port_and_host_may_be_believed_as_well() -> None:
    origin = recovered(*CLAIMS, believes_all=True)
    assert (origin.peer, origin.scheme, origin.https, origin.shown_port) == ("1.2.3.4", b"https", True, 1234)
    assert (origin.host, origin.forwarded_for) == (b"other.test", b"")


@pytest.mark.parametrize(
    ("said", "secure", "scheme", "https"),
    [
        ("https", False, b"https", True),
        ("http", True, b"http", False),
        ("HTTP", True, b"HTTP", False),
        ("ws", False, b"ws", False),
        ("wss", False, b"wss", True),
        ("https,http", False, b"https", True),
        ("http, https", False, b"http", False),
        ("myproto", False, b"myproto", True),
        ("", False, b"http", False),
        ("https evil", False, b"http", False),
        ("https\x00", False, b"http", False),
        ("h" * 99, False, b"http", False),
        ("", True, b"https", True),
    ],
)
def test_a_scheme_other_than_plain_http_is_not_redirected(said: str, secure: bool, scheme: bytes, https: bool) -> None:
    origin = recovered(("x-forwarded-proto", said), secure=secure, believes_all=True)
    assert (origin.scheme, origin.https) == (scheme, https)


def test_port_443_of_a_proxy_header_means_https_whatever_a_field_says() -> None:
    origin = recovered(("x-forwarded-proto", "http"), port=443, believes_all=True)
    assert (origin.scheme, origin.https, origin.shown_port) == (b"https", True, 443)


@pytest.mark.parametrize(
    ("said", "port", "shown"),
    [
        ("1234", None, 1234),
        ("1234, 80", None, 1234),
        ("0", None, 80),
        ("65536", None, 80),
        ("-1", None, 80),
        ("80a", None, 80),
        ("", 8080, 8080),
        ("99", 8080, 99),
    ],
)
def test_a_port_is_a_number_or_not_believed(said: str, port: int | None, shown: int) -> None:
    assert recovered(("x-forwarded-port", said), port=port, believes_all=True).shown_port == shown


def test_without_a_port_that_of_the_listener_is_shown_whatever_the_scheme() -> None:
    assert recovered(("x-forwarded-proto", "https"), believes_all=True).shown_port == 80


@pytest.mark.parametrize(
    ("said", "host"),
    [
        ("other.test", b"other.test"),
        ("Other.test:8443", b"Other.test:8443"),
        ("myhost.com, another.host,example.net", b"myhost.com"),
        ("[2001:db8::1]:80", b"[2001:db8::1]:80"),
        ("", b""),
        ("a b", b""),
        ("evil.test/path", b""),
        ("user@evil.test", b""),
        ("evil.test\r\nX: 1", b""),
        ("a" * 300, b""),
    ],
)
def test_a_host_is_a_name_or_an_address_or_not_believed(said: str, host: bytes) -> None:
    assert recovered(("x-forwarded-host", said), believes_all=True).host == host


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        ((), b"10.0.0.1"),
        (("1.2.3.4",), b"1.2.3.4, 10.0.0.1"),
        (("5.5.5.5, 1.2.3.4", "10.0.0.9"), b"5.5.5.5, 1.2.3.4, 10.0.0.9, 10.0.0.1"),
        (("",), b"10.0.0.1"),
    ],
)
def test_the_whole_list_with_the_proxy_appended(before: tuple[str, ...], expected: bytes) -> None:
    fields = [("x-forwarded-for", value) for value in before]
    assert recovered(*fields, believes_all=True, appends=True).forwarded_for == expected


OCTETS = st.sampled_from(["10.0.0.1", "10.9.9.9", "1.2.3.4", "5.6.7.8", "nonsense", "2001:db8::1", "2001:db9::1"])


@given(st.lists(OCTETS, max_size=8), st.lists(OCTETS, max_size=4))
def test_what_a_client_writes_before_an_untrusted_address_changes_nothing(forged: list[str], rest: list[str]) -> None:
    chain = ["1.2.3.4", *rest]
    honest = recovered(("x-forwarded-for", ", ".join(chain))).peer
    assert recovered(("x-forwarded-for", ", ".join([*forged, *chain]))).peer == honest
