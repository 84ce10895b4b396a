"""Narrow expressions cost little however long a path is; whatever is not surely narrow is wide."""

from __future__ import annotations

import random
import time

import pytest

from balancer.matching.regexes import PatternSet
from ingress.translation.narrow_expressions import is_narrow


@pytest.mark.parametrize(
    "text",
    [
        "/", "/foo", "/api(/|$)(.*)", "/api/?(.*)", "/v[0-9]+/(.*)$", "/users/([^/]+)/x", "/(foo|bar)(/|$)(.*)",
        "/something(/.*)?$", "/x(?:/(.*))?$", "/(?<tenant>[^/]+)/api", r"/\d+", r"/a\.b/.*", "/[ab]x?(?:y|z)?", "/.+",
    ],
)  # fmt: skip
def test_what_people_write_is_narrow(text: str) -> None:
    assert is_narrow("^" + text)


@pytest.mark.parametrize(
    "text",
    [
        r"/.*\.js$", "/(a|b)*c", "/(.*)(.*)", "/(.*)/(.*)", "/[^/]+[^/]+/", "/[^/]*/?x", "/[^/]+/*x", "/[+-9]*/x",
        "/a{3}", "/x|/y", "/(a+)+", "/[^a]*/x", "/.*?x", "/([^/]+/)+x", r"/\D+/x", "/a+/x", "/((a|b))*", "/[a-z]{2}/x",
    ],
)  # fmt: skip
def test_whatever_may_match_in_many_ways_is_wide(text: str) -> None:
    assert not is_narrow("^" + text)
    assert not is_narrow(text)


@pytest.mark.parametrize(
    "form", ["/foo{}(/|$)(.*)", "/[^/]+/x{}(/|$)(.*)", "/(a|b){}(/.*)?$", "/[a-z0-9]+/[^/]*/{}/x?(.*)"]
)
def test_a_crowd_of_narrow_expressions_reads_a_long_path_fast(form: str) -> None:
    texts = ["^" + form.format(number) for number in range(60)]
    assert all(map(is_narrow, texts))
    patterns, chance = PatternSet(texts), random.Random(1)

    def seconds() -> float:
        path = b"/" + bytes(chance.choice(b"ab01x/") for _ in range(8000))
        started = time.thread_time()
        patterns.first(path)
        return time.thread_time() - started

    assert min(seconds() for _ in range(10)) < 0.002
