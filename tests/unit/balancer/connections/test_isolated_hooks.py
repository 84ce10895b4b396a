"""How isolated hooks are called: each namespace in a process of its own, which only its own calls can end."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import pytest

from balancer.connections.hook_hosts import UNAVAILABLE, HookTerms, beginning
from balancer.connections.hook_housing import APART, COMMON, PROCESSES_MOST
from balancer.connections.hook_threads import HookThreads
from balancer.connections.isolated_calls import IsolatedCall
from balancer.connections.isolated_hooks import HookHosts, IsolatedHooks, call_of
from balancer.matching.gates.hooks import VERDICTS, HookCall
from balancer.model.hooks import HookCode, HookRule
from balancer.runtime.shares import FairShares
from tests.unit.balancer.connections.test_hook_hosts import CODE, RULE, TIMEOUT_SECONDS
from tests.unit.zonal_hooks.test_messages import request
from zonal_hooks.messages import Request, Response
from zonal_hooks.verdicts import Denied, Failed, Verdict

pytestmark = pytest.mark.large


async def verdict_of(told: Verdict | HookCall) -> Verdict:
    """The verdict of a call, once it has ended."""
    answer: asyncio.Future[Verdict] = asyncio.get_running_loop().create_future()
    if not isinstance(told, IsolatedCall):
        assert isinstance(told, VERDICTS)
        return told
    told.tell_to(answer.set_result)
    return await answer


async def ask(hosts: HookHosts, namespace: str, path: str = "/") -> Verdict:
    """The verdict on a request of a route of this namespace."""
    return await verdict_of(calling(hosts, namespace, path))


async def ask_until_it_runs(hosts: HookHosts, namespace: str) -> Verdict:
    verdict = await ask(hosts, namespace)
    while isinstance(verdict, Failed):
        await asyncio.sleep(0.01)
        verdict = await ask(hosts, namespace)
    return verdict


@contextmanager
def loaded(*codes: HookCode) -> Iterator[IsolatedHooks]:
    """The hooks of a worker."""
    hooks = IsolatedHooks(lambda *_: None)
    hooks.load(codes)
    try:
        yield hooks
    finally:
        hooks.stop()


@contextmanager
def hosting(
    awaited: Iterable[str] = (), most: int = PROCESSES_MOST, threads: HookThreads | None = None
) -> Iterator[HookHosts]:
    """The processes of one hook."""
    threads = threads or HookThreads()
    hosts = HookHosts(HookTerms(beginning([CODE]), lambda *_: None, FairShares(64), threads), awaited, most)
    try:
        yield hosts
    finally:
        hosts.close()
        threads.stop()


def calling(hosts: HookHosts, namespace: str, path: str = "/") -> Verdict | IsolatedCall:
    asked = Request((), b"GET", b"a.test", path.encode(), b"/", route=f"{namespace}/web")
    return hosts.call("x", TIMEOUT_SECONDS, call_of(RULE, "request", asked))


@pytest.mark.parametrize("path", ["/endless", "/exit"])
async def test_who_ends_its_process_again_and_again_is_the_only_one_who_waits(path: str) -> None:
    with hosting() as hosts:
        assert await ask(hosts, "modest") == Denied(451)
        modest = hosts.pids["modest"]
        assert await ask(hosts, "greedy") == Denied(451)
        for _ in range(2):
            greedy = hosts.pids["greedy"]
            ends = asyncio.create_task(ask(hosts, "greedy", path))
            await asyncio.sleep(0)
            while not ends.done():
                assert await ask(hosts, "modest") == Denied(451)
            assert isinstance(await ends, Failed)
            assert await ask_until_it_runs(hosts, "greedy") == Denied(451)
            assert hosts.pids["greedy"] != greedy
        assert hosts.pids["modest"] == modest


async def test_beyond_the_bound_who_ends_the_common_process_is_kept_apart_and_others_wait_once() -> None:
    with hosting(["early"], most=1) as hosts:
        assert await ask(hosts, "modest") == Denied(451)
        common = hosts.pids[COMMON]
        ends = asyncio.create_task(ask(hosts, "greedy", "/endless"))
        await asyncio.sleep(0)
        while not ends.done():
            assert await ask(hosts, "modest") == Denied(451)
        assert isinstance(await ends, Failed)
        assert await ask(hosts, "modest") == Denied(451)
        assert hosts.pids[COMMON] != common
        assert await ask(hosts, "greedy") == Denied(451)
        assert hosts.pids.keys() == {"early", COMMON, APART}


async def test_a_namespace_whose_process_does_not_end_keeps_no_process_of_another_waiting() -> None:
    threads, ends = HookThreads(), threading.Event()
    with hosting(threads=threads) as hosts:
        try:
            held = [threads.submit("greedy", ends.wait) for _ in range(100)]
            assert await ask(hosts, "modest") == Denied(451)
            waiting = calling(hosts, "greedy")
            assert await ask(hosts, "other") == Denied(451)
            assert hosts.pids["greedy"] is None
        finally:
            ends.set()
        assert await verdict_of(waiting) == Denied(451)
        assert [each.result() for each in held] == [True] * 100


async def test_processes_of_namespaces_that_are_awaited_start_at_once() -> None:
    with hosting(["shop", "blog"]) as hosts:
        assert list(hosts.pids) == ["shop", "blog"]
        assert hosts.busy == ("shop", "blog")
    with hosting() as hosts:
        assert hosts.pids == {}


async def test_another_set_of_hooks_has_processes_of_its_own() -> None:
    with loaded(CODE, HookCode("local", "d")) as hooks:
        assert hooks.codes == (CODE,)
        assert hooks.caller(RULE) is not None
        assert hooks.caller(HookRule("x", "other", (), isolated=True)) is None
        hooks.load([])
        assert hooks.caller(RULE) is None


async def test_a_route_whose_hook_stays_is_served_while_other_hooks_change() -> None:
    """Its caller is that of the first publication."""
    with loaded(CODE) as hooks:
        caller = hooks.caller(RULE)
        assert caller is not None
        assert await verdict_of(caller.call("request", request())) == Denied(451)
        for number in range(3):
            hooks.load([CODE, HookCode("other", f"d{number}", "other.py", f"# {number}", isolated=True)])
            assert await verdict_of(caller.call("request", request())) == Denied(451)


async def test_a_request_of_a_publication_that_has_ended_long_ago_fails() -> None:
    ended: list[Verdict] = []
    hooks = IsolatedHooks(lambda _name, _seconds, verdict: ended.append(verdict))
    hooks.load([CODE])
    caller = hooks.caller(RULE)
    assert caller is not None
    hooks.load([])
    assert await verdict_of(caller.call("request", request())) == Denied(451), "under way at the change"
    hooks.load([HookCode("other", "d", "other.py", "", isolated=True)])
    assert caller.call("request", request()) is UNAVAILABLE
    assert ended[-1] is UNAVAILABLE
    hooks.stop()


def test_a_call_says_what_the_message_is() -> None:
    asked = request()
    call = call_of(RULE, "request", asked)
    assert (call.method, call.path, call.client, call.is_tls) == (b"GET", b"/cart", "192.0.2.1", True)
    answered = call_of(RULE, "response", Response(((b"a", b"b"),), 404, asked))
    assert (answered.status, answered.answered, answered.target) == (404, ((b"a", b"b"),), b"/cart?id=7")
