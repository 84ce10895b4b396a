"""A look follows a look: soon when somebody wakes, and also after one that has failed."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import pytest

from ingress.writing.gateway.looking import look_without_end, until_soon
from tests.fakes.sockets import until

LONG_SECONDS = 3600.0


async def test_a_look_comes_after_its_pause_or_when_somebody_wakes(caplog: pytest.LogCaptureFixture) -> None:
    woken, pauses, looks = asyncio.Event(), [0.0, LONG_SECONDS, LONG_SECONDS], list[float]()

    async def look() -> float:
        if not pauses:
            looks.append(-1.0)
            raise RuntimeError("a bug")
        looks.append(pauses.pop(0))
        return looks[-1]

    looking = asyncio.create_task(
        look_without_end(look, woken, of="shelves", interval_seconds=LONG_SECONDS, quiet_seconds=0.0)
    )
    await until(lambda: looks == [0.0, LONG_SECONDS])
    woken.set()
    await until(lambda: len(looks) == 3)
    woken.set()
    await until(lambda: looks[-1] == -1.0)
    await until(lambda: "a look at the shelves failed" in caplog.text)
    assert not looking.done()
    looking.cancel()
    with suppress(asyncio.CancelledError):
        await looking


async def test_what_comes_soon_is_waited_for_and_no_longer() -> None:
    answers = [False, False, True]
    await until_soon(lambda: answers.pop(0), seconds=LONG_SECONDS, pause_seconds=0.0)
    assert answers == []
    answers = [False, False]
    await until_soon(lambda: answers.pop(0), seconds=0.0, pause_seconds=LONG_SECONDS)
    assert answers == [False]
