"""Chunked bodies: decoded to the byte, refused when malformed, and never judged by where they were cut."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from balancer.errors import ErrorKind, Refusal
from balancer.http.messages import Trailers
from balancer.http1.chunked import LAST_CHUNK, ChunkedDecoder, encode_chunk, encode_last_chunk
from tests.unit.balancer.http1.cuts import PLACES, pieces, single_bytes

BODIES = st.lists(st.binary(min_size=1, max_size=40), max_size=6)
TRAILER_VALUES = st.text(alphabet="abc xyz,=/09", max_size=12).map(lambda text: text.strip().encode())
TRAILERS = st.lists(st.tuples(st.sampled_from((b"X-Sum", b"Server-Timing", b"x")), TRAILER_VALUES), max_size=3).map(
    tuple
)
# Near misses: pieces of valid bodies in any order, with the bytes that attackers put between them.
JUNK = st.lists(
    st.sampled_from(
        (
            b"5\r\nhello",
            b"\r\n",
            b"\r",
            b"\n",
            b"0\r\n",
            b"5",
            b";a=b",
            b"a: b",
            b" ",
            b"1\r\nx\r\n",
            b"\x00",
            b"g",
            b"-1",
        )
    ),
    max_size=12,
).map(b"".join)


def decoded(parts: Iterable[bytes]) -> tuple[bytes, Trailers, bytes, bool] | ErrorKind:
    """The body, its trailers, what follows it, and whether it has ended; or the kind of the refusal."""
    decoder = ChunkedDecoder(ErrorKind.BAD_REQUEST)
    body = after = b""
    for part in parts:
        if decoder.done:
            after += part
            continue
        try:
            data, rest = decoder.feed(part)
        except Refusal as refusal:
            return refusal.kind
        body += b"".join(data)
        after += rest
    return body, decoder.trailers, after, decoder.done


@given(BODIES, TRAILERS, st.binary(max_size=30), PLACES)
def test_what_was_encoded_is_decoded_again_wherever_it_is_cut(
    chunks: list[bytes], trailers: Trailers, after: bytes, places: list[int]
) -> None:
    stream = b"".join(map(encode_chunk, chunks)) + encode_last_chunk(trailers) + after
    expected = (b"".join(chunks), trailers, after, True)
    assert decoded([stream]) == expected
    assert decoded(pieces(stream, places)) == expected
    assert decoded(single_bytes(stream)) == expected


@given(JUNK, PLACES)
def test_junk_has_the_same_outcome_wherever_it_is_cut(stream: bytes, places: list[int]) -> None:
    whole = decoded([stream])
    assert decoded(pieces(stream, places)) == whole
    assert decoded(single_bytes(stream)) == whole


@given(BODIES, st.integers(min_value=0, max_value=200))
def test_a_body_cut_short_is_never_done(chunks: list[bytes], length: int) -> None:
    stream = b"".join(map(encode_chunk, chunks)) + LAST_CHUNK
    outcome = decoded([stream[: min(length, len(stream) - 1)]])
    assert not isinstance(outcome, ErrorKind)
    assert not outcome[3]


@pytest.mark.parametrize(
    "stream",
    [
        pytest.param(b" 5\r\nhello\r\n0\r\n\r\n", id="space before the size"),
        pytest.param(b"5 \r\nhello\r\n0\r\n\r\n", id="space after the size"),
        pytest.param(b"0x5\r\nhello\r\n0\r\n\r\n", id="0x"),
        pytest.param(b"+5\r\nhello\r\n0\r\n\r\n", id="sign"),
        pytest.param(b"1_0\r\n", id="underscore"),
        pytest.param(b"\r\n\r\n", id="no size"),
        pytest.param(b"5\nhello\r\n0\r\n\r\n", id="bare LF after the size"),
        pytest.param(b"5\rhello\r\n0\r\n\r\n", id="bare CR after the size"),
        pytest.param(b"a\r\n0123456789\n0\r\n\r\n", id="bare LF after the data"),
        pytest.param(b"5\r\nhello!!0\r\n\r\n", id="no line end after the data"),
        pytest.param(b"4\r\nSEE-THIS\r\n0\r\n\r\n", id="more data than the size says"),
        pytest.param(b"5;\nhello\r\n0\r\n\r\n", id="LF in an extension"),
        pytest.param(b"5;a\rb\r\nhello\r\n0\r\n\r\n", id="CR in an extension"),
        pytest.param(b'5;a="\r\nhello\r\n0\r\n\r\n', id="CRLF in a quoted extension"),
        pytest.param(b'5;a="x\\"\r\nhello\r\n0\r\n\r\n', id="CRLF behind an escaped quote"),
        pytest.param(b'5;a="x";"\r\nhello\r\n0\r\n\r\n', id="CRLF in a second quoted text"),
        pytest.param(b"5;\x00\r\nhello\r\n0\r\n\r\n", id="NUL in an extension"),
        pytest.param(b"10000000000000005\r\nhello\r\n", id="17 digits"),
        pytest.param(b"ffffffffffffffff\r\nhello", id="2**64-1"),
        pytest.param(b"0\r\nGET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n", id="a request in the place of the end"),
        pytest.param(b"0\r\nX-A: b\n\r\n", id="bare LF in the trailers"),
        pytest.param(b"0\r\nX-A : b\r\n\r\n", id="space before a trailer's colon"),
        pytest.param(b"0\r\n folded\r\n\r\n", id="folded trailer"),
        pytest.param(b"0\r\nX-A: \x00\r\n\r\n", id="NUL in a trailer"),
        pytest.param(b"0\r\n: b\r\n\r\n", id="trailer without a name"),
    ],
)
def test_a_malformed_body_is_refused_with_the_kind_of_its_side(stream: bytes) -> None:
    assert decoded([stream]) is ErrorKind.BAD_REQUEST
    assert decoded(single_bytes(stream)) is ErrorKind.BAD_REQUEST
    with pytest.raises(Refusal) as refusal:
        ChunkedDecoder(ErrorKind.INVALID_RESPONSE).feed(stream)
    assert refusal.value.kind is ErrorKind.INVALID_RESPONSE


@pytest.mark.parametrize("size_line", [b"5;ext=value", b"5;", b"5 ;a", b'5;a="b c"', b'5;a="\\"";b', b"00005"])
def test_honest_extensions_and_leading_zeros_are_accepted_and_dropped(size_line: bytes) -> None:
    assert decoded([size_line + b"\r\nhello\r\n0\r\n\r\n"]) == (b"hello", (), b"", True)


def test_sizes_are_hexadecimal_in_either_case() -> None:
    assert decoded([b"A\r\nhelloworld\r\nb\r\nhello world\r\n000\r\n\r\n"]) == (b"helloworldhello world", (), b"", True)


@pytest.mark.parametrize(
    "stream",
    [
        pytest.param(b"5;" + b"a" * 300 + b"\r\nhello\r\n0\r\n\r\n", id="one long extension"),
        pytest.param(b"1;%b\r\nx\r\n" % (b"a" * 200) * 100, id="many extensions"),
        pytest.param(b"0\r\nX-A: " + b"a" * 9000 + b"\r\n\r\n", id="one long trailer"),
        pytest.param(b"0\r\n" + b"X-A: %b\r\n" % (b"a" * 1000) * 9, id="many trailers"),
        pytest.param(b"5" * 300, id="a size that never ends"),
    ],
)
def test_what_surrounds_the_data_is_bounded(stream: bytes) -> None:
    assert decoded([stream]) is ErrorKind.BAD_REQUEST
    assert decoded(pieces(stream, range(0, len(stream), 100))) is ErrorKind.BAD_REQUEST


def test_a_million_bytes_in_single_byte_chunks_are_no_attack() -> None:
    outcome = decoded([b"1\r\nA\r\n" * 50_000 + LAST_CHUNK])
    assert outcome == (b"A" * 50_000, (), b"", True)


@pytest.mark.parametrize(
    "name", [b"Host", b"Content-Length", b"transfer-encoding", b"Connection", b"Authorization", b"X-Forwarded-For"]
)
def test_trailers_that_frame_route_or_authenticate_are_dropped(name: bytes) -> None:
    # RFC 9110 6.5.1: merged into the head by the next reader, they would change what the message is
    assert decoded([b"0\r\n%b: 1\r\nX-Sum: 2\r\n\r\n" % name]) == (b"", ((b"X-Sum", b"2"),), b"", True)


def test_nothing_is_done_before_the_final_empty_line() -> None:
    decoder = ChunkedDecoder(ErrorKind.BAD_REQUEST)
    assert decoder.feed(b"0\r\nX-Sum: 1\r\n\r") == ([], b"")
    assert not decoder.done
    assert decoder.feed(b"\nGET /") == ([], b"GET /")
    assert decoder.done
