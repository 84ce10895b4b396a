"""Long work in short steps, so that an event loop can do other work between them.

A step is what a generator does up to its next `yield`. Does not know loops, nor when the next step comes.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TypeVar

_Result = TypeVar("_Result")


def finished(steps: Generator[None, None, _Result]) -> _Result:
    """Takes all steps at once. Returns what the generator returns."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: _Result = end.value
            return result
