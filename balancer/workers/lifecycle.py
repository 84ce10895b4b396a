"""How long a worker process may take for what, and when the next one of its slot starts.

Responsible for judging one process by what it says and when, and for the pauses between processes that end early. It
must not know processes, channels or clocks: times are seconds of any one clock that never goes back.
"""

from __future__ import annotations

from enum import Enum, auto
from math import inf

import msgspec


class Times(msgspec.Struct, frozen=True, kw_only=True):
    """Bounds, in seconds.

    A process has `start` to accept, and after each in its slot that was killed before it did, twice as long, up to
    `longest_start`; it is asked every `ping`, and has `answer` to say anything at all after that, of
    time in which it could have: what it waited for a processor does not count, up to `hopeless` in all. One that does
    not come to accept, or ends by itself before it did for `proof`, has failed. What fails in one place will
    fail in the others, so that starts after failed ones have a pause in common: none before the first, then
    `failed_pause`, then four times the one before, up to `longest_pause`, which makes nine in the first minute; the
    next proof ends them. For one that served, or was killed, clients wait in the queue, so its successor never waits
    for longer than `first_pause`, and not at all after `forgotten` of service. `slack` is how late a drain may end.
    """

    start: float = 30.0
    longest_start: float = 300.0
    ping: float = 0.5
    answer: float = 3.0
    hopeless: float = 30.0
    first_pause: float = 0.1
    failed_pause: float = 0.2
    longest_pause: float = 10.0
    proof: float = 1.0
    forgotten: float = 60.0
    slack: float = 4.0


class Phase(Enum):
    """What a process is doing; it only ever goes on to a later phase."""

    STARTING = auto()
    ACCEPTING = auto()
    RETIRING = auto()  # accepts until its successor does
    DRAINING = auto()


class Overdue(Enum):
    """Why a process is to be killed."""

    START = "has not begun to accept"
    ANSWER = "does not answer"
    DRAIN = "has not ended its drain"


class Life:
    """One process, from its start to its end."""

    __slots__ = (
        "_begun",
        "_drain_until",
        "_excused",
        "_pinged_at",
        "_seen_at",
        "_silent_since",
        "_starved",
        "_times",
        "accepted_at",
        "phase",
    )

    def __init__(self, times: Times, now: float) -> None:
        self._times = times
        self._begun = self._seen_at = now
        self._pinged_at = -inf
        self._silent_since: float | None = None
        self._starved = self._excused = 0.0  # for how long in all, and of its present silence
        self._drain_until = inf
        self.accepted_at: float | None = None
        self.phase = Phase.STARTING

    @property
    def is_accepting(self) -> bool:
        """Whether connections are taken in, drains apart."""
        return self.accepted_at is not None and self.phase is not Phase.DRAINING

    def heard(self) -> None:
        """It said something, whatever it was."""
        self._silent_since = None

    def accepting(self, now: float) -> None:
        """It accepts connections."""
        self.accepted_at = now
        self._move(Phase.ACCEPTING)

    def retiring(self) -> None:
        """It was told to end by somebody else, and waits for its successor."""
        self._move(Phase.RETIRING)

    def draining(self, now: float, *, seconds: float) -> None:
        """It was told to end within `seconds`."""
        self._drain_until = min(self._drain_until, now + seconds + self._times.slack)
        self._move(Phase.DRAINING)

    def asked(self, now: float) -> None:
        """It was sent something that it has to answer."""
        self._pinged_at = now
        if self._silent_since is None:
            self._silent_since = now

    def wants_ping(self, now: float) -> bool:
        """Whether it is time to ask for a sign of life. A process that starts has not got to listening yet."""
        return self.phase is not Phase.STARTING and now - self._pinged_at >= self._times.ping

    def hung_up(self) -> None:
        """It has nothing more to say, as at the end of a drain: what is left is the limit of the drain."""
        self._silent_since = None
        self._pinged_at = inf

    def is_late(self, now: float) -> bool:
        """Whether it owes an answer for longer than one that is well takes."""
        return self._silent_since is not None and now - self._silent_since >= self._times.ping

    def overdue(self, now: float, *, starved: float = 0.0) -> Overdue | None:
        """Why it is to be killed now, or None; `starved` is for how long in all it has waited for a processor.

        Call it often: time during which it was not called is the caller's own stall, and nobody's delay.
        """
        self._forgive(now, starved)
        if self.phase is Phase.STARTING and now - self._begun >= self._times.start:
            return Overdue.START
        if now >= self._drain_until:
            return Overdue.DRAIN
        silence = now - self._silent_since if self._silent_since is not None else 0.0
        if silence - self._excused >= self._times.answer or silence >= self._times.hopeless:
            return Overdue.ANSWER
        return None

    def _forgive(self, now: float, starved: float) -> None:
        stall = max(0.0, now - self._seen_at - self._times.ping)
        self._begun += stall
        self._drain_until += stall
        if self._silent_since is None:
            self._excused = 0.0
        else:
            self._silent_since += stall
            self._excused += max(0.0, min(starved - self._starved, now - self._seen_at - stall))
        self._seen_at, self._starved = now, starved

    def _move(self, phase: Phase) -> None:
        if phase.value > self.phase.value:
            self.phase = phase


class Restarts:
    """The starts after failed ones, over all slots; whoever waits for one asks again at every success."""

    __slots__ = ("_latest", "_pause", "_times")

    def __init__(self, times: Times) -> None:
        self._times = times
        self._latest = -inf
        self._pause = 0.0  # after the latest

    def take(self, now: float) -> float:
        """0, and the start is taken to happen now; or in how many seconds to ask again."""
        times = self._times
        seconds = self._latest + self._pause - now
        if seconds > 0:
            return seconds
        self._latest = now
        self._pause = min(self._pause * 4.0 or times.failed_pause, times.longest_pause)
        return 0.0

    def succeeded(self) -> None:
        """Some process has served for long enough since: what made others fail may be gone."""
        self._pause = 0.0


class Slot:
    """The place of one worker among the others, with one process after the other: when may the next one start?"""

    __slots__ = ("_cut_short", "_times", "times")

    def __init__(self, times: Times) -> None:
        self._times = times
        self.times = times  # for the next process
        self._cut_short = 0  # in a row

    def ended(self, life: Life, now: float, *, killed: bool) -> float | None:
        """How long the successor of a process that has ended unasked waits; None: it has failed, ask `Restarts`.

        `killed`: somebody ended it, and not what it did.
        """
        times = self._times
        served = now - life.accepted_at if life.accepted_at is not None else -inf
        if life.accepted_at is not None:
            self.times = times
        elif killed:
            longer = min(2.0 * self.times.start, times.longest_start)
            self.times = msgspec.structs.replace(times, start=longer)
        if served < (0.0 if killed else times.proof):
            return None
        if served >= times.forgotten:
            self._cut_short = 0
        else:
            self._cut_short += 1
        return times.first_pause if self._cut_short > 1 else 0.0
