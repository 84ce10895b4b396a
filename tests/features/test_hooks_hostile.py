"""A hundred hostile hooks in their own process: no wrong answer, and none to other routes."""

from __future__ import annotations

import pytest

from tests.features.hooks.hostile import BODIES, text_of
from tests.features.hooks.serving import hooked

FEW = ("endless", "crlf", "fork", "exit", "bent-reply", "patched-check", "gigabyte")


async def stands(body: str, phase: str) -> None:
    """The route of the hook answers 503, and that without hooks answers as ever."""
    async with hooked(text_of(body, phase)) as served:
        for _ in range(2):
            told = await served.ask("/", "X-Probe: 1")
            assert told.status == 503
            assert [name for name, _ in told.fields if name in {"set-cookie", "b", "c"}] == []
            plain = await served.ask("/plain")
            assert (plain.status, plain.json()["service"]) == (200, "web")


def test_there_are_a_hundred() -> None:
    assert 2 * len(BODIES) == 100


@pytest.mark.parametrize("name", FEW)
async def test_a_hostile_hook_gives_no_wrong_answer(name: str) -> None:
    await stands(BODIES[name], "request")


@pytest.mark.slow
@pytest.mark.parametrize("phase", ["request", "response"])
@pytest.mark.parametrize("name", sorted(BODIES))
async def test_a_hundred_hostile_hooks_give_no_wrong_answer(name: str, phase: str) -> None:
    await stands(BODIES[name], phase)
