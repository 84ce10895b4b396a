"""Passes on what one worker of a replica tells about failing endpoints to the other workers of the replica.

The others need to know when failures begin and which steps follow; each number between is for other replicas only. Does
not judge. What a worker may tell is bounded, and divided among namespaces (`balancer/picking/failing.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Protocol

from balancer.picking.failing import EndpointPlace, FailingRow, FailingRows

Rows = Mapping[EndpointPlace, FailingRow]
"""What one worker has told."""


class Sibling(Protocol):
    """One worker, as the others know it. `failing` is what it has told."""

    failing: FailingRows

    def hear(self, rows: tuple[FailingRow, ...]) -> None:
        """Tells it what others say."""


class Siblings:
    """The workers of one replica."""

    __slots__ = ("_everyone",)

    def __init__(self, everyone: Callable[[], Iterable[Sibling]]) -> None:
        """`everyone` returns the workers that accept connections now."""
        self._everyone = everyone

    def told(self, teller: Sibling, rows: Iterable[FailingRow]) -> None:
        """A worker tells what is new. The others hear of it as far as it concerns them."""
        others = [each for each in self._everyone() if each is not teller]
        known = [each.failing.rows for each in (teller, *others)]
        told = tuple(rows)
        teller.failing.learn(told)
        news = tuple(row for row in told if _begins(row, known[0]) or _is_newest(row, known))
        if news:
            for each in others:
                each.hear(news)

    def joined(self, newcomer: Sibling) -> None:
        """A worker accepts connections from now on, and hears what the others know."""
        rows = tuple(
            row
            for each in self._everyone()
            if each is not newcomer
            for row in each.failing.rows.values()
            if row.failures or row.step is not None
        )
        if rows:
            newcomer.hear(rows)


def _begins(row: FailingRow, before: Rows) -> bool:
    """Whether the endpoint begins to fail for the worker that told `before`."""
    known = before.get((row.backend, row.endpoint))
    return row.failures > 0 and (known is None or not known.failures)


def _is_newest(row: FailingRow, known: Iterable[Rows]) -> bool:
    """Whether the step of `row` is later than every `known` step of its endpoint. False without a step."""
    if row.step is None:
        return False
    place = row.backend, row.endpoint
    steps = (told.step for rows in known if (told := rows.get(place)) is not None)
    return all(step is None or step.at < row.step.at for step in steps)
