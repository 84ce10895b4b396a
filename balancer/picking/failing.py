"""Keeps which endpoints failed lately or are suspected by others, and how they do here. No I/O, no clock.

What is new of them goes to the parent, which tells the other workers (`balancer/workers/siblings.py`) and other
replicas (`ingress/replicas/failures.py`). An endpoint is watched for some seconds after its last failure here or the
last suspicion, and as long as it is ejected. Then a last row without failures and answers says that it is no longer
watched. Time is an argument, on the clock of picks, which all workers share.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final, NamedTuple

from balancer.model.endpoints import BackendKey
from balancer.picking.ejections import EjectionStep
from balancer.picking.endpoint_health import EndpointHealth
from balancer.runtime.shares import FairShares

FAILING_MOST: Final = 256
"""Endpoints that one worker watches; a namespace has half of them at most."""

WATCHED_SECONDS: Final = 10.0
"""An endpoint is watched for so long after its last failure or suspicion."""

WEIGHED_SECONDS: Final = 0.2
"""After the others have heard of failures of an endpoint, they hear so much later what it has answered since."""


class FailingRow(NamedTuple):
    """How an endpoint (`address:port`) of a backend does in one worker: failures in a row since the last good answer,
    whether it has given good answers since it is watched, and the last step in its state. Neither failures nor answers:
    it is watched no longer, unless it has just come back.
    """

    backend: str
    endpoint: str
    failures: int
    answers: bool
    step: EjectionStep | None = None


EndpointPlace = tuple[str, str]
"""A backend and the `address:port` of an endpoint."""


class FailingRows:
    """What one worker has told of the endpoints that it watches. `rows` is replaced, never changed."""

    __slots__ = ("rows",)

    def __init__(self) -> None:
        self.rows: Mapping[EndpointPlace, FailingRow] = {}

    def learn(self, news: Iterable[FailingRow]) -> None:
        """Takes what is new. Beyond the bound of a worker nothing is taken."""
        rows = dict(self.rows)
        for row in news:
            place = row.backend, row.endpoint
            if not row.failures and not row.answers:
                rows.pop(place, None)
            elif place in rows or len(rows) < FAILING_MOST:
                rows[place] = row
        self.rows = rows


class _Watched:
    __slots__ = ("answers_before", "health", "namespace", "row_told_at", "told", "until")

    def __init__(self, health: EndpointHealth, namespace: str) -> None:
        self.health = health
        self.namespace = namespace
        self.answers_before = health.answers
        self.until = 0.0
        self.row_told_at = 0.0
        self.told: tuple[int, bool, EjectionStep | None] = 0, False, None

    def news(self, now: float) -> tuple[int, bool, EjectionStep | None] | None:
        """What is new since the last call, if anything."""
        health, before = self.health, self.told
        failures, step = health.failures_in_a_row, before[2]
        if failures and not before[0]:
            self.row_told_at = now
        elif not failures or now - self.row_told_at >= WEIGHED_SECONDS:
            step = health.step
        state = failures, health.answers != self.answers_before, step
        self.told = state
        return state if state != before else None


class FailingEndpoints:
    """The endpoints that one worker watches. `wake` is called when there may be news."""

    __slots__ = ("_shares", "_watched", "wake")

    def __init__(self) -> None:
        self._watched: dict[EndpointPlace, _Watched] = {}
        self._shares = FairShares(FAILING_MOST)
        self.wake: Callable[[], None] = _nobody

    def watch(self, backend: BackendKey, endpoint: str, health: EndpointHealth, now: float) -> bool:
        """An endpoint has failed, or others suspect it. Returns False if too many are watched."""
        place = backend, endpoint
        watched = self._watched.get(place)
        if watched is None or watched.health is not health:
            namespace = backend.partition("/")[0]
            if watched is None and not self._shares.take(namespace):
                return False
            watched = self._watched[place] = _Watched(health, namespace)
        watched.until = now + WATCHED_SECONDS
        self.wake()
        return True

    def news(self, now: float) -> tuple[list[FailingRow], bool]:
        """What has changed since the last call, and whether anything is watched still."""
        rows = []
        for (backend, endpoint), watched in list(self._watched.items()):
            health = watched.health
            if now >= watched.until and health.ejected_until is None:
                del self._watched[backend, endpoint]
                self._shares.give_back(watched.namespace)
                rows.append(FailingRow(backend, endpoint, 0, False, health.step))
                continue
            state = watched.news(now)
            if state is not None:
                rows.append(FailingRow(backend, endpoint, *state))
        return rows, bool(self._watched)


def _nobody() -> None:
    """Does nothing: the `wake` of endpoints whose news nobody tells."""
