"""Compression: which responses, what it changes about their heads, and bodies that come out as they went in."""

from __future__ import annotations

import zlib

import pytest

from balancer.http.compression import Coded, Compressor, accepted_codings
from balancer.http.messages import HTTP_1_0, Fields, RequestHead, ResponseHead
from balancer.model.settings import Compression
from tests.questions import question_of

JSON: Fields = ((b"content-type", b"application/json; charset=utf-8"),)
SETTINGS = Compression(types=("application/json",))
VARY = (b"Vary", b"Accept-Encoding")
CODED = (b"Content-Encoding", b"gzip")


def request(*fields: str) -> RequestHead:
    return question_of("http://shop.test/", fields or ["Accept-Encoding: gzip"]).request


def changed(name: str, value: object) -> RequestHead:
    """A request that accepts gzip, with another method or protocol."""
    head = request()
    return RequestHead(**{each: getattr(head, each) for each in head.__struct_fields__} | {name: value})


def coded(
    *more: tuple[bytes, bytes],
    status: int = 200,
    size: int | None = 256,
    fields: Fields = JSON,
    settings: Compression = SETTINGS,
    asked: RequestHead | None = None,
) -> Coded | None:
    head = ResponseHead(status, (*fields, *more), size, b"")
    return Compressor(settings).code(asked or request(), head)


def test_a_response_is_compressed_and_says_so() -> None:
    change = coded()
    assert change is not None
    assert change.body is not None
    assert change.added == (CODED, VARY)
    assert change.removed == {b"accept-ranges"}


@pytest.mark.parametrize(("tag", "weak"), [(b'"a"', b'W/"a"'), (b'W/"a"', b'W/"a"')])
def test_a_tag_becomes_a_weak_one(tag: bytes, weak: bytes) -> None:
    change = coded((b"etag", tag))
    assert change is not None
    assert change.removed == {b"accept-ranges", b"etag"}
    assert change.added == (CODED, (b"ETag", weak), VARY)


@pytest.mark.parametrize("vary", [b"Accept-Encoding", b"Cookie, accept-encoding", b"*"])
def test_a_vary_that_says_it_already_is_enough(vary: bytes) -> None:
    change = coded((b"vary", vary))
    assert change is not None
    assert change.added == (CODED,)


@pytest.mark.parametrize("status", [200, 403, 404])
def test_these_statuses_are_compressed(status: int) -> None:
    assert coded(status=status) is not None


@pytest.mark.parametrize("status", [201, 204, 206, 301, 304, 400, 500, 503])
def test_other_statuses_are_left_alone(status: int) -> None:
    assert coded(status=status) is None


@pytest.mark.parametrize(("size", "expected"), [(0, False), (255, False), (256, True), (None, True)])
def test_the_least_length_counts_where_the_length_is_known(size: int | None, expected: bool) -> None:
    assert (coded(size=size) is not None) is expected


def test_an_empty_body_is_never_compressed() -> None:
    assert coded(size=0, settings=Compression(min_bytes=0, types=("*",))) is None


@pytest.mark.parametrize(
    ("kind", "types", "expected"),
    [
        (b"application/json", ("application/json",), True),
        (b"Application/JSON ; charset=utf-8", ("application/json",), True),
        (b"application/xml", ("application/json",), False),
        (b"text/html", (), True),
        (b"image/png", ("*",), True),
    ],
)
def test_listed_types_are_compressed_and_html_always(kind: bytes, types: tuple[str, ...], expected: bool) -> None:
    change = coded(fields=((b"content-type", kind),), settings=Compression(types=types))
    assert (change is not None) is expected


def test_a_response_without_a_type_is_left_alone() -> None:
    assert coded(fields=(), settings=Compression(types=("*",))) is None


@pytest.mark.parametrize(
    "field",
    [
        (b"content-encoding", b"br"),
        (b"content-range", b"bytes 0-1/2"),
        (b"cache-control", b"public, No-Transform"),
        (b"content-digest", b"sha-256=:AA==:"),
        (b"repr-digest", b"sha-256=:AA==:"),
    ],
)
def test_a_response_that_must_stay_as_it_is_does(field: tuple[bytes, bytes]) -> None:
    assert coded(field) is None


def test_a_client_that_accepts_no_gzip_gets_only_vary() -> None:
    assert coded(asked=request("Accept: */*")) == Coded(None, frozenset(), (VARY,))
    assert coded((b"vary", b"*"), asked=request("Accept: */*")) is None


def test_http_1_0_and_head_get_no_compressed_body() -> None:
    assert coded(asked=changed("protocol", HTTP_1_0)) == Coded(None, frozenset(), (VARY,))
    assert coded(asked=changed("method", b"HEAD")) is None


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("gzip", True),
        ("GZIP", True),
        ("x-gzip", True),
        ("br, gzip;q=0.5", True),
        ("br,deflate", False),
        ("gzip;q=0", False),
        ("gzip; q=0.000", False),
        ("gzip;q=0, *", False),
        ("*", True),
        ("*;q=0", False),
        ("*;q=0, gzip", True),
        ("gzip;q=nonsense", False),
        ("gzip;q=nan", False),
        ("gzip;level=1", False),
        ("", False),
        ("gzipped", False),
    ],
)
def test_accept_encoding_is_read_with_its_weights(value: str, expected: bool) -> None:
    assert (accepted_codings(((b"accept-encoding", value.encode()),)).gzip > 0) is expected


def test_several_fields_count_as_one_list() -> None:
    both = accepted_codings(((b"accept-encoding", b"br;q=0.5"), (b"accept-encoding", b"gzip")))
    assert both == (1.0, 0.5)
    assert accepted_codings(()) == (0.0, 0.0)


@pytest.mark.parametrize(
    ("accepts", "expected"),
    [
        ("br, gzip", b"br"),
        ("gzip, deflate, br;q=0.9", b"gzip"),
        ("gzip;q=0.5, br;q=0.5", b"br"),
        ("*", b"br"),
        ("br;q=0, *", b"gzip"),
        ("gzip", b"gzip"),
        ("br", b"br"),
        ("identity", None),
    ],
)
def test_a_client_gets_the_coding_that_it_likes_more(accepts: str, expected: bytes | None) -> None:
    both = Compressor(SETTINGS, SETTINGS)
    change = both.code(request(f"Accept-Encoding: {accepts}"), ResponseHead(200, JSON, 256, b""))
    assert change is not None
    assert dict(change.added).get(b"Content-Encoding") == expected
    assert VARY in change.added


def test_each_coding_has_responses_of_its_own() -> None:
    gzip_and_brotli = Compressor(Compression(min_bytes=300, types=("application/json",)), SETTINGS)
    small, other = ResponseHead(200, JSON, 256, b""), ResponseHead(200, ((b"content-type", b"image/png"),), 999, b"")
    change = gzip_and_brotli.code(request("Accept-Encoding: gzip"), small)
    assert change is not None
    assert (change.body, change.added) == (None, (VARY,))
    assert gzip_and_brotli.code(request("Accept-Encoding: gzip, br"), other) is None


def test_a_piece_of_a_body_of_unknown_length_can_be_read_at_once() -> None:
    change = coded(size=None)
    assert change is not None
    assert change.body is not None
    reader = zlib.decompressobj(31)
    assert reader.decompress(change.body.feed(b"data: 1\n\n")) == b"data: 1\n\n"
    assert reader.decompress(change.body.feed(b"data: 2\n\n")) == b"data: 2\n\n"
