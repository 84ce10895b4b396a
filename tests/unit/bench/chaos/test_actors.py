"""Actors take turns until their time is over; what ends a turn is counted, and a fault of an actor is told."""

from __future__ import annotations

import asyncio
import random

from tests.bench.chaos.actors import Actor, Cast, Played, Turn, take_turn


async def test_everybody_plays_until_the_time_is_over() -> None:
    async def act(turn: Turn) -> None:
        turn.count("things", 2)

    actors = [Actor(name, "client", act, pause_seconds=0.001, at_once=3) for name in ("one", "other")]
    cast = Cast(actors, seed=1)
    async with asyncio.timeout(30):
        await cast.play(seconds=0.2)
    assert [played.name for played in cast.played] == ["one", "other"]
    assert all(played.turns > 3 and played.counts["things"] == 2 * played.turns for played in cast.played)


async def ended(error: Exception | None, *, turn_seconds: float = 20.0) -> Played:
    """One turn that ends so; None: it never ends by itself."""

    async def act(_: Turn) -> None:
        if error is not None:
            raise error
        await asyncio.Event().wait()

    actor = Actor("one", "client", act, pause_seconds=1.0, turn_seconds=turn_seconds)
    played = Played(actor)
    await take_turn(actor, played, random.Random(1))
    return played


async def test_what_a_process_may_do_to_a_turn_is_no_fault() -> None:
    for error in (ConnectionResetError(), asyncio.IncompleteReadError(b"", 1), TimeoutError()):
        played = await ended(error)
        assert (played.turns, played.ended, played.faults) == (1, 1, [])


async def test_a_turn_is_cut_at_its_deadline() -> None:
    played = await ended(None, turn_seconds=0.01)
    assert (played.turns, played.ended) == (1, 1)


async def test_a_fault_of_an_actor_is_told() -> None:
    played = await ended(KeyError("x"))
    assert (played.ended, played.faults) == (0, ["one: KeyError('x')"])
