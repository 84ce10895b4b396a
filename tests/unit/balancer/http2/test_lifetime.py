"""The states of a client's HTTP/2 connection: none goes back, and what comes too late changes nothing."""

from __future__ import annotations

import pytest

from balancer.http2.lifetime import (
    CLOSE,
    CLOSING,
    ENDED,
    ENDING,
    FAULTED,
    LEAVE,
    LEAVING,
    LOST,
    NEXT,
    NOTICE,
    NOTICED,
    SERVING,
    Lifetime,
)
from balancer.runtime.deadlines import NEVER


def test_no_state_goes_back_and_every_one_ends_when_the_transport_is_gone() -> None:
    assert len(NEXT) == ENDED + 1
    assert all(following > state for state, moves in enumerate(NEXT) for following in moves.values())
    assert all(moves[LOST] == ENDED for moves in NEXT[:ENDED])
    assert NEXT[ENDED] == {}


@pytest.mark.parametrize(
    ("events", "states"),
    [
        ((NOTICE, LEAVE, CLOSE, LOST), (NOTICED, LEAVING, CLOSING, ENDED)),
        ((LEAVE, NOTICE, FAULTED, LEAVE, CLOSE), (LEAVING, LEAVING, ENDING, ENDING, CLOSING)),
        ((CLOSE, LOST, FAULTED), (SERVING, ENDED, ENDED)),
    ],
)
def test_an_event_that_comes_too_late_changes_nothing(events: tuple[int, ...], states: tuple[int, ...]) -> None:
    lifetime = Lifetime(1, 5.0)
    for at, (event, state) in enumerate(zip(events, states, strict=True)):
        before, until = lifetime.state, lifetime.until
        assert lifetime.moves(event, float(at)) is (before != state)
        assert (lifetime.state, lifetime.until) == (state, until if before == state else at)


def test_a_head_has_to_be_whole_in_time_from_its_first_byte() -> None:
    lifetime = Lifetime(1, 5.0)
    assert lifetime.head_until == NEVER
    lifetime.begin(100.0)
    assert not lifetime.notes_head(1, 104.0)
    assert lifetime.head_until == 105.0
    assert lifetime.notes_head(2, 104.0)
    assert lifetime.head_until == 109.0
    assert lifetime.notes_head(0, 105.0)
    assert lifetime.head_until == NEVER
