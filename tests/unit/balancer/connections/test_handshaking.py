"""Unfinished handshakes hold bounded memory, and the bound is felt by who holds most."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from balancer.connections.handshaking import UnfinishedHandshakes
from balancer.matching.clients import peer_key

KIB = 1024
MOST = 64 * KIB * 10


def bounded() -> UnfinishedHandshakes:
    """Room for ten handshakes without a chain."""
    return UnfinishedHandshakes(MOST)


def test_up_to_the_bound_nothing_ends() -> None:
    handshakes = bounded()
    for number in range(10):
        assert handshakes.begin(number, peer_key("192.0.2.1"), 0) == []
    assert handshakes.free == 0


def test_a_greedy_client_loses_its_own_oldest_and_a_modest_one_nothing() -> None:
    handshakes = bounded()
    assert handshakes.begin(-1, peer_key("192.0.2.9"), 0) == []
    for number in range(100):
        ended = handshakes.begin(number, peer_key("192.0.2.1"), 0)
        assert ended == ([number - 9] if number >= 9 else [])
    assert handshakes.begin(-2, peer_key("192.0.2.8"), 0) == [91]


def test_a_long_chain_counts_as_much_as_it_holds() -> None:
    handshakes = bounded()
    for number in range(4):
        handshakes.begin(number, peer_key(f"192.0.2.{number}"), 0)
    assert handshakes.begin(4, peer_key("192.0.2.9"), 60 * KIB) == []
    assert handshakes.begin(5, peer_key("192.0.2.9"), 60 * KIB) == [4]


def test_a_handshake_that_does_not_fit_at_all_ends_at_once() -> None:
    handshakes = bounded()
    assert handshakes.begin(1, peer_key("192.0.2.1"), MOST) == [1]
    assert handshakes.free == MOST


def test_a_client_of_ipv6_is_its_network() -> None:
    handshakes = bounded()
    for number in range(8):
        handshakes.begin(number, peer_key(f"2001:db8::{number:x}"), 0)
    handshakes.begin(8, peer_key("2001:db8:0:1::1"), 0)
    handshakes.begin(9, peer_key("no address: at all"), 0)
    assert handshakes.begin(10, peer_key("2001:db8:0:2::1"), 0) == [0]


def test_what_is_over_counts_no_more_and_may_be_over_twice() -> None:
    handshakes = bounded()
    handshakes.begin(1, peer_key("192.0.2.1"), 0)
    handshakes.over(1)
    handshakes.over(1)
    assert handshakes.free == MOST


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 200 * KIB), st.booleans()), max_size=60))
def test_the_bound_always_holds_and_who_holds_least_is_never_ended_for_another(
    steps: list[tuple[int, int, bool]],
) -> None:
    handshakes = bounded()
    held: dict[int, tuple[int, int]] = {}
    for number, (client, chain_bytes, finishes) in enumerate(steps):
        if finishes and held:
            first = next(iter(held))
            handshakes.over(first)
            del held[first]
            continue
        held[number] = (client, 64 * KIB + 3 * chain_bytes)
        for each in handshakes.begin(number, peer_key(f"192.0.2.{client}"), chain_bytes):
            of = {other: sum(size for one, size in held.values() if one == other) for other in range(6)}
            assert of[held[each][0]] == max(of.values())
            assert each == next(one for one in held if held[one][0] == held[each][0]), "the oldest"
            del held[each]
        assert handshakes.free == MOST - sum(size for _, size in held.values()) >= 0
