"""What a reflector does next: the rules of client-go's reflector without its faults.

Responsible for every decision between list, watch and waiting, and for the condition of the scope. Time and randomness
come in as arguments. It must not know how requests are made, nor what objects look like.
"""

from __future__ import annotations

from typing import Final

import msgspec

from ingress.sources.kubernetes.resources import PAGE_ITEMS
from ingress.sources.kubernetes.scope_events import Condition

# The first failure of many is a connection that a load balancer or a rolling API server ended: nobody needs to know.
_FAILURES_WORTH_SAYING: Final = 2

# A server that asks for more has the same effect as one that is down, and is asked again as seldom.
_RETRY_AFTER_FACTOR_MAX: Final = 10.0


# What says no to sendInitialEvents: validation, with the feature off (422) or unknown (400), and storage without
# progress notifications, whose refusal comes as an event in a stream that begins with 200.
_STREAMING_REFUSALS: Final = frozenset({(422, False), (400, False), (500, True)})


_PASSING_STATUSES: Final = frozenset({408, 429})
"""Those of 4xx that say nothing about the request."""


class ReflectorTimes(msgspec.Struct, frozen=True):
    """Every time of a reflector, in seconds. Defaults are those of client-go's reflector where it has them."""

    backoff_first_seconds: float = 0.8
    backoff_factor: float = 2.0
    backoff_max_seconds: float = 30.0
    unanswered_max_seconds: float = 3.0
    """Instead of the former while no connection comes about and nothing was ever listed: asking costs the API server
    nothing then, and a replica that cannot serve yet shall be ready soon after it is back."""
    backoff_reset_seconds: float = 120.0
    """So long after the last failure, the next one is the first again."""
    forbidden_seconds: float = 30.0
    missing_seconds: float = 60.0
    streaming_silence_seconds: float = 30.0
    """A streaming list from which nothing comes for so long is not supported by something on the way."""
    watch_min_seconds: float = 270.0
    watch_max_seconds: float = 330.0
    """A watch ends at the server at a random time between the two, so that watches do not end together."""
    read_margin_seconds: float = 15.0
    """A watch from which no end has come for so long after its time is dead."""
    short_watch_seconds: float = 1.0
    """A watch that ends before this without an event has failed."""
    confirmation_seconds: float = 2.0
    """Between an empty list after a full one and the list that may confirm it: a lagging cache catches up."""

    def scaled(self, factor: float) -> ReflectorTimes:
        """All times multiplied, for tests that compress time and keep the rules."""
        scaled = {name: getattr(self, name) * factor for name in self.__struct_fields__}
        return ReflectorTimes(**{**scaled, "backoff_factor": self.backoff_factor})


class StreamingList(msgspec.Struct, frozen=True):
    """List by a watch that begins with the present state, and go on watching."""

    seconds: int


class PagedList(msgspec.Struct, frozen=True):
    """List in pages of so many `items`; `anything`: the API server's memory is new enough."""

    anything: bool
    items: int = PAGE_ITEMS


class Watch(msgspec.Struct, frozen=True):
    """Follow the changes after a version."""

    version: str
    seconds: int


class Step(msgspec.Struct, frozen=True):
    """What to do, after what wait, and whether to read the credentials anew before."""

    action: StreamingList | PagedList | Watch
    wait_seconds: float = 0.0
    refresh_credentials: bool = False


class Listed(msgspec.Struct, frozen=True):
    """A whole list came, of `count` objects, while `known` were known."""

    version: str
    count: int
    known: int


class Ended(msgspec.Struct, frozen=True):
    """A list is done, or a stream came to a clean end after `lasted_seconds` with `events` and bookmarks."""

    lasted_seconds: float = 0.0
    events: int = 0


class Failed(msgspec.Struct, frozen=True):
    """No usable answer or a stream that broke (`status` None), another answer than 200, or an ERROR event's code."""

    problem: str
    status: int | None = None
    in_stream: bool = False
    retry_after_seconds: float | None = None


class Unconfirmed(msgspec.Struct, frozen=True):
    """A whole list came and `Reflecting.listed` did not believe it."""


class Silent(msgspec.Struct, frozen=True):
    """A streaming list did not come to its end, and nothing more came."""


class Unusable(msgspec.Struct, frozen=True):
    """A 200 that is not a list, from something that is not an API server, or an object that broke our own code."""

    problem: str


class Oversized(msgspec.Struct, frozen=True):
    """A page of a list was larger than may be read."""

    problem: str


Outcome = Ended | Unconfirmed | Failed | Silent | Unusable | Oversized


class Reflecting:
    """One reflector's memory; no outcome ends it."""

    __slots__ = (
        "_anything",
        "_failed_at",
        "_failures",
        "_fruitless",
        "_has_listed",
        "_page_items",
        "_streaming",
        "_suspected_empty",
        "_times",
        "_unauthorised",
        "_version",
        "condition",
        "problem",
    )

    def __init__(self, times: ReflectorTimes, *, page_items: int = PAGE_ITEMS, exact: bool = False) -> None:
        """Pages begin with `page_items`. `exact`: no list may be older than the last that anybody has read."""
        self._times = times
        self._streaming = True
        self._anything = not exact
        self._page_items = page_items
        self._version = ""
        """Where a watch goes on; empty when a list is due."""
        self._has_listed = False
        self._suspected_empty = False
        self._unauthorised = False
        self._failures = 0
        self._failed_at = 0.0
        self._fruitless = 0
        self.condition: Condition | None = None
        """None until something is known."""
        self.problem = ""

    def first(self, *, rand: float) -> Step:
        """The first step; `rand` here and below is random in [0, 1)."""
        return Step(self._action(rand))

    def listed(self, listed: Listed) -> bool:
        """Whether this list is the new state; if not, the outcome is `Unconfirmed`.

        An empty list after a full one may come from an API server that has just started or lost its data; only a
        second one is believed, for then no retry would help.
        """
        if not listed.count and listed.known and not self._suspected_empty:
            self._suspected_empty = True
            self._anything = False
            return False
        self._suspected_empty = False
        self._anything = False
        self._version = listed.version
        self._has_listed = True
        self.followed()
        return True

    def advanced(self, version: str) -> None:
        """A watch goes on after this version."""
        self._version = version or self._version

    def followed(self) -> None:
        """The API server does what it was asked for."""
        self._fruitless = 0
        self._unauthorised = False
        self.condition, self.problem = Condition.SYNCED, ""

    def next(self, outcome: Outcome, *, now: float, rand: float) -> Step:
        """What follows an outcome, `now` in seconds of a monotonic clock."""
        match outcome:
            case Ended():
                return self._after_end(outcome, now=now, rand=rand)
            case Unconfirmed():
                self._turn(Condition.DOUBTED, "a list came back empty after a full one, and a second has to confirm it")
                return Step(self._action(rand), self._times.confirmation_seconds * (1 + rand) / 2)
            case Silent():
                return self._after_refused_streaming(rand)
            case Unusable(problem):
                return self._after_unusable(problem, now=now, rand=rand)
            case Oversized(problem):
                return self._after_oversized(problem, now=now, rand=rand)
            case Failed():
                return self._after_failure(outcome, now=now, rand=rand)

    def _after_end(self, ended: Ended, *, now: float, rand: float) -> Step:
        if not self._version:
            # A clean end before the end of a streaming list: the server did not know what was asked for.
            self._streaming = False
            return Step(self._action(rand), self._backoff(now=now, rand=rand))
        if ended.events or ended.lasted_seconds >= self._times.short_watch_seconds:
            self.followed()
            # Something on the way may end each watch after a bookmark: that must not become a storm of requests.
            return Step(self._action(rand), max(0.0, self._times.short_watch_seconds - ended.lasted_seconds))
        return self._passing("the API server ends watches at once", now=now, rand=rand)

    def _after_unusable(self, problem: str, *, now: float, rand: float) -> Step:
        self._version = ""
        self._turn(Condition.REJECTED, problem)
        return Step(self._action(rand), self._backoff(now=now, rand=rand))

    def _after_oversized(self, problem: str, *, now: float, rand: float) -> Step:
        if self._page_items == 1:
            return self._after_unusable(problem, now=now, rand=rand)
        # At once: half as many have a chance, and nine halves of 500 are one. A list from memory may not be paged.
        self._page_items //= 2
        self._anything = False
        return Step(self._action(rand))

    def _after_refused_streaming(self, rand: float) -> Step:
        self._streaming = False
        return Step(self._action(rand))

    def _after_failure(self, failed: Failed, *, now: float, rand: float) -> Step:
        if self._streaming and not self._version and (failed.status, failed.in_stream) in _STREAMING_REFUSALS:
            return self._after_refused_streaming(rand)
        match failed.status:
            case 401:
                return self._after_unauthorised(failed, now=now, rand=rand)
            case 403:
                self._turn(Condition.FORBIDDEN, failed.problem)
                return Step(self._action(rand), _spread(self._times.forbidden_seconds, rand))
            case 404:
                self._turn(Condition.MISSING, failed.problem)
                self._version = ""
                return Step(self._action(rand), _spread(self._times.missing_seconds, rand))
            case int(status) if 300 <= status < 500 and status not in _PASSING_STATUSES:
                return self._after_rejection(failed, now=now, rand=rand)
        step = self._passing(failed.problem, now=now, rand=rand, at_least=failed.retry_after_seconds or 0.0)
        is_unanswered = failed.status is None and not self._has_listed
        limit = self._times.unanswered_max_seconds * rand if is_unanswered else step.wait_seconds
        return msgspec.structs.replace(step, wait_seconds=min(step.wait_seconds, limit))

    def _after_rejection(self, failed: Failed, *, now: float, rand: float) -> Step:
        # Of these only 410 is routine: the version is too old. A loop of any is slowed down.
        if failed.status != 410:
            self._turn(Condition.REJECTED, failed.problem)
        self._version = ""
        self._anything = False
        return Step(self._action(rand), self._backoff(now=now, rand=rand))

    def _after_unauthorised(self, failed: Failed, *, now: float, rand: float) -> Step:
        if not self._unauthorised:
            self._unauthorised = True
            return Step(self._action(rand), refresh_credentials=True)
        self._turn(Condition.REJECTED, failed.problem)
        return Step(self._action(rand), self._backoff(now=now, rand=rand), refresh_credentials=True)

    def _passing(self, problem: str, *, now: float, rand: float, at_least: float = 0.0) -> Step:
        self._fruitless += 1
        self._anything = False  # what is in memory may be too large for one answer, and is not paged
        if self._fruitless >= _FAILURES_WORTH_SAYING:
            self._turn(Condition.UNREACHABLE, problem)
        least = min(at_least, self._times.backoff_max_seconds * _RETRY_AFTER_FACTOR_MAX)
        return Step(self._action(rand), least + self._backoff(now=now, rand=rand))

    def _backoff(self, *, now: float, rand: float) -> float:
        times = self._times
        if now - self._failed_at >= times.backoff_reset_seconds:
            self._failures = 0
        ceiling = min(times.backoff_first_seconds * times.backoff_factor**self._failures, times.backoff_max_seconds)
        if ceiling < times.backoff_max_seconds:
            self._failures += 1
        self._failed_at = now
        # Full jitter: reconnecting clients spread best when any wait up to the ceiling is as likely.
        return ceiling * rand

    def _turn(self, condition: Condition, problem: str) -> None:
        self.condition, self.problem = condition, problem

    def _action(self, rand: float) -> StreamingList | PagedList | Watch:
        times = self._times
        length = times.watch_min_seconds + rand * (times.watch_max_seconds - times.watch_min_seconds)
        seconds = max(1, round(length))  # the API takes whole seconds
        if self._version:
            return Watch(self._version, seconds)
        return StreamingList(seconds) if self._streaming else PagedList(self._anything, self._page_items)


def _spread(seconds: float, rand: float) -> float:
    # A tenth more at random, so that replicas that failed together do not come back together.
    return seconds * (1 + rand / 10)
