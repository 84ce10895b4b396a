"""While the API server is away one member asks often; all others wait until it is back, and then wait no longer."""

from __future__ import annotations

import asyncio

from ingress.sources.kubernetes.outage import Outage

LONG_SECONDS = 3600.0


class Members:
    """Members that wait, and how often all were woken."""

    def __init__(self) -> None:
        self.outage = Outage()
        self.wakes = 0
        self.outage.on_return = self._count

    def _count(self) -> None:
        self.wakes += 1

    async def waiting(self, member: str, *, scout_seconds: float | None = None) -> asyncio.Task[bool]:
        """A task that waits for as long as may be; it has begun to wait."""
        task = asyncio.create_task(self.outage.wait(member, LONG_SECONDS, scout_seconds=scout_seconds))
        await asyncio.sleep(0)
        return task


async def test_one_member_is_the_scout_and_the_others_wait() -> None:
    members = Members()
    scout = await members.waiting("scout", scout_seconds=0.01)
    other = await members.waiting("other", scout_seconds=0.01)
    assert not await scout
    assert not other.done()
    other.cancel()


async def test_a_member_that_must_not_be_the_scout_is_none() -> None:
    members = Members()
    other = await members.waiting("other")
    scout = await members.waiting("scout", scout_seconds=0.0)
    assert not await scout
    assert not other.done()
    other.cancel()


async def test_all_go_on_when_the_api_server_serves_a_member_that_had_failed() -> None:
    members = Members()
    await (await members.waiting("scout", scout_seconds=0.0))
    others = [await members.waiting(name) for name in "abc"]
    members.outage.served("scout")
    assert await asyncio.gather(*others) == [True, True, True]
    assert members.wakes == 1


async def test_a_member_that_had_not_failed_wakes_nobody() -> None:
    members = Members()
    other = await members.waiting("other")
    for _ in range(3):
        members.outage.served("lucky")
    assert members.wakes == 0
    members.outage.served("other")
    members.outage.served("other")
    assert members.wakes == 1
    assert await other


async def test_a_scout_that_resigns_is_followed_by_another() -> None:
    members = Members()
    await (await members.waiting("scout", scout_seconds=0.0))
    other = await members.waiting("other", scout_seconds=0.0)
    members.outage.resign("scout")
    assert await other
    assert not await (await members.waiting("other", scout_seconds=0.0))


async def test_who_is_not_the_scout_resigns_in_silence() -> None:
    members = Members()
    await (await members.waiting("scout", scout_seconds=0.0))
    other = await members.waiting("other")
    members.outage.resign("third")
    assert members.wakes == 0
    assert not other.done()
    other.cancel()
