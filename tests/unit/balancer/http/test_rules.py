"""What a request must keep to in every version."""

from __future__ import annotations

import pytest

from balancer.errors import ErrorKind, Refusal
from balancer.http.rules import (
    check_method,
    content_length,
    expects_continue,
    forwarded_once_more,
    members,
    path_of,
    target_onward,
)


def test_a_target_goes_on_as_it_is_or_with_its_bytes_above_ascii_encoded() -> None:
    target = b"/a?b=%20"
    assert target_onward(b"GET", target) is target
    assert target_onward(b"GET", b"/caf\xe9") == b"/caf%E9"


@pytest.mark.parametrize(("method", "target"), [(b"GET", b"/a b"), (b"GET", b""), (b"G T", b"/"), (b"", b"/")])
def test_a_malformed_method_or_target_is_refused(method: bytes, target: bytes) -> None:
    with pytest.raises(Refusal):
        target_onward(method, target)


@pytest.mark.parametrize(
    ("method", "target", "path"),
    [(b"GET", b"/a//b?c", b"/a/b"), (b"OPTIONS", b"*", b"/"), (b"GET", b"*", None), (b"GET", b"http://a/", None)],
)
def test_the_path_is_that_of_the_origin_form_and_of_the_asterisk_for_options(
    method: bytes, target: bytes, path: bytes | None
) -> None:
    assert path_of(method, target) == path


@pytest.mark.parametrize("method", [b"CONNECT", b"TRACE"])
def test_methods_that_are_not_served(method: bytes) -> None:
    check_method(b"GET")
    with pytest.raises(Refusal) as refused:
        check_method(method)
    assert refused.value.kind is ErrorKind.METHOD_NOT_ALLOWED


def test_an_expectation_is_100_continue_or_none() -> None:
    assert expects_continue([b"100-Continue"])
    assert not expects_continue([b""])
    with pytest.raises(Refusal):
        expects_continue([b"100-continue, more"])


def test_max_forwards_counts_down() -> None:
    assert forwarded_once_more((b"max-forwards", b"3")) == (b"max-forwards", b"2")
    assert forwarded_once_more((b"max-forwards", b"x")) == (b"max-forwards", b"x")
    assert forwarded_once_more((b"other", b"0")) == (b"other", b"0")
    with pytest.raises(Refusal):
        forwarded_once_more((b"max-forwards", b"0"))


@pytest.mark.parametrize("values", [[b"5", b"5"], [b""], [b"+5"], [b"5x"], [b"\xb2"], [b"1" * 19]])
def test_a_length_is_one_number(values: list[bytes]) -> None:
    assert content_length([b"0042"], ErrorKind.BAD_REQUEST) == 42
    with pytest.raises(Refusal) as refused:
        content_length(values, ErrorKind.INVALID_RESPONSE)
    assert refused.value.kind is ErrorKind.INVALID_RESPONSE


def test_a_list_goes_over_all_its_fields() -> None:
    assert members([b"A, b", b"\tc"]) == (b"a", b"b", b"c")
