"""Room is bounded, and whoever holds most of it gives way."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from balancer.runtime.fair_cache import FairCache, FairPart


def filled(cache: FairCache[int], tenant: str, count: int) -> list[int]:
    """The values of `tenant` that are left after so many were put."""
    for number in range(count):
        cache.put(tenant, str(number), number)
    return kept(cache, tenant, count)


def kept(cache: FairCache[int], tenant: str, count: int) -> list[int]:
    return [number for number in range(count) if cache.get(tenant, str(number)) is not None]


def test_a_value_is_known_under_its_tenant_and_key_until_it_is_dropped() -> None:
    cache: FairCache[int] = FairCache(10)
    cache.put("a", "key", 1)
    cache.put("a", "key", 2)
    assert (cache.get("a", "key"), cache.get("b", "key"), cache.get("a", "other")) == (2, None, None)
    cache.drop("a", "key")
    cache.drop("a", "key")
    cache.drop("b", "key")
    assert (cache.get("a", "key"), len(cache)) == (None, 0)


def test_of_one_tenant_those_go_first_that_were_not_used() -> None:
    cache: FairCache[int] = FairCache(3)
    filled(cache, "a", 3)
    cache.get("a", "0")
    cache.put("a", "3", 3)
    assert kept(cache, "a", 4) == [0, 2, 3]


def test_a_modest_tenant_keeps_everything_beside_a_greedy_one() -> None:
    cache: FairCache[int] = FairCache(100)
    filled(cache, "modest", 20)
    assert len(filled(cache, "greedy", 1000)) <= 80
    assert kept(cache, "modest", 20) == list(range(20))
    assert filled(cache, "late", 20) == list(range(20))
    assert kept(cache, "modest", 20) == list(range(20))


def test_a_value_without_room_goes_at_once() -> None:
    cache: FairCache[int] = FairCache(10)
    cache.put("a", "small", 1)
    cache.put("b", "large", 1, units=11)
    assert (cache.get("a", "small"), cache.get("b", "large")) == (1, None)


@given(st.lists(st.tuples(st.sampled_from("abcd"), st.integers(0, 20).map(str), st.integers(1, 30)), max_size=300))
def test_the_room_is_never_exceeded_and_a_tenant_below_its_part_loses_nothing(puts: list[tuple[str, str, int]]) -> None:
    most, tenants = 100, 4
    cache: FairCache[int] = FairCache(most)
    sizes: dict[tuple[str, str], int] = {}
    for tenant, key, units in puts:
        cache.put(tenant, key, units, units)
        sizes[tenant, key] = units
        held = {each: units for each, units in sizes.items() if cache.get(*each) is not None}
        assert sum(held.values()) <= most
        for name in "abcd":
            asked = [each for each in sizes if each[0] == name]
            if sum(sizes[each] for each in asked) <= most // tenants - 30:
                assert all(each in held for each in asked)


def test_users_of_one_room_have_keys_of_their_own_and_tenants_share_all_of_it() -> None:
    room: FairCache[int] = FairCache(8)
    one, other = FairPart(room), FairPart(room)
    one.put("modest", "a", 1)
    other.put("modest", "a", 2)
    for number in range(20):
        one.put("greedy", number, number)
    assert [part.get("modest", "a") for part in (one, other)] == [1, 2]
    assert len(room) <= 8
    one.drop("a")
    one.drop("unknown")
    assert [part.get("modest", "a") for part in (one, other)] == [None, 2]
    one.clear()
    assert (len(room), one.keys()) == (1, ())
