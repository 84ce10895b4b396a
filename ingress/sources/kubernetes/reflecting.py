"""Decides what a reflector does next, by the rules of client-go's reflector without its faults.

Chooses between list, watch and waiting, and knows the condition of the scope. Time and randomness are arguments.
Does not know how requests are made, nor what objects look like.
"""

from __future__ import annotations

from typing import Final

import msgspec

from ingress.sources.kubernetes.resources import PAGE_ITEMS
from ingress.sources.kubernetes.scope_events import Condition
from ingress.times import ScalableTimes

# The first failure is often a connection that a load balancer or a rolling API server ended, which nobody needs to
# know.
_FAILURES_WORTH_SAYING: Final = 2

# The longest Retry-After that is obeyed, as a multiple of the longest back-off. A server that asks for more is treated
# like a server that is down.
_RETRY_AFTER_FACTOR_MAX: Final = 10.0


# The answers, as (status, in a stream), that refuse sendInitialEvents. Validation refuses it if the feature is off
# (422) or unknown (400). Storage without progress notifications refuses it by an event in a stream with status 200.
_STREAMING_REFUSALS: Final = frozenset({(422, False), (400, False), (500, True)})


_PASSING_STATUSES: Final = frozenset({408, 429})
"""Statuses of 4xx that say nothing about the request."""


class ReflectorTimes(ScalableTimes, frozen=True):
    """All times of a reflector, in seconds. The defaults are those of client-go's reflector if it has such a time."""

    backoff_first_seconds: float = 0.8
    backoff_factor: float = 2.0
    backoff_max_seconds: float = 30.0
    unanswered_max_seconds: float = 3.0
    """Replaces the longest wait while no connection succeeds and nothing was ever listed. Asking costs the API server
    nothing then, and a replica that cannot serve yet should be ready soon after the API server is back.
    """
    backoff_reset_seconds: float = 120.0
    """After so long without a failure, the next failure counts as the first."""
    forbidden_seconds: float = 30.0
    refusal_is_new_seconds: float = 60.0
    """For so long after the first 403 of a scope that was served before, the scope may be asked for often, because an
    API server that has just started refuses everything until it has read its roles.
    """
    scout_seconds: float = 2.5
    """The longest wait of the scout, the one scope that asks on behalf of all others while the API server is away."""
    return_spread_seconds: float = 1.25
    """All other scopes ask within so long after the API server's return, at random times."""
    missing_seconds: float = 60.0
    discovery_seconds: float = 60.0
    """Between two looks at which kinds of Gateway API the API server serves."""
    streaming_silence_seconds: float = 30.0
    """If a streaming list is silent for so long, something between us and the API server does not support it."""
    watch_min_seconds: float = 270.0
    watch_max_seconds: float = 330.0
    """The API server ends a watch at a random time between the two, so that watches do not end together."""
    read_margin_seconds: float = 15.0
    """A watch that has not ended so long after its time is dead."""
    short_watch_seconds: float = 1.0
    """A watch that ends earlier than this, without an event, has failed."""
    confirmation_seconds: float = 2.0
    """Between an empty list after a full one and the list that may confirm it, so that a lagging cache can catch up."""


class StreamingList(msgspec.Struct, frozen=True):
    """Lists by a watch that begins with the present state, and continues to watch."""

    seconds: int


class PagedList(msgspec.Struct, frozen=True):
    """Lists in pages of `items` objects. With `anything` the list may come from the API server's memory."""

    anything: bool
    items: int = PAGE_ITEMS


class Watch(msgspec.Struct, frozen=True):
    """Follows the changes after a version."""

    version: str
    seconds: int


class Step(msgspec.Struct, frozen=True):
    """The next action, the wait before it, and whether to read the credentials again first.

    `firm_seconds` is the part of the wait that cannot be cut short; None: all of it. The rest ends as soon as the API
    server serves another scope. `scouts`: this scope may be the scout, which asks often on behalf of all scopes.
    """

    action: StreamingList | PagedList | Watch
    wait_seconds: float = 0.0
    refresh_credentials: bool = False
    firm_seconds: float | None = None
    scouts: bool = False


class Listed(msgspec.Struct, frozen=True):
    """A whole list came with `count` objects, while `known` objects were known."""

    version: str
    count: int
    known: int


class Ended(msgspec.Struct, frozen=True):
    """A list is complete, or a stream ended cleanly after `lasted_seconds` with `events`, bookmarks included."""

    lasted_seconds: float = 0.0
    events: int = 0


class Failed(msgspec.Struct, frozen=True):
    """No usable answer or a broken stream (`status` None), a status other than 200, or the code of an ERROR event."""

    problem: str
    status: int | None = None
    in_stream: bool = False
    retry_after_seconds: float | None = None


class Unconfirmed(msgspec.Struct, frozen=True):
    """A whole list arrived, and `Reflecting.listed` did not accept it."""


class Silent(msgspec.Struct, frozen=True):
    """A streaming list fell silent before its end."""


class Unusable(msgspec.Struct, frozen=True):
    """A 200 with something other than a list (not from an API server), or an object that made our own code fail."""

    problem: str


class Oversized(msgspec.Struct, frozen=True):
    """A page of a list was larger than the limit."""

    problem: str


Outcome = Ended | Unconfirmed | Failed | Silent | Unusable | Oversized


class _Backoff:
    """The waits after repeated failures of one kind, in seconds."""

    __slots__ = ("_failed_at", "_failures", "_times")

    def __init__(self, times: ReflectorTimes) -> None:
        self._times = times
        self._failures = 0
        self._failed_at = 0.0

    def next(self, *, now: float, rand: float) -> float:
        """A random wait up to a ceiling, which doubles with each failure and starts again after a healthy time."""
        times = self._times
        if now - self._failed_at >= times.backoff_reset_seconds:
            self._failures = 0
        ceiling = min(times.backoff_first_seconds * times.backoff_factor**self._failures, times.backoff_max_seconds)
        if ceiling < times.backoff_max_seconds:
            self._failures += 1
        self._failed_at = now
        # Full jitter: reconnecting clients spread best if every wait up to the ceiling is equally likely.
        return ceiling * rand


class Reflecting:
    """The state of one reflector. Every outcome has a next step, so a reflector never ends."""

    __slots__ = (
        "_anything",
        "_fruitless",
        "_has_listed",
        "_outdated",
        "_page_items",
        "_refused_at",
        "_retries",
        "_streaming",
        "_suspected_empty",
        "_times",
        "_unauthorised",
        "_version",
        "condition",
        "problem",
    )

    def __init__(self, times: ReflectorTimes, *, page_items: int = PAGE_ITEMS, exact: bool = False) -> None:
        """The first page asks for `page_items`. `exact`: no list may be older than the newest state that was read."""
        self._times = times
        self._streaming = True
        self._anything = not exact
        self._page_items = page_items
        self._version = ""
        """The version after which a watch continues; empty if a list is due."""
        self._has_listed = False
        self._suspected_empty = False
        self._unauthorised = False
        self._retries = _Backoff(times)
        self._outdated = _Backoff(times)
        """Two back-offs, because the outdated version after an outage is not a further failure: its list waits less."""
        self._fruitless = 0
        self._refused_at: float | None = None
        """When the first 403 came after the API server last served the scope."""
        self.condition: Condition | None = None
        """None until something is known."""
        self.problem = ""

    def first(self, *, rand: float) -> Step:
        """The first step. `rand` is a random number in [0, 1), here and in `next`."""
        return Step(self._action(rand))

    def listed(self, listed: Listed) -> bool:
        """Whether this list is accepted as the new state. If not, the outcome is `Unconfirmed`.

        An empty list after a full one may come from an API server that has just started or lost its data. Only a second
        empty list is accepted, because then a retry would not help.
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
        """Notes the version after which the next watch continues."""
        self._version = version or self._version

    def followed(self) -> None:
        """Notes that the API server served a request."""
        self._fruitless = 0
        self._unauthorised = False
        self._refused_at = None
        self.condition = Condition.SYNCED
        self.problem = ""

    def next(self, outcome: Outcome, *, now: float, rand: float) -> Step:
        """The step that follows an outcome. `now` is in seconds of a monotonic clock."""
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
            # A clean end before the end of a streaming list: the server did not understand the request.
            self._streaming = False
            return Step(self._action(rand), self._backoff(now=now, rand=rand))
        if ended.events or ended.lasted_seconds >= self._times.short_watch_seconds:
            self.followed()
            # A proxy may end each watch after a bookmark. That must not cause a storm of requests.
            return Step(self._action(rand), max(0.0, self._times.short_watch_seconds - ended.lasted_seconds))
        return self._passing("the API server ends every watch at once", now=now, rand=rand)

    def _after_unusable(self, problem: str, *, now: float, rand: float) -> Step:
        self._version = ""
        self._turn(Condition.REJECTED, problem)
        return Step(self._action(rand), self._backoff(now=now, rand=rand))

    def _after_oversized(self, problem: str, *, now: float, rand: float) -> Step:
        if self._page_items == 1:
            return self._after_unusable(problem, now=now, rand=rand)
        # Retry at once, because half as many objects may fit, and 500 can be halved only nine times. A list from memory
        # may not be paged.
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
                return self._after_refusal(failed, now=now, rand=rand)
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

    def _after_refusal(self, refused: Failed, *, now: float, rand: float) -> Step:
        self._turn(Condition.FORBIDDEN, refused.problem)
        if self._refused_at is None:
            self._refused_at = now
        wait_seconds = _spread(self._times.forbidden_seconds, rand)
        # the permission may be granted soon, because an installation of zonal creates it as well
        if not self._has_listed:
            wait_seconds = min(wait_seconds, self._backoff(now=now, rand=rand))
        is_new = now - self._refused_at < self._times.refusal_is_new_seconds
        return Step(self._action(rand), wait_seconds, firm_seconds=0.0, scouts=self._has_listed and is_new)

    def _after_rejection(self, failed: Failed, *, now: float, rand: float) -> Step:
        # Only 410 is routine here: the version is too old. A loop of any of these is slowed down.
        backoff = self._outdated
        if failed.status != 410:
            backoff = self._retries
            self._turn(Condition.REJECTED, failed.problem)
        self._version = ""
        self._anything = False
        return Step(self._action(rand), backoff.next(now=now, rand=rand))

    def _after_unauthorised(self, failed: Failed, *, now: float, rand: float) -> Step:
        if not self._unauthorised:
            self._unauthorised = True
            return Step(self._action(rand), refresh_credentials=True)
        self._turn(Condition.REJECTED, failed.problem)
        wait_seconds = self._backoff(now=now, rand=rand)
        return Step(self._action(rand), wait_seconds, refresh_credentials=True, firm_seconds=0.0)

    def _passing(self, problem: str, *, now: float, rand: float, at_least: float = 0.0) -> Step:
        self._fruitless += 1
        self._anything = False  # a list from memory may be too large for one answer, and is not paged
        if self._fruitless >= _FAILURES_WORTH_SAYING:
            self._turn(Condition.UNREACHABLE, problem)
        least = min(at_least, self._times.backoff_max_seconds * _RETRY_AFTER_FACTOR_MAX)
        return Step(self._action(rand), least + self._backoff(now=now, rand=rand), firm_seconds=least, scouts=True)

    def _backoff(self, *, now: float, rand: float) -> float:
        return self._retries.next(now=now, rand=rand)

    def _turn(self, condition: Condition, problem: str) -> None:
        self.condition = condition
        self.problem = problem

    def _action(self, rand: float) -> StreamingList | PagedList | Watch:
        times = self._times
        length = times.watch_min_seconds + rand * (times.watch_max_seconds - times.watch_min_seconds)
        seconds = max(1, round(length))  # the API takes whole seconds
        if self._version:
            return Watch(self._version, seconds)
        return StreamingList(seconds) if self._streaming else PagedList(self._anything, self._page_items)


def _spread(seconds: float, rand: float) -> float:
    # Up to a tenth more at random, so that replicas that failed together do not return together.
    return seconds * (1 + rand / 10)
