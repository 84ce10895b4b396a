"""The path that routes are compared with, and the name in a Host: one reading, or a refusal."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from balancer.errors import ErrorKind, Refusal
from balancer.http.target import host_name, matchable_path

CASES_FILE = Path(__file__).parents[3] / "cases" / "path_matching.json"
CASES = [case for case in json.loads(CASES_FILE.read_text())["cases"] if case["group"] == "normalisation"]

SEGMENTS = st.sampled_from((b"", b".", b"..", b"a", b"b.c", b"...", b".a", b"%2e", b"%2E%2e", b"a%2fb", b"%2f", b"%20"))
PATHS = st.lists(SEGMENTS, min_size=1, max_size=7).map(lambda segments: b"/" + b"/".join(segments))


def normalised(target: bytes) -> bytes | ErrorKind:
    try:
        return matchable_path(target)
    except Refusal as refusal:
        return refusal.kind


def routed(path: str, ingress: dict[str, Any]) -> str:
    """The service of the Exact path, else of the longest element-wise prefix: enough for these cases."""
    paths = ingress["rules"][0]["paths"]
    for route in paths:
        if route["pathType"] == "Exact" and route["path"] == path:
            return str(route["service"])
    prefixes = [route for route in paths if route["pathType"] == "Prefix"]
    fitting = [route for route in prefixes if (path + "/").startswith(route["path"].rstrip("/") + "/")]
    return str(max(fitting, key=lambda route: len(route["path"]))["service"])


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_documented_normalisations_lead_to_the_documented_service(case: dict[str, Any]) -> None:
    outcome = normalised(case["request"]["target"].encode("latin-1"))
    if case["expect"]["status"] == 400:
        assert outcome is ErrorKind.BAD_REQUEST
    else:
        assert isinstance(outcome, bytes)
        assert routed(outcome.decode(), case["ingresses"][0]) == case["expect"]["service"]


@given(PATHS)
def test_a_normalised_path_is_rooted_and_has_nothing_left_to_resolve(target: bytes) -> None:
    path = normalised(target)
    assume(isinstance(path, bytes))
    assert isinstance(path, bytes)
    assert path.startswith(b"/")
    assert b"//" not in path
    assert not {b".", b".."} & set(path.split(b"/"))


@given(PATHS)
def test_normalising_twice_changes_nothing_once_all_is_decoded(target: bytes) -> None:
    path = normalised(target)
    assume(isinstance(path, bytes) and not set(b"%?#") & set(path))
    assert isinstance(path, bytes)
    assert matchable_path(path) == path


@given(PATHS)
def test_what_is_accepted_never_climbs_above_the_root(target: bytes) -> None:
    path = normalised(target)
    assume(isinstance(path, bytes))
    depth = 0
    for segment in re.sub(rb"(?i)%2e", b".", re.sub(rb"(?i)%2f", b"/", target)).split(b"/")[1:]:
        depth += {b"": 0, b".": 0, b"..": -1}.get(segment, 1)
        assert depth >= 0


@given(PATHS, st.sampled_from((b"", b"a=b", b"x=/../y", b"%", b"a?b")))
def test_the_query_has_no_part_in_the_path(target: bytes, query: bytes) -> None:
    assert normalised(target + b"?" + query) == normalised(target)


@pytest.mark.parametrize(
    ("target", "path"),
    [
        (b"/", b"/"),
        (b"/a/b", b"/a/b"),
        (b"/a?b=c", b"/a"),
        (b"/?", b"/"),
        (b"/%66oo", b"/foo"),
        (b"/a%2fb", b"/a/b"),
        (b"/a%252fb", b"/a%2fb"),
        (b"////a///b", b"/a/b"),
        (b"/a/./b", b"/a/b"),
        (b"/a/../b", b"/b"),
        (b"/a/b/..", b"/a/"),
        (b"/a/.", b"/a/"),
        (b"/a/%2e%2e/b", b"/b"),
        (b"/.well-known/x", b"/.well-known/x"),
        (b"/a..b/...", b"/a..b/..."),
        (b"/a%3Fb", b"/a?b"),
        (b"/caf%C3%A9", "/café".encode()),
        (b"/a%5cb", b"/a\\b"),
        (b"/a?b\\..\\c", b"/a"),
        (b"/a%2e%2e/b", b"/a../b"),
    ],
)
def test_paths_are_decoded_once_collapsed_and_resolved(target: bytes, path: bytes) -> None:
    assert matchable_path(target) == path


@pytest.mark.parametrize(
    "target",
    [
        pytest.param(b"/..", id="above the root"),
        pytest.param(b"/a/../../b", id="above the root after a segment"),
        pytest.param(b"/%2e%2e%2fa", id="above the root, encoded"),
        pytest.param(b"/a%00", id="NUL"),
        pytest.param(b"/a%zz", id="escape without hex"),
        pytest.param(b"/a%4", id="escape cut short"),
        pytest.param(b"/a%", id="escape without digits"),
        pytest.param(b"/public#/../admin", id="fragment in the path"),
        pytest.param(b"/public?a#b", id="fragment in the query"),
        pytest.param(b"/public/..%2fadmin", id="two readings of an encoded slash"),
        pytest.param(b"/a%2f../b", id="two readings of a segment with an encoded slash"),
        pytest.param(b"/admin//../x", id="two readings of an empty segment"),
        pytest.param(b"/public/..\\secret", id="backslash after dots"),
        pytest.param(b"/public\\a", id="backslash without dots"),
        pytest.param(b"\\a", id="backslash at the root"),
        pytest.param(b"/public%5c..%5cadmin", id="encoded backslash around dots"),
        pytest.param(b"/public/..%5Cadmin", id="encoded backslash after dots"),
        pytest.param(b"/public%5c../admin", id="encoded backslash before dots"),
        pytest.param(b"/public/.%5cadmin", id="encoded backslash after a dot"),
        pytest.param(b"/public/%2e%2E%5cadmin", id="encoded backslash after encoded dots"),
    ],
)
def test_what_can_be_read_in_two_ways_or_in_none_is_refused(target: bytes) -> None:
    assert normalised(target) is ErrorKind.BAD_REQUEST


@pytest.mark.parametrize(
    ("host", "name"),
    [
        (b"app.test", b"app.test"),
        (b"APP.Test:8080", b"app.test"),
        (b"app.test.", b"app.test"),
        (b"app.test.:80", b"app.test"),
        (b"app.test:", b"app.test"),
        (b"my_app.test", b"my_app.test"),
        (b"127.0.0.1:80", b"127.0.0.1"),
        (b"[::1]:8080", b"[::1]"),
        (b"[FE80::1]", b"[fe80::1]"),
    ],
)
def test_a_host_name_is_lower_case_without_port_and_final_dot(host: bytes, name: bytes) -> None:
    assert host_name(host) == name


@pytest.mark.parametrize(
    "host",
    [
        b"",
        b".",
        b"a..b",
        b"..a",
        b"a..",
        b"a, b",
        b"a b",
        b"a@b",
        b"a/b",
        b"a:80:80",
        b"a:x",
        b"a:123456",
        b"x[::1]",
        b"[::1",
        b"[::1]x",
        b"a\x02",
        b"a\xd0\xb0",
        b"a%41",
        b"*.a",
        b"a\n",
    ],
)
def test_anything_but_a_name_or_an_address_is_refused(host: bytes) -> None:
    with pytest.raises(Refusal) as refusal:
        host_name(host)
    assert refusal.value.kind is ErrorKind.BAD_REQUEST


@pytest.mark.parametrize("host", [b".a", b".shop.test:80"])
def test_a_name_that_begins_with_a_dot_is_the_name_of_no_host(host: bytes) -> None:
    with pytest.raises(Refusal) as refusal:
        host_name(host)
    assert refusal.value.kind is ErrorKind.NO_ROUTE
