"""Requests of HTTP/2 as the same heads that HTTP/1 would make of them."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from balancer.errors import ErrorKind, Refusal
from balancer.http.messages import Fields, RequestHead
from balancer.http1.heads import RequestHeadReader
from balancer.http2.fields import MalformedMessage
from balancer.http2.requests import RequestReader
from balancer.model.settings import ProxySettings
from tests.unit.balancer.http2.pairs import GET, POST


def reader() -> RequestReader:
    return RequestReader(field_bytes=8192, fields_max=128, list_bytes=65_536)


def read(fields: Fields, ends: bool = True) -> RequestHead:
    return reader().read(fields, ends)


def refused(fields: Fields, ends: bool = True) -> Refusal:
    with pytest.raises(Refusal) as refusal:
        read(fields, ends)
    return refusal.value


def get(path: bytes = b"/", *fields: tuple[bytes, bytes], method: bytes = b"GET", host: bytes = b"app.test") -> Fields:
    return ((b":method", method), (b":scheme", b"https"), (b":authority", host), (b":path", path), *fields)


def test_a_request_has_the_facts_of_its_pseudo_fields() -> None:
    head = read(get(b"/a//b?c=%20", (b"accept", b"*/*"), host=b"App.Test:443"))
    assert (head.method, head.authority, head.host_name) == (b"GET", b"App.Test:443", b"app.test")
    assert (head.path, head.target, head.raw_target) == (b"/a/b", b"/a//b?c=%20", b"/a//b?c=%20")
    assert (head.fields, head.body_bytes, head.protocol) == (((b"accept", b"*/*"),), 0, "HTTP/2.0")


@pytest.mark.parametrize(
    "fields",
    [
        GET[:-1],
        GET[1:],
        (GET[0], *GET[2:]),
        (*GET, (b":path", b"/smuggled")),
        (*GET, (b":authority", b"victim.test")),
        (*GET, (b":unknown", b"1")),
        (*GET[:3], (b"x-a", b"1"), GET[3]),
        get(b""),
        (GET[0], (b":scheme", b"https://victim.test/smuggled?"), *GET[2:]),
        ((b":method", b""), *GET[1:]),
        get(b"/", (b"X-A", b"1")),
        (*GET, (b"content-length", b"5")),
    ],
)
def test_a_malformed_request_is_told_apart(fields: Fields) -> None:
    assert isinstance(refused(fields), MalformedMessage)


@pytest.mark.parametrize(
    ("fields", "kind"),
    [
        (get(b"x"), ErrorKind.BAD_REQUEST),
        (get(b"*"), ErrorKind.BAD_REQUEST),
        (get(b"/a b"), ErrorKind.BAD_REQUEST),
        (get(b"/a#b"), ErrorKind.BAD_REQUEST),
        (get(b"/../a"), ErrorKind.BAD_REQUEST),
        (get(b"http://victim.test/"), ErrorKind.BAD_REQUEST),
        (get(host=b"app.test\r\nx-evil: 1"), ErrorKind.BAD_REQUEST),
        (get(host=b"user@app.test"), ErrorKind.BAD_REQUEST),
        (get(host=b""), ErrorKind.BAD_REQUEST),
        ((*GET[:2], GET[3]), ErrorKind.BAD_REQUEST),
        (get(b"/", (b"host", b"victim.test")), ErrorKind.BAD_REQUEST),
        (get(b"/", (b"host", b"app.test"), (b"host", b"app.test")), ErrorKind.BAD_REQUEST),
        (((b":method", b"CONNECT"), (b":authority", b"app.test:443")), ErrorKind.METHOD_NOT_ALLOWED),
        (get(method=b"TRACE"), ErrorKind.METHOD_NOT_ALLOWED),
        (get(b"/", (b"expect", b"200-ok")), ErrorKind.EXPECTATION_FAILED),
        (get(b"/", (b"max-forwards", b"0"), method=b"OPTIONS"), ErrorKind.METHOD_NOT_ALLOWED),
        (get(b"/" + b"a" * 8192), ErrorKind.TARGET_TOO_LONG),
        (get(b"/", (b"x-a", b"a" * 8192)), ErrorKind.HEAD_TOO_LARGE),
        (get(b"/", *[(b"x-a", b"a" * 8000)] * 9), ErrorKind.HEAD_TOO_LARGE),
        (get(b"/", *[(b"x-a", b"")] * 129), ErrorKind.HEAD_TOO_LARGE),
        (get(b"/", (b"cdn-loop", b"zonal, a, zonal"), *[(b"cdn-loop", b"zonal")] * 8), ErrorKind.LOOP),
    ],
)
def test_a_request_is_refused_as_in_http1(fields: Fields, kind: ErrorKind) -> None:
    assert refused(fields).kind is kind


def test_how_often_a_request_has_passed_goes_on() -> None:
    fields = [(b"cdn-loop", b"zonal")] * 9
    assert read(get(b"/", *fields)).fields == tuple(fields)


def test_host_may_stand_in_for_the_authority_and_must_agree_with_it() -> None:
    assert read((*GET[:2], GET[3], (b"host", b"app.test"))).authority == b"app.test"
    head = read(get(b"/", (b"host", b"APP.test")))
    assert (head.authority, head.fields) == (b"app.test", ())


def test_the_pieces_of_a_cookie_become_one() -> None:
    head = read(get(b"/", (b"cookie", b"a=1"), (b"x-a", b"1"), (b"cookie", b"b=2")))
    assert head.fields == ((b"cookie", b"a=1; b=2"), (b"x-a", b"1"))
    assert len(read(get(b"/", *[(b"cookie", b"a=1")] * 200)).fields) == 1


def test_an_empty_piece_of_a_cookie_leaves_no_space_at_its_ends() -> None:
    """It would be a malformed field to an HTTP/2 endpoint, and white space behind the value to an HTTP/1 one."""
    crumbs = ((b"cookie", b""), (b"cookie", b"a=1"), (b"cookie", b"b=2"), (b"cookie", b""))
    assert read(get(b"/", *crumbs)).fields == ((b"cookie", b"a=1; b=2"),)


@pytest.mark.parametrize(
    ("lengths", "ends", "body_bytes"),
    [((), True, 0), ((), False, None), ((b"5",), False, 5), ((b"0",), True, 0), ((b"0",), False, 0)],
)
def test_a_body_has_a_known_length_or_ends_with_its_stream(
    lengths: tuple[bytes, ...], ends: bool, body_bytes: int | None
) -> None:
    assert read((*POST, *((b"content-length", length) for length in lengths)), ends).body_bytes == body_bytes


def test_an_expectation_is_a_fact_and_no_field() -> None:
    head = read((*POST, (b"expect", b"100-continue")), False)
    assert head.expects_continue
    assert head.fields == ()


def facts(read_one: Any) -> object:
    """What a reader makes of a request: all but what is remembered beside it, or how it is refused."""
    try:
        head = msgspec.structs.asdict(read_one())
    except Refusal as refusal:
        return type(refusal), refusal.kind
    return {**head, "repeated": head["repeated"].request_id}


NAMES = st.sampled_from([b"accept", b"x-a", b"cookie", b"x-request-id", b"content-length", b"host", b"expect", b"te"])
VALUES = st.sampled_from([b"", b"1", b"0", b"app.test", b"a=b", b"100-continue", b"trailers", b" x", b"y" * 5000])
PATHS = st.sampled_from(
    [b"/", b"/a", b"/a?b", b"//", b"/./b", b"/%41", b"/caf\xe9", b"*", b"", b"/a b", b"/" + b"a" * 9000]
)
METHODS = st.sampled_from([b"GET", b"POST", b"OPTIONS", b"HEAD", b"CONNECT"])
REQUESTS = st.builds(
    lambda method, path, host, fields, order: (
        tuple(order) + tuple(fields) if order else get(path, *fields, method=method, host=host)
    ),
    METHODS,
    PATHS,
    st.sampled_from([b"app.test", b"b.test", b""]),
    st.lists(st.tuples(NAMES, VALUES), max_size=4),
    st.one_of(st.just([]), st.permutations(GET)),
)


@given(st.lists(st.tuples(REQUESTS, st.booleans()), max_size=12))
def test_nothing_of_one_request_reaches_another(requests: list[tuple[Fields, bool]]) -> None:
    """A reader that remembers says what one says that has read nothing before."""
    remembering = reader()
    for fields, ends in [each for request in requests for each in (request, request)]:
        told = facts(lambda fields=fields, ends=ends: remembering.read(fields, ends))
        assert told == facts(lambda fields=fields, ends=ends: read(fields, ends))


LINES = st.lists(
    st.tuples(st.sampled_from([b"accept", b"x-a", b"max-forwards"]), st.sampled_from([b"1", b"0", b"b c"]))
)


@given(METHODS, PATHS.filter(lambda path: len(path) < 8000 and b" " not in path and path), LINES)
def test_http1_says_the_same_of_the_same_request(method: bytes, path: bytes, lines: list[tuple[bytes, bytes]]) -> None:
    head = b"%b %b HTTP/1.1\r\nHost: app.test\r\n%b\r\n" % (
        method,
        path,
        b"".join(b"%b: %b\r\n" % each for each in lines),
    )
    in_lines = facts(lambda: RequestHeadReader(ProxySettings()).read(head))
    in_fields = facts(lambda: read(get(path, *lines, method=method)))
    if isinstance(in_lines, dict) and isinstance(in_fields, dict):
        for fact in ("protocol", "head_bytes"):
            in_lines[fact] = in_fields[fact] = None
    elif isinstance(in_fields, tuple) and isinstance(in_lines, tuple):
        in_lines, in_fields = in_lines[1], in_fields[1]
    assert in_lines == in_fields


def test_a_head_that_was_recognised_shares_what_repeats() -> None:
    remembering = reader()
    first, second = remembering.read(get(b"/a"), True), remembering.read(get(b"/b?c"), True)
    assert first.repeated is second.repeated
    assert (second.path, second.target, second.raw_target) == (b"/b", b"/b?c", b"/b?c")
    assert second.head_bytes - first.head_bytes == 2
    assert remembering.read(get(b"/a"), True) is first


def test_a_longer_target_of_a_remembered_request_keeps_to_the_limit_of_all_fields() -> None:
    reading = RequestReader(field_bytes=8192, fields_max=128, list_bytes=4096)
    reading.read(get(b"/"), ends=True)
    with pytest.raises(Refusal) as refusal:
        reading.read(get(b"/" + b"a" * 5000), ends=True)
    assert refusal.value.kind is ErrorKind.HEAD_TOO_LARGE


def test_what_is_remembered_of_many_connections_shares_the_names_that_most_requests_have() -> None:
    requests = [reader().read((*get(b"/"), (b"".join((b"user-", b"agent")), b"curl")), True) for _ in range(2)]
    (first,), (second,) = (request.fields for request in requests)
    assert first == second == (b"user-agent", b"curl")
    assert first[0] is second[0]
