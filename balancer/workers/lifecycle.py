"""Decides how long a worker process may take for what, and when the next process of its slot starts.

Judges one process by its messages and their times, and sets the pauses after processes that end early. Does not know
processes, channels or clocks: times are seconds of any one clock that never goes back.
"""

from __future__ import annotations

from enum import Enum, auto
from math import inf

import msgspec


class Times(msgspec.Struct, frozen=True, kw_only=True):
    """Bounds, in seconds.

    A process has `start` to accept. After each process of its slot that was killed before accepting, the next one has
    twice as long, up to `longest_start`. It is asked every `ping` and then has `answer` to say anything. Time in which
    it waited for a processor does not count, up to `hopeless` in all. A process has failed if it never accepts, or ends
    on its own before it has accepted for `proof`. A failure in one place is likely in the others, so starts after
    failures share one pause: none before the first, then `failed_pause`, then four times the one before, up to
    `longest_pause`. That makes nine starts in the first minute. The next proof ends the pauses. After a process that
    served, or was killed, clients wait in the queue, so its successor waits for at most `first_pause`, and not at all
    after `forgotten` of service. Before a pause of more than `long_pause` the slot's listeners are closed if other
    workers accept: clients are reset and may try again, instead of waiting in a queue without a reader. `slack` is how
    late a drain may end.
    """

    start: float = 30.0
    longest_start: float = 300.0
    ping: float = 0.5
    answer: float = 3.0
    hopeless: float = 30.0
    first_pause: float = 0.1
    failed_pause: float = 0.2
    longest_pause: float = 10.0
    long_pause: float = 1.0
    proof: float = 1.0
    forgotten: float = 60.0
    slack: float = 4.0


class Phase(Enum):
    """What a process is doing. It only moves on to later phases."""

    STARTING = auto()
    STANDING_BY = auto()  # for a place
    ACCEPTING = auto()
    RETIRING = auto()  # accepts until its successor accepts
    DRAINING = auto()


class Overdue(Enum):
    """Why a process has to be killed."""

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
        self._begun = now
        self._seen_at = now
        self._pinged_at = -inf
        self._silent_since: float | None = None
        self._starved = 0.0  # the time in all
        self._excused = 0.0  # the part in its present silence
        self._drain_until = inf
        self.accepted_at: float | None = None
        self.phase = Phase.STARTING

    @property
    def is_accepting(self) -> bool:
        """Whether it accepts connections, drains excluded."""
        return self.accepted_at is not None and self.phase is not Phase.DRAINING

    def heard(self) -> None:
        """The worker sent a message."""
        self._silent_since = None

    def standing_by(self) -> None:
        """The worker could accept, and waits for a place."""
        self._move(Phase.STANDING_BY)

    def accepting(self, now: float) -> None:
        """The worker accepts connections."""
        self.accepted_at = now
        self._move(Phase.ACCEPTING)

    def retiring(self) -> None:
        """Another process told it to end. It waits for its successor."""
        self._move(Phase.RETIRING)

    def draining(self, now: float, *, seconds: float) -> None:
        """The worker was told to end within `seconds`."""
        self._drain_until = min(self._drain_until, now + seconds + self._times.slack)
        self._move(Phase.DRAINING)

    def asked(self, now: float) -> None:
        """The worker was sent something that it has to answer."""
        self._pinged_at = now
        if self._silent_since is None:
            self._silent_since = now

    def wants_ping(self, now: float) -> bool:
        """Whether it is time to ask for a sign of life. A process that starts does not listen yet."""
        return self.phase is not Phase.STARTING and now - self._pinged_at >= self._times.ping

    def hung_up(self) -> None:
        """The worker closed its channel, as at the end of a drain. Only the limit of the drain is left."""
        self._silent_since = None
        self._pinged_at = inf

    def is_late(self, now: float) -> bool:
        """Whether its answer is later than that of a healthy process."""
        return self._silent_since is not None and now - self._silent_since >= self._times.ping

    def overdue(self, now: float, *, starved: float = 0.0) -> Overdue | None:
        """Why it has to be killed now, or None. `starved` is how long it has waited for a processor in all.

        Call it often: a time without calls is a stall of the caller and not a delay of the process.
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
        self._seen_at = now
        self._starved = starved

    def _move(self, phase: Phase) -> None:
        if phase.value > self.phase.value:
            self.phase = phase


class Restarts:
    """The starts after failures, over all slots. A slot that waits for a start asks again after every success."""

    __slots__ = ("_latest", "_pause", "_times")

    def __init__(self, times: Times) -> None:
        self._times = times
        self._latest = -inf
        self._pause = 0.0  # after the latest

    def take(self, now: float) -> float:
        """Claims the next start: 0 if it may happen now, else the seconds until it is worth asking again."""
        times = self._times
        seconds = self._latest + self._pause - now
        if seconds > 0:
            return seconds
        self._latest = now
        self._pause = min(self._pause * 4.0 or times.failed_pause, times.longest_pause)
        return 0.0

    def succeeded(self) -> None:
        """A process has served for long enough since then, so what made others fail may be gone."""
        self._pause = 0.0


class Slot:
    """The place of one worker, with one process after the other. Decides when the next one may start."""

    __slots__ = ("_cut_short", "_times", "times")

    def __init__(self, times: Times) -> None:
        self._times = times
        self.times = times  # for the next process
        self._cut_short = 0  # in a row

    def ended(self, life: Life, now: float, *, killed: bool) -> float | None:
        """How long the successor of a process that ended unasked waits; None if it has failed: ask `Restarts`.

        `killed`: another process ended it.
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
