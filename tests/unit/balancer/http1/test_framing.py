"""Where messages end: what is clear is accepted, what could be read in two ways is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from balancer.errors import ErrorKind, Refusal
from balancer.http1.framing import CHUNKED, UNTIL_CLOSE, request_framing, response_framing

MALFORMED_LENGTHS = [
    pytest.param([b""], id="empty"),
    pytest.param([b"+5"], id="plus sign"),
    pytest.param([b"-0"], id="minus zero"),
    pytest.param([b"0x10"], id="hex"),
    pytest.param([b"1_0"], id="underscore"),
    pytest.param([b"5.0"], id="fraction"),
    pytest.param([b"5 5"], id="inner space"),
    pytest.param([b"5, 5"], id="list of equal members"),
    pytest.param([b"5", b"5"], id="repeated"),
    pytest.param([b"5", b"6"], id="differing"),
    pytest.param([b"", b"42"], id="empty, then a number"),
    pytest.param(["\N{ARABIC-INDIC DIGIT FIVE}".encode()], id="Unicode digit"),
    pytest.param([b"\xb2"], id="superscript two in latin-1"),
    pytest.param([b"18446744073709551621"], id="wraps modulo 2**64"),
    pytest.param([b"0" * 19], id="more digits than any language holds"),
]
OTHER_CODINGS = [
    pytest.param([b"identity"], id="identity"),
    pytest.param([b"gzip, chunked"], id="gzip, chunked"),
    pytest.param([b"chunked, chunked"], id="twice in one field"),
    pytest.param([b"chunked", b"chunked"], id="twice"),
    pytest.param([b"xchunked"], id="unknown"),
    pytest.param([b",chunked"], id="empty member"),
    pytest.param([b""], id="empty"),
    pytest.param([b'"chunked"'], id="quoted"),
    pytest.param([b"chunked;a=b"], id="parameter"),
    pytest.param([b"\x0bchunked"], id="vertical tab"),
]


@given(st.integers(min_value=0, max_value=10**18 - 1), st.sampled_from((0, 1)))
def test_one_decimal_length_is_taken_at_its_word(length: int, minor: int) -> None:
    assert request_framing([b"%d" % length], [], minor=minor) == length


def test_a_leading_zero_is_decimal_never_octal() -> None:
    assert request_framing([b"010"], [], minor=1) == 10


def test_a_request_without_framing_fields_has_no_body() -> None:
    assert request_framing([], [], minor=1) == 0


@pytest.mark.parametrize("coding", [b"chunked", b"CHUNKED", b"Chunked"])
def test_chunked_is_compared_without_case(coding: bytes) -> None:
    assert request_framing([], [coding], minor=1) == CHUNKED


@pytest.mark.parametrize("lengths", MALFORMED_LENGTHS)
def test_a_length_that_is_not_exactly_one_decimal_number_is_refused(lengths: list[bytes]) -> None:
    with pytest.raises(Refusal) as request:
        request_framing(lengths, [], minor=1)
    assert request.value.kind is ErrorKind.BAD_REQUEST
    with pytest.raises(Refusal) as response:
        response_framing(lengths, [], minor=1, status=200, request_method=b"GET")
    assert response.value.kind is ErrorKind.INVALID_RESPONSE


@pytest.mark.parametrize("codings", OTHER_CODINGS)
def test_a_coding_other_than_exactly_chunked_is_refused(codings: list[bytes]) -> None:
    with pytest.raises(Refusal) as request:
        request_framing([], codings, minor=1)
    assert request.value.kind is ErrorKind.BAD_REQUEST
    with pytest.raises(Refusal) as response:
        response_framing([], codings, minor=1, status=200, request_method=b"GET")
    assert response.value.kind is ErrorKind.INVALID_RESPONSE


@pytest.mark.parametrize(("lengths", "minor"), [([b"5"], 1), ([b"5"], 0), ([], 0)])
def test_a_coding_with_a_length_or_on_http_1_0_is_refused(lengths: list[bytes], minor: int) -> None:
    with pytest.raises(Refusal) as request:
        request_framing(lengths, [b"chunked"], minor=minor)
    assert request.value.kind is ErrorKind.BAD_REQUEST
    with pytest.raises(Refusal) as response:
        response_framing(lengths, [b"chunked"], minor=minor, status=200, request_method=b"GET")
    assert response.value.kind is ErrorKind.INVALID_RESPONSE


@pytest.mark.parametrize(
    ("lengths", "codings", "framing"), [([b"7"], [], 7), ([], [b"chunked"], CHUNKED), ([], [], UNTIL_CLOSE)]
)
def test_a_response_ends_by_length_by_chunk_or_by_close(
    lengths: list[bytes], codings: list[bytes], framing: int
) -> None:
    assert response_framing(lengths, codings, minor=1, status=200, request_method=b"GET") == framing


@pytest.mark.parametrize(("method", "status"), [(b"HEAD", 200), (b"GET", 204), (b"GET", 304)])
@pytest.mark.parametrize(("lengths", "codings"), [([b"7"], []), ([], [b"chunked"]), ([], [])])
def test_head_204_and_304_have_no_body_whatever_their_fields_say(
    method: bytes, status: int, lengths: list[bytes], codings: list[bytes]
) -> None:
    assert response_framing(lengths, codings, minor=1, status=status, request_method=method) == 0


def test_a_bodiless_response_is_refused_all_the_same_when_its_framing_is_malformed() -> None:
    with pytest.raises(Refusal):
        response_framing([b"5", b"6"], [], minor=1, status=304, request_method=b"GET")
