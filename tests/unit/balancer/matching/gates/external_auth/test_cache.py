"""For how long answers are remembered, for whom, and that neither entries nor bytes grow without end."""

from __future__ import annotations

import gc
from types import ModuleType

import pytest

from balancer.matching.gates.external_auth.answers import AuthAnswer
from balancer.matching.gates.external_auth.cache import AuthCache, cache_key, lifetime
from tests.unit.balancer.matching.gates.external_auth.asking import asked

GOOD = AuthAnswer(200)
ANYBODY = asked().request
SECONDS = ((200, 300.0), (401, 60.0), (200, 5.0))


def test_an_answer_is_known_until_its_time_is_over() -> None:
    cache = AuthCache()
    cache.put("shop", b"a", GOOD, ANYBODY, until=10.0)
    assert cache.get("shop", b"a", ANYBODY, 9.9) is GOOD
    assert cache.get("shop", b"b", ANYBODY, 9.9) is None
    assert cache.get("shop", b"a", ANYBODY, 10.0) is None
    assert len(cache) == 0


def test_the_least_recently_used_is_forgotten() -> None:
    cache = AuthCache(bytes_most=2500)  # two answers
    for key in (b"a", b"b"):
        cache.put("shop", key, GOOD, ANYBODY, until=10.0)
    assert cache.get("shop", b"a", ANYBODY, 0.0) is GOOD
    cache.put("shop", b"c", GOOD, ANYBODY, until=10.0)
    assert [key for key in (b"a", b"b", b"c") if cache.get("shop", key, ANYBODY, 0.0)] == [b"a", b"c"]


def test_bytes_are_bounded() -> None:
    cache = AuthCache(bytes_most=10_000)
    for number in range(1000):
        cache.put("shop", b"%d" % number, AuthAnswer(401, (), b"x" * 3000), ANYBODY, until=10.0)
    assert len(cache) == 2
    cache.put("shop", b"999", GOOD, ANYBODY, until=10.0)  # its own place is used again
    assert len(cache) == 2
    cache.put("shop", b"big", AuthAnswer(401, (), b"x" * 20_000), ANYBODY, until=10.0)
    assert len(cache) == 0


def test_a_flood_of_one_tenant_forgets_no_answer_of_another() -> None:
    cache = AuthCache(bytes_most=100_000)
    cache.put("modest", b"a", GOOD, ANYBODY, until=10.0)
    for number in range(1000):
        cache.put("greedy", b"%d" % number, GOOD, ANYBODY, until=10.0)
    assert cache.get("modest", b"a", ANYBODY, 0.0) is GOOD
    assert cache.get("greedy", b"a", ANYBODY, 0.0) is None


def test_an_answer_that_varies_by_a_field_is_for_those_who_say_the_same() -> None:
    cache = AuthCache()
    mine, theirs = (asked(fields=((b"accept", value),)).request for value in (b"mine", b"theirs"))
    cache.put("shop", b"a", AuthAnswer(200, ((b"vary", b"Accept, Origin"),)), mine, until=10.0)
    assert cache.get("shop", b"a", mine, 0.0) is not None
    assert cache.get("shop", b"a", theirs, 0.0) is None
    assert cache.get("shop", b"a", ANYBODY, 0.0) is None


def texts_in(thing: object) -> set[bytes]:
    """All bytes that `thing` holds, however deep; classes and modules are not looked at."""
    found, left, seen = set[bytes](), [thing], set[int]()
    while left:
        each = left.pop()
        if id(each) in seen or isinstance(each, type | ModuleType):
            continue
        seen.add(id(each))
        if isinstance(each, bytes):
            found.add(each)
        left += gc.get_referents(each)
    return found


def test_an_answer_that_varies_by_credentials_keeps_none() -> None:
    cache = AuthCache()
    mine = asked(fields=((b"authorization", b"Bearer secret"), (b"cookie", b"a=secret"))).request
    cache.put("shop", b"a", AuthAnswer(200, ((b"vary", b"Authorization, Cookie"),)), mine, until=10.0)
    assert cache.get("shop", b"a", mine, 0.0) is not None
    assert cache.get("shop", b"a", ANYBODY, 0.0) is None
    held = texts_in(cache)
    assert b"vary" in held
    assert not [text for text in held if b"secret" in text]


@pytest.mark.parametrize(
    ("status", "control", "seconds"),
    [
        (200, b"", 300.0),
        (401, b"", 60.0),
        (403, b"", 0.0),
        (403, b"max-age=60", 0.0),
        (200, b"max-age=7", 7.0),
        (200, b"public, Max-Age=7, s-maxage=8", 8.0),
        (200, b'max-age="7"', 7.0),
        (200, b"max-age=0", 0.0),
        (200, b"max-age=-1", 300.0),
        (200, b"no-store", 0.0),
        (200, b"max-age=7, no-cache", 0.0),
        (200, b'private="set-cookie"', 0.0),
    ],
)
def test_how_long_an_answer_is_kept(status: int, control: bytes, seconds: float) -> None:
    fields = ((b"cache-control", control),) if control else ()
    assert lifetime(AuthAnswer(status, fields), SECONDS) == seconds


@pytest.mark.parametrize("field", [(b"set-cookie", b"a=1"), (b"vary", b"*"), (b"vary", b"accept, *")])
def test_an_answer_for_one_request_alone_is_not_kept(field: tuple[bytes, bytes]) -> None:
    assert lifetime(AuthAnswer(200, (field,)), SECONDS) == 0.0


def test_keys_of_different_texts_differ() -> None:
    texts = [(b"a", b"b"), (b"ab",), (b"ab", b""), (b"", b"ab"), (b"1:a", b"b")]
    assert len({cache_key(*each) for each in texts}) == len(texts)
