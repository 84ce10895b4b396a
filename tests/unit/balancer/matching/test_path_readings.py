"""What endpoints may find in a target, and which targets a host refuses for it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from balancer.errors import ErrorKind, Refusal
from balancer.matching.path_readings import path_without_parameters, readings

SEGMENTS = st.sampled_from(
    (b"", b".", b"..", b"a", b"..;x", b";", b"%2e%2E", b"%252e", b"a%2fb", b"%5c", b"%c0%af", b"b;c", b"%", b"%zz")
)
PATHS = st.lists(SEGMENTS, min_size=1, max_size=7).map(lambda segments: b"/" + b"/".join(segments))


@pytest.mark.parametrize(
    ("target", "found"),
    [
        (b"/", {b"/"}),
        (b"/a/b?c;d//..", {b"/a/b"}),
        (b"/a;b/c", {b"/a;b/c", b"/a/c"}),
        (b"/a%3bb", {b"/a%3bb", b"/a;b", b"/a"}),
        (b"/a%5cb", {b"/a%5cb", b"/a\\b", b"/a/b"}),
        (b"/a%2562", {b"/a%2562", b"/a%62", b"/ab"}),
        (b"//a/b", {b"//a/b", b"/a/b", b"/b"}),
        (b"/a%3fb", {b"/a%3fb", b"/a?b", b"/a"}),
        (b"/a%23/../b", {b"/a%23/../b", b"/b", b"/a#/../b", b"/a"}),
        (b"/a%09b", {b"/a%09b", b"/a\tb", b"/ab"}),
        (b"/a%20", {b"/a%20", b"/a ", b"/a"}),
        (b"/%2fa/b", {b"/%2fa/b", b"//a/b", b"/a/b", b"/b"}),
        (b"/a//../b", {b"/a//../b", b"/a/b", b"/a/../b", b"/b"}),
        (b"/%c0%ae", {b"/%c0%ae", b"/\xc0\xae", b"/.", b"/"}),
        (b"/../a", {b"/../a", b"/a"}),
    ],
)
def test_the_readings_of_a_target(target: bytes, found: set[bytes]) -> None:
    assert readings(target, strips_parameters=True) == found


def test_parameters_stay_where_no_endpoint_strips_them() -> None:
    assert readings(b"/a;b/..;/c", strips_parameters=False) == {b"/a;b/..;/c"}


@given(PATHS, st.booleans())
def test_readings_are_rooted_and_few_and_the_path_as_it_stands_is_one(target: bytes, strips: bool) -> None:
    try:
        found = readings(target, strips_parameters=strips)
    except Refusal as refusal:
        assert refusal.kind is ErrorKind.BAD_REQUEST
        return
    assert target in found
    assert len(found) <= 16
    assert all(path.startswith(b"/") for path in found)


@pytest.mark.parametrize("target", [b"//a/;x/%25%2e./\\%5c/../b", b"//" + b"%41" * 4000 + b"/;/../%2541"])
def test_a_path_with_too_many_readings_is_refused(target: bytes) -> None:
    with pytest.raises(Refusal) as refusal:
        readings(target, strips_parameters=True)
    assert refusal.value.kind is ErrorKind.BAD_REQUEST


@pytest.mark.parametrize(
    ("target", "path"),
    [
        (b"/a;b=c/d;e?f;g", b"/a/d"),
        (b"/x/..;/admin", b"/admin"),
        (b"/;x/admin", b"/admin"),
        (b"/a%3bb", b"/a;b"),
        (b"/a;%zz", b"/a"),
    ],
)
def test_a_path_without_its_parameters(target: bytes, path: bytes) -> None:
    assert path_without_parameters(target) == path


def test_a_path_that_leaves_the_root_without_its_parameters_is_refused() -> None:
    with pytest.raises(Refusal):
        path_without_parameters(b"/..;/..;/admin")
