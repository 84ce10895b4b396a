"""How a function of a hook is called: at once where it can, in a task where it has to wait."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from tests.unit.zonal_hooks.test_messages import request
from zonal_hooks.calling import Running, Watch, begin
from zonal_hooks.loading import load_text
from zonal_hooks.messages import Edits
from zonal_hooks.verdicts import PASSED, Denied, Failed, Passed, Verdict

START = "import asyncio\nfrom zonal_hooks import Deny, hook\n@hook(timeout='50ms')\n"


async def called(body: str, *, is_async: bool = True, seconds: float = 5.0) -> tuple[Verdict, bool]:
    """The verdict of a hook with this body, and whether it had to wait."""
    lines = "".join(f"    {line}\n" for line in body.split("\n"))
    kind = "async def" if is_async else "def"
    function = load_text("x", f"{START}{kind} request(r):\n{lines}").functions["request"]
    asked = request()
    told = begin(function, asked, None, Watch())
    if not isinstance(told, Running):
        return told, False
    answer: asyncio.Future[Verdict] = asyncio.get_running_loop().create_future()
    told.wait(seconds, asked, answer.set_result)
    return await answer, True


async def test_a_plain_function_answers_at_once() -> None:
    assert await called("return Deny(401)", is_async=False) == (Denied(401), False)
    assert await called("pass", is_async=False) == (PASSED, False)


async def test_a_coroutine_without_anything_to_await_answers_at_once() -> None:
    assert await called("return Deny(401)") == (Denied(401), False)


async def test_a_coroutine_that_waits_unseen_is_closed() -> None:
    """A decorator hides from the loader that there is something to await."""
    text = "import functools, types\nfrom zonal_hooks import hook\nCLOSED = []\n@types.coroutine\ndef odd():\n"
    text += "    try:\n        yield 7\n    finally:\n        CLOSED.append(1)\n@hook\nasync def request(r): pass\n"
    function = load_text("x", text).functions["request"]
    odd = function.call.__globals__["odd"]
    function.call = lambda _: _awaiting(odd)
    asked = request()
    told = begin(function, asked, None, Watch())
    assert isinstance(told, Failed)
    assert (told.outcome, odd.__globals__["CLOSED"]) == ("invalid", [1])


async def _awaiting(what: Callable[[], Awaitable[None]]) -> None:
    await what()


async def test_a_coroutine_that_awaits_answers_later() -> None:
    assert await called("await asyncio.sleep(0)\nr.set_header('x-a', '1')") == (
        Passed(Edits(frozenset({b"x-a"}), ((b"x-a", b"1"),))),
        True,
    )


async def test_a_coroutine_may_use_what_needs_a_task() -> None:
    assert (await called("async with asyncio.timeout(1):\n    await asyncio.sleep(0)\nreturn Deny(404)"))[0] == Denied(
        404
    )
    assert (await called("await asyncio.gather(asyncio.sleep(0), asyncio.sleep(0))\nreturn Deny(404)"))[0] == Denied(
        404
    )


async def test_a_call_that_takes_too_long_ends() -> None:
    verdict, _ = await called("await asyncio.sleep(3600)", seconds=0.01)
    assert isinstance(verdict, Failed)
    assert verdict.outcome == "timeout"


async def test_a_call_that_clings_to_life_is_not_heard_any_more() -> None:
    body = "for _ in range(20):\n    try:\n        await asyncio.sleep(0.005)\n        r.set_header('x-late', '1')\n"
    body += "    except asyncio.CancelledError:\n        pass"
    verdict, _ = await called(body, seconds=0.02)
    assert isinstance(verdict, Failed)
    assert verdict.outcome == "timeout"


@pytest.mark.parametrize("wait", ["", "await asyncio.sleep(0)\n"])
@pytest.mark.parametrize(
    "error",
    [
        "SystemExit(1)",
        "KeyboardInterrupt",
        "GeneratorExit",
        "asyncio.CancelledError",
        "BaseException('x')",
        "MemoryError",
    ],
)
async def test_whatever_a_hook_raises_ends_with_it(wait: str, error: str) -> None:
    verdict, _ = await called(f"{wait}raise {error}")
    assert isinstance(verdict, Failed)
    assert verdict.outcome == "raised"
    assert verdict.why.startswith(error.partition("(")[0].removeprefix("asyncio."))


@pytest.mark.parametrize(
    ("body", "outcome"),
    [
        ("def f(): return f()\nf()", "raised"),
        ("asyncio.get_running_loop().close()", "raised"),
        ("asyncio.run(asyncio.sleep(0))", "raised"),
        ("return 403", "invalid"),
        ("return asyncio.sleep", "invalid"),
        ("r.set_header('a', 'b\\r\\nc: d')", "raised"),
        ("r.set_header('content-length', '0')", "raised"),
        ("r.set_header('a', 'x' * 2**20)", "raised"),
    ],
)
@pytest.mark.filterwarnings("ignore:coroutine:RuntimeWarning")
async def test_a_hostile_body_is_a_failure(body: str, outcome: str) -> None:
    verdict, _ = await called(body)
    assert isinstance(verdict, Failed)
    assert verdict.outcome == outcome


async def test_generators_are_no_answers() -> None:
    for body in ("yield", "yield Deny(403)\nreturn"):
        verdict, _ = await called(body, is_async=False)
        assert isinstance(verdict, Failed)
        assert verdict.outcome == "invalid"
    verdict, _ = await called("yield")
    assert isinstance(verdict, Failed)
    assert verdict.outcome == "invalid"


async def test_the_time_of_each_step_is_told() -> None:
    text = "import asyncio, time\nfrom zonal_hooks import hook\n@hook\nasync def request(r):\n"
    text += "    time.sleep(0.02)\n    await asyncio.sleep(0)\n    time.sleep(0.02)\n"
    held: list[tuple[str, float]] = []

    class Noting(Watch):
        def tell(self, name: str, seconds: float) -> None:
            held.append((name, seconds))

    asked = request()
    told = begin(load_text("x", text).functions["request"], asked, None, Noting())
    assert isinstance(told, Running)
    answer: asyncio.Future[Verdict] = asyncio.get_running_loop().create_future()
    told.wait(5, asked, answer.set_result)
    assert await answer is PASSED
    assert len([name for name, seconds in held if (name, seconds >= 0.02) == ("x", True)]) == 2


async def test_a_call_that_is_cancelled_tells_nothing() -> None:
    text = START + "async def request(r):\n    await asyncio.sleep(3600)\n"
    asked = request()
    told = begin(load_text("x", text).functions["request"], asked, None, Watch())
    assert isinstance(told, Running)
    said: list[Verdict] = []
    told.wait(5, asked, said.append)
    told.cancel()
    for _ in range(3):
        await asyncio.sleep(0)
    assert said == []


async def test_a_call_may_get_more_time_when_its_time_is_over() -> None:
    text = START + "async def request(r):\n    await asyncio.sleep(3600)\n"
    asked = request()
    told = begin(load_text("x", text).functions["request"], asked, None, Watch())
    assert isinstance(told, Running)
    answer: asyncio.Future[Verdict] = asyncio.get_running_loop().create_future()
    more = [0.0, 0.001, 0.001]
    told.wait(0.001, asked, answer.set_result, lambda _: more.pop())
    assert isinstance(await answer, Failed)
    assert more == []
