"""What every hostile actor has: a name, a side, one turn, and how often and how many at once it takes turns.

Responsible for repeating turns within their bounds and for counting them. It must not know what a turn does.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple

from h2.exceptions import H2Error

_EXPECTED = (OSError, EOFError, TimeoutError, ValueError, H2Error, asyncio.LimitOverrunError)
"""How a turn may end: the process has every right to refuse it, to cut it and to answer it in its own way."""

_FAULTS_KEPT = 20


class Turn:
    """One turn of one actor, which says by `count` what it has done."""

    def __init__(self, counts: Counter[str], dice: random.Random) -> None:
        self._counts = counts
        self.dice = dice

    def count(self, what: str, number: int = 1) -> None:
        self._counts[what] += number


class Actor(NamedTuple):
    """Someone hostile. `act` takes one turn, which is cut after `turn_seconds`.

    `at_once` turns are under way, and each begins `pause_seconds` after the one before, more or less.
    """

    name: str
    side: str
    act: Callable[[Turn], Awaitable[None]]
    pause_seconds: float
    at_once: int = 1
    turn_seconds: float = 20.0


class Played:
    """What became of one actor's turns. `ended` are those that an error of a connection or a deadline ended."""

    def __init__(self, actor: Actor) -> None:
        self.name, self.side = actor.name, actor.side
        self.turns = self.ended = 0
        self.counts: Counter[str] = Counter()
        self.faults: list[str] = []


class Cast:
    """All actors, each of which plays until its time is over."""

    def __init__(self, actors: Sequence[Actor], *, seed: int) -> None:
        self._actors = [(actor, Played(actor)) for actor in actors]
        self._seed = seed

    @property
    def played(self) -> list[Played]:
        return [played for _, played in self._actors]

    async def play(self, *, seconds: float) -> None:
        """Every actor takes turns for so long; the last turns come to their ends."""
        until = time.monotonic() + seconds
        async with asyncio.TaskGroup() as group:
            for actor, played in self._actors:
                for number in range(actor.at_once):
                    dice = random.Random(f"{self._seed} {actor.name} {number}")
                    group.create_task(_repeat(actor, played, dice, until))


async def _repeat(actor: Actor, played: Played, dice: random.Random, until: float) -> None:
    while True:
        pause = dice.expovariate(1 / actor.pause_seconds)
        if time.monotonic() + pause >= until:
            return
        await asyncio.sleep(pause)
        await take_turn(actor, played, dice)


async def take_turn(actor: Actor, played: Played, dice: random.Random) -> None:
    """One turn. An error that no process can bring about is a fault of the actor, and is kept."""
    played.turns += 1
    try:
        async with asyncio.timeout(actor.turn_seconds):
            await actor.act(Turn(played.counts, dice))
    except _EXPECTED:
        played.ended += 1
    except Exception as error:  # the others play on, and the fault is told
        if len(played.faults) < _FAULTS_KEPT:
            played.faults.append(f"{actor.name}: {error!r}")
