"""How isolated hooks are called, and how a namespace whose calls end their process is kept apart from others."""

from __future__ import annotations

import asyncio

import pytest

from balancer.connections.hook_hosts import USUAL_LIMITS
from balancer.connections.isolated_calls import IsolatedCall
from balancer.connections.isolated_hooks import HookHosts, IsolatedCaller, IsolatedHooks, call_of
from balancer.model.hooks import HookCode, HookRule
from balancer.runtime.absences import NEVER_ABSENT
from tests.unit.balancer.connections.test_hook_hosts import CODE, RULE
from tests.unit.zonal_hooks.test_messages import request
from zonal_hooks.messages import Request, Response
from zonal_hooks.verdicts import Denied, Failed, Verdict

pytestmark = pytest.mark.large


async def ask(caller: IsolatedCaller, namespace: str, path: str = "/") -> Verdict:
    """The verdict on a request of a route of this namespace."""
    answer: asyncio.Future[Verdict] = asyncio.get_running_loop().create_future()
    told = caller.call("request", Request((), b"GET", b"a.test", path.encode(), b"/", route=f"{namespace}/web"))
    if not isinstance(told, IsolatedCall):
        return told
    told.tell_to(answer.set_result)
    return await answer


async def ask_until_it_runs(caller: IsolatedCaller, namespace: str) -> Verdict:
    verdict = await ask(caller, namespace)
    while isinstance(verdict, Failed):
        await asyncio.sleep(0.01)
        verdict = await ask(caller, namespace)
    return verdict


@pytest.mark.parametrize("path", ["/endless", "/exit"])
async def test_who_ends_the_process_of_everybody_is_kept_apart_and_others_only_wait(path: str) -> None:
    hosts = HookHosts((CODE,), lambda *_: None, USUAL_LIMITS, NEVER_ABSENT)
    caller = IsolatedCaller(hosts.call, RULE)
    try:
        assert await ask(caller, "modest") == Denied(451)
        for greedy in ("greedy", "other"):
            last = hosts.pids[0]
            ends = asyncio.create_task(ask(caller, greedy, path))
            await asyncio.sleep(0)
            while not ends.done():
                assert await ask(caller, "modest") == Denied(451)
            assert isinstance(await ends, Failed)
            assert await ask(caller, "modest") == Denied(451)
            assert hosts.pids[0] != last
        everybody, first_apart = hosts.pids
        assert await ask_until_it_runs(caller, "greedy") == Denied(451)
        again = asyncio.create_task(ask(caller, "greedy", path))
        while not again.done():
            assert await ask(caller, "modest") == Denied(451)
        assert isinstance(await again, Failed)
        assert await ask_until_it_runs(caller, "greedy") == Denied(451)
        assert hosts.pids[0] == everybody
        assert hosts.pids[1] != first_apart
    finally:
        hosts.close()


async def test_another_set_of_hooks_has_a_process_of_its_own() -> None:
    hooks = IsolatedHooks(lambda *_: None)
    hooks.load([CODE, HookCode("local", "d")])
    assert hooks.codes == (CODE,)
    assert hooks.caller(RULE) is not None
    assert hooks.caller(HookRule("x", "other", (), isolated=True)) is None
    hooks.load([])
    assert hooks.caller(RULE) is None
    hooks.stop()


def test_a_call_says_what_the_message_is() -> None:
    asked = request()
    call = call_of(RULE, "request", asked)
    assert (call.method, call.path, call.client, call.is_tls) == (b"GET", b"/cart", "192.0.2.1", True)
    answered = call_of(RULE, "response", Response(((b"a", b"b"),), 404, asked))
    assert (answered.status, answered.answered, answered.target) == (404, ((b"a", b"b"),), b"/cart?id=7")
