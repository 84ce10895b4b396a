"""What waits for peers that do not read is bounded, and divided among tenants."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from balancer.relays.room import PIECE_BYTES, UnreadRoom
from balancer.runtime import reading


def test_a_piece_is_what_a_connection_reads_at_once() -> None:
    assert PIECE_BYTES == reading.PIECE_BYTES


def test_a_greedy_tenant_leaves_room_for_another_one() -> None:
    room = UnreadRoom(8 * PIECE_BYTES)
    held = 0
    while not room.is_crowded("greedy"):
        held += room.hold("greedy", PIECE_BYTES)
    assert held == 4 * PIECE_BYTES
    assert not room.is_crowded("modest")
    assert room.hold("modest", PIECE_BYTES) == PIECE_BYTES


def test_what_is_above_the_share_counts_for_nothing_and_is_not_given_back() -> None:
    room = UnreadRoom(2 * PIECE_BYTES)
    assert room.hold("a", PIECE_BYTES) == PIECE_BYTES
    assert room.hold("a", 4096) == 0
    room.free("a", 0)
    assert room.is_crowded("a")
    room.free("a", PIECE_BYTES)
    assert not room.is_crowded("a")


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(1, PIECE_BYTES)), max_size=60))
def test_all_that_was_held_can_be_freed(steps: list[tuple[str, int]]) -> None:
    room = UnreadRoom(16 * PIECE_BYTES)
    held = [(tenant, room.hold(tenant, size)) for tenant, size in steps]
    assert sum(size for _, size in held) <= 16 * PIECE_BYTES
    for tenant, size in held:
        room.free(tenant, size)
    assert not any(map(room.is_crowded, "abc"))
