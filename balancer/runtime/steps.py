"""Long work in short steps, so that an event loop can do other work between them.

A step is what a generator does up to its next `yield`. Does not know loops, nor when the next step comes.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import TypeVar

_Result = TypeVar("_Result")


def nothing() -> None:
    """Does nothing."""


def finished(steps: Generator[None, None, _Result], *, between: Callable[[], None] = nothing) -> _Result:
    """Takes all steps at once, and calls `between` between them. Returns what the generator returns."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: _Result = end.value
            return result
        between()
