"""What waits for readers is bounded, and whoever holds most of it loses first."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from balancer.connections.unread import Unread, Unreading
from balancer.http.current import CurrentSettings
from balancer.model.settings import Http2Settings, ProxySettings
from tests.fakes.sockets import until
from tests.features.http2 import frames
from tests.unit.balancer.http2.talking import get, talk


class Leaving(Unreading):
    def __init__(self, peer: str = "192.0.2.1") -> None:
        self.drops = 0
        self.peer = peer

    def drop_unread(self) -> None:
        self.drops += 1


def _bound(size: int) -> Unread:
    return Unread(CurrentSettings(_most(size)))


def _most(size: int) -> ProxySettings:
    return ProxySettings(http2=Http2Settings(unread_bytes=size))


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 120)), max_size=60))
def test_no_more_waits_than_the_bound_and_the_sum_is_right(notes: list[tuple[int, int]]) -> None:
    unread, connections, sizes = _bound(100), [Leaving() for _ in range(5)], [0] * 5
    for number, size in notes:
        before = [connection.drops for connection in connections]
        unread.note(connections[number], size)
        sizes[number] = size
        sizes = [
            0 if connection.drops > drops else now
            for connection, drops, now in zip(connections, before, sizes, strict=True)
        ]
        assert unread.total == sum(sizes) <= 100
        assert unread.is_much is (unread.total >= 50)


def test_who_has_read_nothing_for_longest_loses_first() -> None:
    unread, (first, second, third) = _bound(100), (Leaving(), Leaving(), Leaving())
    unread.note(first, 40)
    unread.note(second, 40)
    unread.note(first, 30)  # it reads
    unread.note(third, 50)
    assert [each.drops for each in (first, second, third)] == [0, 1, 0]


def test_the_client_for_whom_most_waits_loses_first_on_all_of_its_connections_together() -> None:
    slow, greedy = Leaving("2001:db8::1"), [Leaving(f"2001:db8:1::{number}") for number in range(4)]
    unread = _bound(100)
    unread.note(slow, 30)
    for each in greedy:
        unread.note(each, 20)
    assert (slow.drops, [each.drops for each in greedy]) == (0, [1, 0, 0, 0])
    unread.note(slow, 20)
    unread.note(greedy[0], 25)
    assert (slow.drops, [each.drops for each in greedy]) == (0, [1, 1, 0, 0])
    for each in greedy:
        unread.note(each, 0)
    unread.note(slow, 0)
    assert (unread.total, unread._clients, unread._by_key) == (0, {}, {})


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 120)), max_size=60))
def test_nobody_below_a_fair_share_loses_an_answer(notes: list[tuple[int, int]]) -> None:
    unread = _bound(100)
    connections = [Leaving("192.0.2.7") for _ in range(5)] + [Leaving("192.0.2.8")]
    for number, size in notes:
        unread.note(connections[number], size if number < 5 else min(size, 50))
    assert connections[5].drops == 0


def test_a_bound_that_is_lowered_holds_at_the_next_news() -> None:
    settings = CurrentSettings(_most(100))
    unread, (first, second) = Unread(settings), (Leaving(), Leaving())
    unread.note(first, 60)
    settings.proxy = _most(50)
    unread.note(second, 10)
    assert [each.drops for each in (first, second)] == [1, 0]


async def test_answers_beyond_the_bound_are_reset_and_counted_and_others_go_on() -> None:
    async with talk(answers=False, window=10, http2=Http2Settings(unread_bytes=100_000)) as at:
        await at.say(get(1), get(3))
        still, whole = await at.asked(1), await at.asked(2)
        whole.answer(bytes(40_000))
        still.answer(bytes(50_000), ends=False)
        await until(lambda: still.events == ["paused"])
        await at.say(get(5))
        (await at.asked(3)).answer(bytes(20_000), ends=False)
        await until(lambda: all(at.peer.streams[number].reset is not None for number in (1, 3, 5)))
        assert at.tally.resets == {"unread": 3}
        assert still.events == ["paused", "unread"]
        await at.say(get(7), frames.frame(frames.WINDOW_UPDATE, 0, 7, (1000).to_bytes(4, "big")))
        (await at.asked(4)).answer(b"x" * 500)
        assert await at.answered(7) == b"x" * 500
