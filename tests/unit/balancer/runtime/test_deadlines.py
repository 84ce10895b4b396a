"""The wheel: what is late expires once, what moved its deadline does not, and what is gone is forgotten."""

from __future__ import annotations

import asyncio
import gc
import weakref

import pytest

from balancer.runtime.deadlines import LOOK_SECONDS, NEVER, TICK_SECONDS, Alarm, Deadlines, Watched


class Clock(asyncio.SelectorEventLoop):
    """A loop whose time moves only when a test says so, and that keeps the one timer of the wheel for it."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 1000.0

    def time(self) -> float:
        return self.now

    def advance(self, seconds: float) -> None:
        """Let time pass in steps shorter than a tick, running what becomes due."""
        end = self.now + seconds
        while self.now < end:
            self.now = min(self.now + TICK_SECONDS / 2, end)
            self.run_until_complete(asyncio.sleep(0))
            self.run_until_complete(asyncio.sleep(0))


class Thing:
    """Something with a deadline that notes when it expired."""

    def __init__(self, clock: Clock) -> None:
        self.closed = False
        self.deadline = self.next_look = NEVER
        self.place: dict[Watched, None] | None = None
        self.expired_at: list[float] = []
        self._clock = clock

    def expire(self) -> None:
        self.expired_at.append(self._clock.time())


class Bench:
    """A wheel on a clock of its own."""

    def __enter__(self) -> Bench:
        self.clock = Clock()
        self.wheel = Deadlines(self.clock)
        return self

    def __exit__(self, *_: object) -> None:
        self.wheel.stop()
        self.clock.close()

    def arm(self, thing: Thing, seconds: float) -> None:
        self.wheel.arm(thing, self.clock.now + seconds)

    def until_expired(self, thing: Thing) -> None:
        """Let time pass until the turn of the loop in which a thing expires."""
        while not thing.expired_at:
            self.clock.now += TICK_SECONDS / 2
            self.clock.run_until_complete(asyncio.sleep(0))

    def thing(self, seconds: float) -> Thing:
        thing = Thing(self.clock)
        self.arm(thing, seconds)
        return thing


def test_a_deadline_fires_once_not_early_and_at_most_two_ticks_late() -> None:
    with Bench() as bench:
        things = [bench.thing(seconds) for seconds in (0.0, 0.01, 0.1, 0.25, 1.0, 7.3)]
        due = [thing.deadline for thing in things]
        bench.clock.advance(20)
        for thing, deadline in zip(things, due, strict=True):
            assert len(thing.expired_at) == 1
            assert deadline <= thing.expired_at[0] <= deadline + 2 * TICK_SECONDS


def test_a_deadline_moved_later_fires_at_the_later_time_only() -> None:
    with Bench() as bench:
        thing = bench.thing(1.0)
        bench.clock.advance(0.5)
        bench.arm(thing, 3.0)
        bench.clock.advance(2.5)
        assert thing.expired_at == []
        bench.clock.advance(1.0)
        assert len(thing.expired_at) == 1


def test_a_deadline_moved_earlier_fires_at_the_earlier_time_only() -> None:
    with Bench() as bench:
        thing = bench.thing(5.0)
        bench.arm(thing, 1.0)
        bench.clock.advance(1.3)
        assert len(thing.expired_at) == 1
        bench.clock.advance(10)
        assert len(thing.expired_at) == 1


def test_a_deadline_moved_earlier_and_later_again_fires_at_the_last_time_only() -> None:
    with Bench() as bench:
        thing = bench.thing(5.0)
        bench.arm(thing, 1.0)
        bench.arm(thing, 8.0)
        bench.clock.advance(7.9)
        assert thing.expired_at == []
        bench.clock.advance(0.5)
        assert len(thing.expired_at) == 1


def test_what_comes_due_while_the_loop_stands_still_gets_that_time_back() -> None:
    with Bench() as bench:
        heard, silent, later = bench.thing(1.0), bench.thing(1.0), bench.thing(5.0)
        bench.clock.advance(0.5)
        bench.clock.now += 2.0
        bench.clock.advance(TICK_SECONDS)
        assert silent.expired_at == []
        bench.arm(heard, 10.0)  # what it waits for had arrived
        bench.clock.advance(0.5 + 2 * TICK_SECONDS)
        assert len(silent.expired_at) == 1
        assert silent.expired_at[0] >= 1003.0 - TICK_SECONDS
        bench.clock.advance(5.0)
        assert heard.expired_at == []
        assert len(later.expired_at) == 1


def test_a_stall_at_the_end_of_a_deadline_leaves_time_to_read() -> None:
    with Bench() as bench:
        thing = bench.thing(0.01)
        bench.clock.now += 0.5
        bench.clock.advance(TICK_SECONDS / 2)
        assert thing.expired_at == []


def test_the_wheel_says_that_its_loop_turns() -> None:
    with Bench() as bench:
        bench.clock.advance(1.0)
        absences, now = bench.wheel.absences, bench.clock.now
        bench.clock.now += 2.0
        bench.clock.advance(TICK_SECONDS)
        assert absences.missed(now - 1.0, now + 2.0) >= 2.0 - 2 * TICK_SECONDS


def test_what_expired_may_be_armed_again() -> None:
    with Bench() as bench:
        thing = bench.thing(1.0)
        bench.clock.advance(2.0)
        bench.arm(thing, 1.0)
        bench.clock.advance(2.0)
        assert len(thing.expired_at) == 2


def test_a_deadline_taken_back_does_not_fire() -> None:
    with Bench() as bench:
        thing = bench.thing(1.0)
        thing.deadline = NEVER
        bench.clock.advance(5.0)
        assert thing.expired_at == []
        bench.arm(thing, 1.0)
        bench.clock.advance(2.0)
        assert len(thing.expired_at) == 1


def test_what_is_closed_does_not_expire_and_is_forgotten() -> None:
    with Bench() as bench:
        thing = bench.thing(1.0)
        thing.closed = True
        bench.clock.advance(2.0)
        assert thing.expired_at == []
        gone = weakref.ref(thing)
        del thing
        gc.collect()
        assert gone() is None


@pytest.mark.large
def test_what_is_forgotten_is_held_no_longer_and_expires_no_more_even_if_it_is_armed_again() -> None:
    with Bench() as bench:
        thing, other = bench.thing(75.0), bench.thing(75.0)
        bench.arm(thing, 2.0)
        bench.arm(thing, 9.0)
        bench.wheel.forget(thing)
        bench.arm(thing, 1.0)
        bench.clock.advance(80.0)
        assert (len(thing.expired_at), len(other.expired_at)) == (0, 1)


@pytest.mark.parametrize("seconds", [(75.0,), (75.0, 2.0), (2.0, 75.0), (-1.0,)])
def test_nothing_refers_to_what_is_forgotten(seconds: tuple[float, ...]) -> None:
    with Bench() as bench:
        thing = Thing(bench.clock)
        for each in seconds:
            bench.arm(thing, each)
        gone = weakref.ref(thing)
        bench.wheel.forget(thing)
        del thing
        assert gone() is None  # at once, without the garbage collector


def test_what_is_forgotten_while_a_crowd_before_it_expires_is_gone() -> None:
    with Bench() as bench:
        crowd, last = [bench.thing(1.0) for _ in range(500)], bench.thing(1.0)
        bench.until_expired(crowd[0])
        gone = weakref.ref(last)
        bench.wheel.forget(last)
        del last
        assert gone() is None
        bench.clock.advance(2.0)
        assert len(crowd[-1].expired_at) == 1


def test_a_loop_that_stood_still_catches_up() -> None:
    with Bench() as bench:
        things = [bench.thing(seconds) for seconds in (1.0, 30.0, 100.0)]
        bench.clock.now += 60
        bench.clock.advance(TICK_SECONDS)
        found = [[len(thing.expired_at) for thing in things]]
        for seconds in (1.2, 29.0, 10.0):
            bench.clock.advance(seconds)
            found.append([len(thing.expired_at) for thing in things])
        assert found == [[0, 0, 0], [1, 0, 0], [1, 1, 0], [1, 1, 1]]


def test_a_crowd_that_is_due_at_once_expires_over_many_turns_of_the_loop_and_within_the_same_time() -> None:
    with Bench() as bench:
        things = [bench.thing(1.0) for _ in range(500)]
        bench.until_expired(things[0])
        at_once, before = [], 0
        while before < len(things):
            bench.clock.run_until_complete(asyncio.sleep(0))  # one turn, in no time
            expired = sum(len(thing.expired_at) for thing in things)
            at_once.append(expired - before)
            before = expired
        assert 0 < max(at_once) <= 50
        assert [thing.expired_at for thing in things] == [[bench.clock.now]] * len(things)


def test_what_is_armed_anew_or_closed_while_a_crowd_before_it_expires_does_not_expire_with_it() -> None:
    with Bench() as bench:
        crowd = [bench.thing(1.0) for _ in range(500)]
        late, gone = bench.thing(1.0), bench.thing(1.0)
        bench.until_expired(crowd[0])
        bench.arm(late, 3.0)
        gone.closed = True
        bench.clock.advance(2.0)
        assert len(crowd[-1].expired_at) == 1
        assert late.expired_at == gone.expired_at == []
        bench.clock.advance(1.5)
        assert len(late.expired_at) == 1


def test_one_that_fails_keeps_no_other_from_its_end() -> None:
    class Failing(Thing):
        def expire(self) -> None:
            raise ValueError

    with Bench() as bench:
        failures: list[object] = []
        bench.clock.set_exception_handler(lambda _, context: failures.append(context["exception"]))
        bench.arm(Failing(bench.clock), 1.0)
        together, later = bench.thing(1.0), bench.thing(2.0)
        bench.clock.advance(3.0)
        assert len(failures) == len(together.expired_at) == len(later.expired_at) == 1


def test_a_wheel_that_is_stopped_amid_a_crowd_is_silent() -> None:
    with Bench() as bench:
        crowd = [bench.thing(1.0) for _ in range(500)]
        bench.until_expired(crowd[0])
        bench.wheel.stop()
        bench.clock.advance(5.0)
        assert crowd[-1].expired_at == []


def test_a_stopped_wheel_is_silent() -> None:
    with Bench() as bench:
        thing = bench.thing(1.0)
        bench.wheel.stop()
        bench.clock.advance(5.0)
        assert thing.expired_at == []


async def test_no_time_of_an_alarm_ends_after_its_limit() -> None:
    loop = asyncio.get_running_loop()
    deadlines = Deadlines(loop)
    alarm = Alarm(deadlines, loop)
    assert alarm.left() == NEVER
    alarm.limit_to(10.0)
    alarm.set(100.0)
    assert alarm.deadline == alarm.limit
    alarm.set(1.0)
    assert alarm.deadline < alarm.limit
    assert 1.0 < alarm.left() <= 10.0
    deadlines.stop()


class Waiting:
    """Whoever waits for an answer, and looks around meanwhile."""

    def __init__(self) -> None:
        self.looked = self.expirations = 0

    def looks(self) -> None:
        self.looked += 1

    def expired(self) -> None:
        self.expirations += 1


def test_who_waits_looks_now_and_then_until_the_time_is_over() -> None:
    with Bench() as bench:
        alarm, waiting = Alarm(bench.wheel, bench.clock), Waiting()
        alarm.owner = waiting
        alarm.set_looking(3.0)
        bench.clock.advance(2.9)
        assert 4 <= waiting.looked <= 5
        assert waiting.expirations == 0
        bench.clock.advance(0.5)
        assert waiting.expirations == 1


def test_a_look_may_come_sooner_and_the_time_that_is_allowed_stays() -> None:
    with Bench() as bench:
        alarm, waiting = Alarm(bench.wheel, bench.clock), Waiting()
        alarm.owner = waiting
        alarm.set_looking(3.0)
        bench.clock.advance(0.7)
        alarm.look_sooner(0.05)
        bench.clock.advance(0.2)
        assert waiting.looked == 2
        alarm.look_sooner(5.0)
        bench.clock.advance(LOOK_SECONDS + 0.2)
        assert waiting.looked == 3, "later than it would be is not sooner"
        bench.clock.advance(1.2)
        assert waiting.expirations == 0
        bench.clock.advance(0.6)
        assert waiting.expirations == 1


def test_who_looks_no_more_cannot_look_sooner() -> None:
    with Bench() as bench:
        alarm, waiting = Alarm(bench.wheel, bench.clock), Waiting()
        alarm.owner = waiting
        alarm.set(3.0)
        alarm.look_sooner(0.1)
        bench.clock.advance(2.9)
        assert (waiting.looked, waiting.expirations) == (0, 0)


def test_who_looks_around_is_not_late_because_the_loop_stood_still() -> None:
    with Bench() as bench:
        alarm, waiting = Alarm(bench.wheel, bench.clock), Waiting()
        alarm.owner = waiting
        alarm.set_looking(3.0)
        bench.clock.advance(0.2)
        bench.clock.now += 4.0
        bench.clock.advance(2.0)
        assert waiting.expirations == 0
        bench.clock.advance(1.5)
        assert waiting.expirations == 1


def test_nobody_looks_after_another_time_was_set_or_where_it_is_short() -> None:
    with Bench() as bench:
        alarm, waiting = Alarm(bench.wheel, bench.clock), Waiting()
        alarm.owner = waiting
        alarm.set_looking(3.0)
        alarm.set(2.0)
        bench.clock.advance(2.5)
        assert (waiting.looked, waiting.expirations) == (0, 1)
        alarm.set_looking(LOOK_SECONDS / 2)
        bench.clock.advance(2.5)
        assert (waiting.looked, waiting.expirations) == (0, 2)


def test_a_limit_ends_the_looks() -> None:
    with Bench() as bench:
        alarm, waiting = Alarm(bench.wheel, bench.clock), Waiting()
        alarm.owner = waiting
        alarm.limit_to(1.6)
        alarm.set_looking(60.0)
        bench.clock.advance(2.0)
        assert (waiting.looked, waiting.expirations) == (2, 1)
