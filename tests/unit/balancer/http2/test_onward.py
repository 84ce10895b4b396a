"""Requests on their way to an HTTP/2 endpoint: they say what HTTP/1 would say."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from balancer.http.messages import Fields, RequestHead
from balancer.http.origin import Origin
from balancer.http.passing import passing
from balancer.http.streams import Outgoing
from balancer.http1.fields import endpoint_request_head
from balancer.http1.heads import RequestHeadReader
from balancer.http2.onward import endpoint_request_fields
from balancer.http2.requests import RequestReader
from balancer.model.entry_points import HTTPS
from balancer.model.settings import ProxySettings
from tests.messages import PLAIN
from tests.unit.balancer.http2.pairs import GET, POST


def request(*fields: tuple[bytes, bytes], ends: bool = True, first: Fields = GET) -> RequestHead:
    return RequestReader(field_bytes=8192, fields_max=128, list_bytes=65_536).read((*first, *fields), ends)


def lines(*lines: bytes, line: bytes = b"GET / HTTP/1.1") -> RequestHead:
    return RequestHeadReader(ProxySettings()).read(b"\r\n".join((line, b"Host: app.test", *lines)) + b"\r\n\r\n")


def named(fields: Fields) -> dict[bytes, bytes]:
    assert len(dict(fields)) == len(fields)
    return dict(fields)


def test_pseudo_fields_come_first_and_the_scheme_is_that_of_the_connection() -> None:
    fields = endpoint_request_fields(Outgoing(request(), PLAIN), True)
    assert fields[:4] == ((b":method", b"GET"), (b":scheme", b"https"), (b":authority", b"app.test"), (b":path", b"/"))
    assert endpoint_request_fields(Outgoing(request(), PLAIN), False)[1] == (b":scheme", b"http")


def test_trailers_are_announced_to_the_endpoint() -> None:
    assert named(endpoint_request_fields(Outgoing(request((b"te", b"Trailers")), PLAIN), False))[b"te"] == b"trailers"
    assert b"te" not in named(endpoint_request_fields(Outgoing(lines(b"TE: gzip"), PLAIN), False))


def test_what_http1_says_about_its_connection_ends_here() -> None:
    head = lines(b"Connection: close, X-Hop", b"X-Hop: 1", b"Upgrade: websocket", b"Keep-Alive: a", b"X-Kept: 1")
    fields = named(endpoint_request_fields(Outgoing(head, PLAIN, connection=b"close"), False))
    assert not fields.keys() & {b"connection", b"x-hop", b"upgrade", b"keep-alive", b"transfer-encoding"}
    assert fields[b"x-kept"] == b"1"


@pytest.mark.parametrize(
    ("method", "body_bytes", "length"),
    [(b"GET", 0, None), (b"POST", 0, b"0"), (b"POST", 7, b"7"), (b"POST", None, None), (b"DELETE", 3, b"3")],
)
def test_a_known_length_is_told(method: bytes, body_bytes: int | None, length: bytes | None) -> None:
    head = msgspec.structs.replace(request(), method=method, body_bytes=body_bytes)
    assert named(endpoint_request_fields(Outgoing(head, PLAIN), False)).get(b"content-length") == length


def test_fields_of_one_request_are_added_removed_and_replaced_and_not_remembered() -> None:
    head = request((b"x-a", b"1"), (b"x-b", b"2"))
    changed = Outgoing(
        head,
        PLAIN,
        host=b"other.test",
        added=((b"X-C", b"3"), (b"X-A", b"9"), (b"Host", b"set.test")),
        removed=frozenset((b"x-b",)),
        replaced=frozenset((b"x-a", b"host", b"x-real-ip")),
    )
    fields = named(endpoint_request_fields(changed, False))
    assert (fields[b":authority"], fields[b"x-a"], fields[b"x-c"]) == (b"set.test", b"9", b"3")
    assert not fields.keys() & {b"x-b", b"host", b"x-real-ip"}
    plain = named(endpoint_request_fields(Outgoing(head, PLAIN), False))
    assert (plain[b"x-a"], plain[b"x-b"], plain[b":authority"]) == (b"1", b"2", b"app.test")


def test_a_request_id_is_added_unless_the_client_sent_one() -> None:
    assert named(endpoint_request_fields(Outgoing(request(), PLAIN, b"ours"), False))[b"x-request-id"] == b"ours"
    theirs = request((b"x-request-id", b"theirs"))
    assert named(endpoint_request_fields(Outgoing(theirs, PLAIN, b"ours"), False))[b"x-request-id"] == b"theirs"


def test_fields_that_must_never_be_indexed_stay_so() -> None:
    """RFC 7541 7.1.3: the engine marks them by their type."""

    class Marked(tuple[bytes, bytes]):
        __slots__ = ()

    fields = endpoint_request_fields(Outgoing(request(Marked((b"x-secret", b"1"))), PLAIN), False)
    assert [type(field) for field in fields if field[0] == b"x-secret"] == [Marked]


NAMES = st.sampled_from(
    b"accept x-a x_a x.a forwarded x-forwarded-for proxy cookie te x-forwarded-user x_forwarded_user true-client-ip "
    b"ssl-client-s-dn".split()
)
FIELDS = st.lists(st.tuples(NAMES, st.sampled_from([b"1", b"trailers"])), max_size=6, unique_by=lambda field: field[0])


@given(
    fields=FIELDS,
    underscores=st.booleans(),
    kept=st.sampled_from([(), ("x-forwarded-user", "true-client-ip")]),
    trusts=st.booleans(),
    removed=st.frozensets(st.sampled_from([b"accept", b"x-a"])),
    replaced=st.frozensets(st.sampled_from([b"x-a", b"x-real-ip", b"cookie"])),
    host=st.sampled_from([None, b"other.test"]),
    method=st.sampled_from([b"GET", b"POST"]),
)
def test_an_endpoint_hears_the_same_in_both_versions(
    *,
    fields: list[tuple[bytes, bytes]],
    underscores: bool,
    kept: tuple[str, ...],
    trusts: bool,
    removed: frozenset[bytes],
    replaced: frozenset[bytes],
    host: bytes | None,
    method: bytes,
) -> None:
    fields = [field for field in fields if field != (b"te", b"1")]
    head = request(*fields, first=POST if method == b"POST" else GET)
    origin = Origin(peer="192.0.2.9", entry_point=HTTPS)
    rules = passing(underscores, kept, trusts=trusts)
    going = Outgoing(head, origin, b"id", host, rules, added=((b"X-New", b"1"),), removed=removed, replaced=replaced)
    first, *said = endpoint_request_head(going)[:-4].split(b"\r\n")
    in_lines = {name.lower(): value for name, _, value in (line.partition(b": ") for line in said)}
    in_fields = named(endpoint_request_fields(going, False))
    in_fields.pop(b"te", None)
    method_, path = in_fields.pop(b":method"), in_fields.pop(b":path")
    assert (b"%b %b HTTP/1.1" % (method_, path), in_fields.pop(b":scheme")) == (first, b"http")
    in_fields[b"host"] = in_fields.pop(b":authority")
    assert in_fields == in_lines


WAYS = st.tuples(
    st.booleans(), st.booleans(), st.frozensets(st.sampled_from([b"x-a"])), st.sampled_from([b"", b"f.test"])
)


@given(st.lists(WAYS))
def test_what_is_remembered_of_a_head_is_what_would_be_made_anew(
    ways: list[tuple[bool, bool, frozenset[bytes], bytes]],
) -> None:
    fields = ((b"x-a", b"1"), (b"x_b", b"2"), (b"x-forwarded-user", b"3"))
    remembered = request(*fields)
    for underscores, trusts, removed, host in ways:
        origin = Origin(peer="192.0.2.9", entry_point=HTTPS)
        origin.host = host
        made = [
            endpoint_request_fields(
                Outgoing(head, origin, passing=passing(underscores, trusts=trusts), removed=removed), False
            )
            for head in (remembered, request(*fields))
        ]
        assert made[0] == made[1]
