"""Under load with `prefer-zone`: zones that are drained, lost and back, and rolled endpoints, fail no request."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from balancer.model.zones import Zone, ZoneFacts
from tests import builders as build
from tests.fakes.sockets import until
from tests.fakes.stopwatch import Stopwatch
from tests.features.zones.stage import Crowd, Plane, ZoneEndpoint, planes, sites

A = Zone("zone-a")
RATE = 200.0
LIMIT_SECONDS = 2.0


class Site:
    """What is served, and where requests went since the last look."""

    def __init__(self, plane: Plane, made: Sequence[ZoneEndpoint]) -> None:
        self.plane = plane
        self.made = list(made)
        self._seen: dict[ZoneEndpoint, int] = {}

    def publish(self, *, without: str = "", drained: tuple[Zone, ...] = ()) -> None:
        endpoints = [each.endpoint for each in self.made if each.zone != without]
        facts = ZoneFacts(drained=drained, drain_ramp_seconds=0.2)
        self.plane.serve(endpoints, build.PREFER_ZONE, facts=facts)

    def zones(self) -> set[str]:
        """The zones that had requests since this was asked last."""
        asked = {each for each in self.made if each.requests > self._seen.get(each, 0)}
        self._seen = {each: each.requests for each in self.made}
        return {each.zone for each in asked}

    async def _served(self, count: int) -> None:
        before = sum(each.requests for each in self.made)
        await until(lambda: sum(each.requests for each in self.made) >= before + count)

    async def only(self, *zones: str) -> float:
        """Wait until requests go to these zones alone, over some of them; the seconds it took."""
        watch = Stopwatch()
        while True:
            self.zones()
            await self._served(40)
            if self.zones() == set(zones):
                return watch.seconds


async def test_no_change_of_zones_fails_a_request_and_the_own_one_has_them_all_again_soon() -> None:
    async with sites("aabbcc", seconds=0.002) as made, planes() as plane:
        site = Site(plane, made)
        site.publish()
        crowd = Crowd(plane.port, rate=RATE)
        async with crowd.asking():
            await site.only("zone-a")

            site.publish(drained=(A,))
            await site.only("zone-b", "zone-c")
            site.publish()
            assert await site.only("zone-a") < LIMIT_SECONDS

            lost = [each for each in made if each.zone == A]
            for each in lost:
                await each.stop()  # before anyone has told us
            await site.only("zone-b", "zone-c")
            site.publish(without=A)
            await site.only("zone-b", "zone-c")
            for each in lost:
                await each.start()
            site.publish()
            assert await site.only("zone-a") < LIMIT_SECONDS

            for old in made:
                await _replace(site, old)
            assert await site.only("zone-a") < LIMIT_SECONDS
            assert set(site.made).isdisjoint(made)
        for each in site.made:
            await each.stop()
    assert crowd.failures == []
    assert plane.decisions().keys() <= {"zone_local", "zone_empty", "spill_health", "retry_other_zone"}


async def _replace(site: Site, old: ZoneEndpoint) -> None:
    """One step of a rolling update: the new one first, the old one goes when nobody is sent there any more."""
    new = await ZoneEndpoint(old.zone, seconds=old.seconds).start()
    site.made = [new if each is old else each for each in site.made]
    site.publish()
    for _ in range(10):  # turns of the loop, and not only time: what is on its way there comes back
        await asyncio.sleep(old.seconds)
    await old.stop()
