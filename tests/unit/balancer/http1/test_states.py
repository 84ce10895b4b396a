"""States of a client's connection: what may happen in each, and that no other event passes in silence."""

from __future__ import annotations

import pytest

from balancer.http1.states import (
    ANSWERED,
    CLOSED,
    HEAD,
    LAST,
    LINGERING,
    LOST,
    NEXT,
    PART,
    REQUEST,
    SERVING,
    STALLED,
    TAKEN,
    UNREAD,
    WAITING,
)

STATES = (WAITING, HEAD, SERVING, UNREAD, LINGERING, CLOSED)
EVENTS = (PART, REQUEST, ANSWERED, STALLED, TAKEN, LAST, LOST)


@pytest.mark.parametrize(
    ("events", "state"),
    [
        ([PART, REQUEST, ANSWERED], WAITING),
        ([REQUEST, STALLED], UNREAD),
        ([REQUEST, STALLED, TAKEN, REQUEST], SERVING),
        ([REQUEST, ANSWERED, STALLED, TAKEN], WAITING),
        ([REQUEST, LAST], LINGERING),
        ([LAST, LOST], CLOSED),
    ],
)
def test_events_lead_from_state_to_state(events: list[int], state: int) -> None:
    at = WAITING
    for event in events:
        at = NEXT[at][event]
    assert at == state


def test_every_open_state_ends_when_the_connection_is_lost() -> None:
    assert {NEXT[state][LOST] for state in STATES if state != CLOSED} == {CLOSED}


def test_nothing_happens_to_a_connection_that_is_closed() -> None:
    assert NEXT[CLOSED] == {}


def test_a_connection_that_lingers_takes_no_request_any_more() -> None:
    assert set(NEXT[LINGERING]) == {LOST}


def test_states_and_events_are_those_of_the_table() -> None:
    assert len(NEXT) == len(STATES)
    assert {event for row in NEXT for event in row} == set(EVENTS)
    assert {state for row in NEXT for state in row.values()} == set(STATES)
