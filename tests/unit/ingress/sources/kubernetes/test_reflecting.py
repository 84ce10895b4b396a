"""Every outcome has its next step, and no sequence of outcomes makes a reflector a burden."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingress.sources.kubernetes.reflecting import (
    Ended,
    Failed,
    Listed,
    Outcome,
    Oversized,
    PagedList,
    Reflecting,
    ReflectorTimes,
    Silent,
    Step,
    StreamingList,
    Unconfirmed,
    Unusable,
    Watch,
)
from ingress.sources.kubernetes.scope_events import Condition
from tests.properties import examples

TIMES = ReflectorTimes()
LATER = 10_000.0  # any time that is long after the start of a machine


def started() -> Reflecting:
    reflecting = Reflecting(TIMES)
    reflecting.first(rand=0.5)
    return reflecting


def synced(version: str = "7", count: int = 3) -> Reflecting:
    reflecting = started()
    assert reflecting.listed(Listed(version, count, 0))
    return reflecting


def after(reflecting: Reflecting, outcome: Outcome, *, now: float = LATER, rand: float = 0.5) -> Step:
    return reflecting.next(outcome, now=now, rand=rand)


def test_the_first_step_is_a_streaming_list_at_once() -> None:
    assert Reflecting(TIMES).first(rand=0.0) == Step(StreamingList(270))
    assert Reflecting(TIMES).first(rand=0.999).action == StreamingList(330)


def test_a_list_is_followed_by_a_watch_from_its_version() -> None:
    reflecting = synced("7")
    assert reflecting.condition is Condition.SYNCED
    assert after(reflecting, Ended(300.0, 4), rand=0.0) == Step(Watch("7", 270))
    assert after(reflecting, Ended(300.0, 4), rand=0.5) == Step(Watch("7", 300))


def test_a_clean_end_leads_to_a_watch_from_the_version_that_was_reached() -> None:
    reflecting = synced("7")
    reflecting.advanced("12")
    reflecting.advanced("")
    assert after(reflecting, Ended(300.0)) == Step(Watch("12", 300))


def test_a_watch_that_ends_at_once_with_events_is_sound_and_not_repeated_at_once() -> None:
    reflecting = synced()
    assert [after(reflecting, Ended(0.25, 1)).wait_seconds for _ in range(3)] == [0.75, 0.75, 0.75]
    assert reflecting.condition is Condition.SYNCED
    assert after(reflecting, Ended(1.0, 1)).wait_seconds == 0


def test_watches_that_end_at_once_without_events_are_slowed_down() -> None:
    reflecting = synced()
    steps = [after(reflecting, Ended(0.1, 0), now=LATER + second, rand=0.999) for second in range(8)]
    assert [round(step.wait_seconds, 1) for step in steps] == [0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30.0, 30.0]
    assert {type(step.action) for step in steps} == {Watch}
    assert reflecting.condition is Condition.UNREACHABLE


@pytest.mark.parametrize("refusal", [Failed("no", 422), Failed("no", 400), Failed("no", 500, in_stream=True), Silent()])
def test_a_streaming_list_that_is_refused_is_replaced_by_pages_for_good(refusal: Outcome) -> None:
    reflecting = started()
    assert after(reflecting, refusal) == Step(PagedList(anything=True))
    assert reflecting.condition is None
    reflecting.listed(Listed("7", 1, 0))
    assert isinstance(after(reflecting, Failed("gone", 410)).action, PagedList)


@pytest.mark.parametrize("failure", [Failed("no", 500), Failed("no", 503, in_stream=True), Failed("refused")])
def test_a_failure_that_says_nothing_of_streaming_lists_is_not_remembered_as_one(failure: Failed) -> None:
    assert isinstance(after(started(), failure).action, StreamingList)


def test_a_streaming_list_that_ends_before_its_end_is_replaced_by_pages() -> None:
    assert isinstance(after(started(), Ended(300.0)).action, PagedList)


def test_only_the_first_list_may_come_from_memory() -> None:
    reflecting = started()
    assert after(reflecting, Silent()).action == PagedList(anything=True)
    reflecting.listed(Listed("7", 1, 0))
    assert after(reflecting, Failed("gone", 410)).action == PagedList(anything=False)


def test_a_list_from_memory_that_fails_is_not_asked_for_again() -> None:
    reflecting = started()
    after(reflecting, Silent())
    assert after(reflecting, Failed("the answer is too large")).action == PagedList(anything=False)


def test_a_version_that_is_too_old_leads_to_a_list_and_is_nothing_to_say() -> None:
    reflecting = synced()
    step = after(reflecting, Failed("too old", 410), rand=0.999)
    assert isinstance(step.action, StreamingList)
    assert step.wait_seconds < 0.8
    assert reflecting.condition is Condition.SYNCED


def test_versions_that_are_too_old_again_and_again_are_slowed_down() -> None:
    reflecting = synced()
    waits = [after(reflecting, Failed("too old", 410), now=LATER + n, rand=0.999).wait_seconds for n in range(4)]
    assert [round(wait, 1) for wait in waits] == [0.8, 1.6, 3.2, 6.4]


def test_an_empty_list_after_a_full_one_is_believed_the_second_time() -> None:
    reflecting = synced(count=3)
    after(reflecting, Failed("gone", 410))
    assert not reflecting.listed(Listed("9", 0, 3))
    step = after(reflecting, Unconfirmed(), rand=0.999)
    assert isinstance(step.action, StreamingList)
    assert 1 <= step.wait_seconds <= 2
    conditions = [reflecting.condition]
    assert reflecting.listed(Listed("9", 0, 3))
    assert [*conditions, reflecting.condition] == [Condition.DOUBTED, Condition.SYNCED]
    assert after(reflecting, Ended(300.0)).action == Watch("9", 300)


def test_who_has_never_listed_asks_often_while_nobody_is_there() -> None:
    waiting, following = started(), synced()
    for _ in range(8):
        waits = [after(each, Failed("refused"), rand=0.999).wait_seconds for each in (waiting, following)]
    assert waits[0] <= TIMES.unanswered_max_seconds
    assert waits[1] > 20
    assert after(waiting, Failed("HTTP 503", 503), rand=0.999).wait_seconds > 20  # it is there and has too much to do


def test_an_empty_list_is_believed_where_nothing_was_known() -> None:
    assert started().listed(Listed("9", 0, 0))


def test_a_full_list_takes_the_suspicion_away() -> None:
    reflecting = synced()
    assert not reflecting.listed(Listed("9", 0, 3))
    assert reflecting.listed(Listed("10", 2, 3))
    assert not reflecting.listed(Listed("11", 0, 2))


def test_a_failure_between_two_empty_lists_does_not_confirm() -> None:
    reflecting = synced()
    after(reflecting, Failed("gone", 410))
    assert not reflecting.listed(Listed("9", 0, 3))
    after(reflecting, Unconfirmed())
    assert isinstance(after(reflecting, Failed("refused")).action, StreamingList)
    assert reflecting.listed(Listed("9", 0, 3))


def test_a_401_reads_the_credentials_once_before_it_is_said() -> None:
    reflecting = synced()
    assert after(reflecting, Failed("HTTP 401", 401)) == Step(Watch("7", 300), 0.0, refresh_credentials=True)
    assert reflecting.condition is Condition.SYNCED
    step = after(reflecting, Failed("HTTP 401", 401))
    assert step.refresh_credentials
    assert step.wait_seconds > 0
    assert (reflecting.condition, reflecting.problem) == (Condition.REJECTED, "HTTP 401")
    reflecting.followed()
    assert after(reflecting, Failed("HTTP 401", 401)).wait_seconds == 0


@pytest.mark.parametrize("rand", [0.0, 0.999])
def test_a_403_keeps_everything_and_waits_for_half_a_minute(rand: float) -> None:
    reflecting = synced()
    step = after(reflecting, Failed("HTTP 403", 403), rand=rand)
    assert isinstance(step.action, Watch)
    assert 30 <= step.wait_seconds <= 33
    assert reflecting.condition is Condition.FORBIDDEN


def test_a_403_of_what_was_served_before_may_be_asked_for_on_behalf_of_all_for_a_minute() -> None:
    reflecting = synced()
    assert after(reflecting, Failed("HTTP 403", 403), now=LATER).scouts
    assert after(reflecting, Failed("HTTP 403", 403), now=LATER + 59).scouts
    assert not after(reflecting, Failed("HTTP 403", 403), now=LATER + 60).scouts
    reflecting.followed()
    step = after(reflecting, Failed("HTTP 403", 403), now=LATER + 61)
    assert (step.scouts, step.firm_seconds) == (True, 0.0)


def test_a_403_of_what_was_never_served_is_asked_again_by_back_off_and_on_behalf_of_nobody() -> None:
    reflecting = started()
    steps = [after(reflecting, Failed("HTTP 403", 403), now=LATER + second, rand=0.999) for second in range(8)]
    assert [round(step.wait_seconds, 1) for step in steps] == [0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30.0, 30.0]
    assert not any(step.scouts for step in steps)
    assert {step.firm_seconds for step in steps} == {0.0}
    assert reflecting.condition is Condition.FORBIDDEN


@pytest.mark.parametrize("status", [None, 500, 503])
def test_a_wait_for_an_api_server_that_is_away_ends_with_its_return(status: int | None) -> None:
    step = after(synced(), Failed("no", status))
    assert (step.scouts, step.firm_seconds) == (True, 0.0)


@pytest.mark.parametrize("status", [301, 400, 404, 410])
def test_a_wait_for_anything_else_does_not(status: int) -> None:
    step = after(synced(), Failed("no", status))
    assert (step.scouts, step.firm_seconds) == (False, None)


def test_a_404_is_asked_again_each_minute_with_a_list() -> None:
    reflecting = synced()
    step = after(reflecting, Failed("HTTP 404", 404))
    assert isinstance(step.action, StreamingList)
    assert 60 <= step.wait_seconds <= 66
    assert reflecting.condition is Condition.MISSING


@pytest.mark.parametrize("status", [301, 400, 405, 406, 415])
def test_what_will_not_pass_by_itself_is_rejected_and_begins_with_a_list(status: int) -> None:
    reflecting = synced()
    assert isinstance(after(reflecting, Failed("no", status)).action, StreamingList)
    assert reflecting.condition is Condition.REJECTED


def test_an_answer_that_is_no_list_is_rejected() -> None:
    reflecting = synced()
    step = after(reflecting, Unusable("the answer is not a list of objects"))
    assert isinstance(step.action, StreamingList)
    assert step.wait_seconds > 0
    assert (reflecting.condition, reflecting.problem) == (Condition.REJECTED, "the answer is not a list of objects")


@pytest.mark.parametrize("status", [None, 408, 429, 500, 502, 503, 504])
def test_what_passes_goes_on_with_the_same_watch_and_is_said_the_second_time(status: int | None) -> None:
    reflecting = synced()
    assert after(reflecting, Failed("no", status)).action == Watch("7", 300)
    assert reflecting.condition is Condition.SYNCED
    after(reflecting, Failed("no", status))
    assert (reflecting.condition, reflecting.problem) == (Condition.UNREACHABLE, "no")
    reflecting.followed()
    assert (reflecting.condition, reflecting.problem) == (Condition.SYNCED, "")


def test_retry_after_is_a_minimum_with_jitter_and_a_bound() -> None:
    reflecting = synced()
    step = after(reflecting, Failed("slow", 429, retry_after_seconds=20))
    assert 20 <= step.wait_seconds <= 20.8
    assert step.firm_seconds == 20
    assert after(reflecting, Failed("slow", 503, retry_after_seconds=1e9)).wait_seconds <= 330


def test_two_healthy_minutes_make_the_next_failure_the_first_again() -> None:
    reflecting = synced()
    for second in range(10):
        after(reflecting, Failed("no"), now=LATER + second)
    assert after(reflecting, Failed("no"), now=LATER + 100, rand=0.999).wait_seconds > 20
    assert after(reflecting, Failed("no"), now=LATER + 300, rand=0.999).wait_seconds < 0.8


def test_a_version_that_is_too_old_after_an_outage_is_listed_as_soon_as_after_none() -> None:
    reflecting = synced()
    for second in range(60):
        after(reflecting, Failed("refused"), now=LATER + second)
    waits = [after(reflecting, Failed("old", 410), now=LATER + 60 + n, rand=0.999).wait_seconds for n in range(3)]
    assert [round(wait, 1) for wait in waits] == [0.8, 1.6, 3.2]


def test_times_are_scaled_and_rules_are_not() -> None:
    quick = TIMES.scaled(0.01)
    assert quick.backoff_factor == TIMES.backoff_factor
    assert quick.backoff_max_seconds == pytest.approx(0.3)
    assert Reflecting(TIMES.scaled(0.0001)).first(rand=0.0) == Step(StreamingList(1))  # the API takes whole seconds


@pytest.mark.parametrize("status", [None, 429, 503, 500, 410])
def test_k10_an_api_server_in_trouble_is_asked_less_than_once_in_three_seconds(status: int | None) -> None:
    chance = random.Random(1)
    reflecting, now, requests = synced(), LATER, 0
    while now < LATER + 3600:
        healthy = chance.random() < 0.5
        if healthy and now > LATER + 120:
            requests += 1
            reflecting.listed(Listed("7", 3, 3))
            now += chance.random() * 10  # it breaks again soon
        step = reflecting.next(Failed("no", status), now=now, rand=chance.random())
        requests += now > LATER + 120
        now += step.wait_seconds
    assert requests / 3480 < 0.3


def test_k22_twenty_that_lose_the_api_server_together_come_back_spread() -> None:
    moments = []
    for seed in range(20):
        chance = random.Random(seed)
        reflecting, now = synced(), LATER
        while now < LATER + 30:  # it is away for so long
            now += reflecting.next(Failed("refused"), now=now, rand=chance.random()).wait_seconds
        moments.append(now)
    assert max(moments) - min(moments) > 5
    assert max(sum(start <= moment < start + 1 for moment in moments) for start in moments) <= 8


def test_a_page_that_is_too_large_is_asked_for_by_halves_down_to_one_object() -> None:
    reflecting = started()
    after(reflecting, Silent())
    asked = []
    for _ in range(8):
        step = after(reflecting, Oversized("too large"))
        assert not step.wait_seconds
        assert reflecting.condition is None
        asked.append(step.action)
    assert asked == [PagedList(False, items) for items in (250, 125, 62, 31, 15, 7, 3, 1)]
    hopeless = after(reflecting, Oversized("too large"))
    assert (hopeless.action, reflecting.condition) == (PagedList(False, 1), Condition.REJECTED)
    assert hopeless.wait_seconds > 0


def test_the_size_of_pages_that_came_through_is_remembered() -> None:
    reflecting = started()
    after(reflecting, Silent())
    after(reflecting, Oversized("too large"))
    assert reflecting.listed(Listed("7", 3, 0))
    assert after(reflecting, Failed("too old", 410)).action == PagedList(False, 250)


def test_a_list_that_has_to_be_exact_never_takes_what_the_server_happens_to_remember() -> None:
    reflecting = Reflecting(TIMES, page_items=50, exact=True)
    reflecting.first(rand=0.5)
    assert after(reflecting, Silent()).action == PagedList(False, 50)


_OUTCOMES = st.one_of(
    st.builds(Ended, st.floats(0, 400), st.integers(0, 3)),
    st.just(Unconfirmed()),
    st.just(Silent()),
    st.builds(Unusable, st.just("no")),
    st.builds(Oversized, st.just("no")),
    st.builds(
        Failed,
        st.just("no"),
        st.sampled_from([None, 200, 301, 400, 401, 403, 404, 408, 410, 422, 429, 500, 503, 599, 0]),
        st.booleans(),
        st.none() | st.floats(0, 1e6),
    ),
)


@examples(100)
@given(st.lists(st.tuples(_OUTCOMES, st.floats(0, 0.999), st.integers(0, 2)), max_size=25))
def test_no_sequence_of_outcomes_ends_it_or_makes_it_hurry(story: list[tuple[Outcome, float, int]]) -> None:
    reflecting, now, at_once, halves = started(), LATER, 0, 0
    for outcome, rand, listed in story:
        if listed:
            reflecting.listed(Listed("9", listed - 1, 3))
        step = reflecting.next(outcome, now=now, rand=rand)
        assert 0 <= step.wait_seconds <= 400
        is_sound = isinstance(outcome, Ended) or listed or rand == 0
        at_once = 0 if step.wait_seconds or is_sound else at_once + 1
        # A refused streaming list and a 401 are answered at once, one after the other.
        halves += isinstance(outcome, Oversized) and not step.wait_seconds and rand > 0
        assert at_once <= 2 + halves or isinstance(outcome, Silent)
        assert halves <= 8
        now += step.wait_seconds + 1
