"""One call of an isolated hook, as those see it who wait for it."""

from __future__ import annotations

import asyncio

from balancer.connections.isolated_calls import IsolatedCall, tenant_of
from tests.unit.zonal_hooks.test_talking import CALL
from zonal_hooks.verdicts import Denied, Verdict


def call(told: list[Verdict]) -> IsolatedCall:
    made = IsolatedCall("x", 0.1, CALL, 5.0, lambda _name, _seconds, verdict: told.append(verdict))
    made.tell_to(told.append)
    return made


def test_the_first_end_is_told_to_who_counts_and_to_who_waits() -> None:
    told: list[Verdict] = []
    made = call(told)
    made.end(Denied(403))
    made.end(Denied(404))
    assert told == [Denied(403)] * 2
    assert made.is_over


async def test_another_alarm_takes_the_place_of_the_last_one_and_none_is_left() -> None:
    loop = asyncio.get_running_loop()
    made = call([])
    first, second = (loop.call_later(60, list) for _ in range(2))
    made.expire_with(first)
    made.expire_with(second)
    assert (first.cancelled(), second.cancelled()) == (True, False)
    made.cancel()
    assert second.cancelled()


def test_the_tenant_is_the_namespace_of_the_route() -> None:
    assert tenant_of(CALL) == CALL.route.partition("/")[0] == call([]).tenant
