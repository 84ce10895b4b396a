"""What became of every request, and which failures a killed worker explains.

Responsible for counting. It must not know how requests are sent.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

FAILS_WITHIN_SECONDS = 6.0
"""After a kill, a client has noticed by then; later, the same port may be another connection."""


class Kill(NamedTuple):
    """A worker that was killed, and the ports of the clients whose connections it held. Times are monotonic.

    `seconds` is how long it took until its successor held a connection; None if it was not seen to.
    """

    at: float
    pid: int
    ports: frozenset[int]
    seconds: float | None


class Failure(NamedTuple):
    """A connection that did not do what it should; `port` is the client's, 0 if it was never connected."""

    at: float
    kind: str
    port: int
    requests: int
    what: str


class Tally:
    """All requests by the kind of their client. `uncounted` answers are in no series that outlives its Ingress."""

    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()
        self.answered: Counter[str] = Counter()
        self.uncounted = 0
        self.failures: list[Failure] = []

    @property
    def counted(self) -> int:
        """The answers that the process must have counted in series that are still there."""
        return self.answered.total() - self.uncounted


def explained(failures: Sequence[Failure], kills: Sequence[Kill]) -> list[Failure]:
    """The failures of connections that a killed worker held, at the time of its end."""
    return [failure for failure in failures if any(_explains(kill, failure) for kill in kills)]


def unexplained(failures: Sequence[Failure], kills: Sequence[Kill]) -> list[Failure]:
    """The others."""
    return [failure for failure in failures if not any(_explains(kill, failure) for kill in kills)]


def _explains(kill: Kill, failure: Failure) -> bool:
    return failure.port in kill.ports and 0.0 <= failure.at - kill.at <= FAILS_WITHIN_SECONDS
