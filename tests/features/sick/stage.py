"""Three zones of two endpoints behind a worker in zone-a, and 200 requests a second that count what they get.

The scenarios of sick endpoints and zones are played here. Everything from the model to the wire is real.
"""

from __future__ import annotations

import asyncio
import time
from bisect import bisect_left
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

from balancer.model.settings import Http2Settings, ProxySettings
from balancer.model.zones import ZonePolicy
from tests.features.sick.clients import CallingCrowd, SickCrowd
from tests.features.sick.endpoints import SickEndpoint, SickServer
from tests.features.zones.stage import Plane, planes

RATE = 200.0
SECONDS = 0.005  # what an endpoint takes for a request
ZONES = "aabbcc"
_CLEARTEXT = ProxySettings(http2=Http2Settings(cleartext=True))


class Second(NamedTuple):
    """One second of a run: how many requests ended, how many of them badly, and the share that endpoints at home got.

    `at_home` counts every request that an endpoint received, with retries and probes; 1 if none came.
    """

    ended: int
    errors: int
    at_home: float

    @property
    def error_share(self) -> float:
        return self.errors / self.ended if self.ended else 0.0


class Scene:
    """Endpoints in the order of their zones behind somebody in zone-a, and the crowd before."""

    def __init__(self, endpoints: Sequence[SickEndpoint | SickServer], crowd: SickCrowd) -> None:
        self.endpoints, self.crowd = endpoints, crowd
        self.began = time.perf_counter()

    @property
    def home(self) -> Sequence[SickEndpoint | SickServer]:
        return [each for each in self.endpoints if each.zone == "zone-a"]

    def between(self, begin: float, end: float) -> Second:
        """What happened from `begin` until `end`, in seconds of `time.perf_counter`."""
        ended = [each for each in self.crowd.ended if begin <= each.at < end]
        home, away = (
            sum(
                bisect_left(each.came_at, end) - bisect_left(each.came_at, begin)
                for each in self.endpoints
                if is_in(each)
            )
            for is_in in (_is_home, _is_away)
        )
        return Second(len(ended), sum(not each.is_good for each in ended), home / (home + away) if home + away else 1.0)

    async def lasts(self, seconds: float) -> Second:
        """What happens in the next `seconds`."""
        begin = time.perf_counter()
        await asyncio.sleep(seconds)
        return self.between(begin, time.perf_counter())

    def by_second(self) -> list[Second]:
        """The whole run, for a person to read."""
        count = int(time.perf_counter() - self.began)
        return [self.between(self.began + second, self.began + second + 1) for second in range(count)]

    def told(self) -> str:
        """A line for each second: errors in percent and the share at home in percent."""
        return "\n".join(
            f"{number:3d} s  {each.ended:4d} ended  {each.error_share:7.1%} errors  {each.at_home:7.1%} at home"
            for number, each in enumerate(self.by_second())
        )

    async def comes(self, condition: Callable[[], bool], *, within: float) -> float:
        """Waits for what time and traffic bring about. How many seconds it took; raises TimeoutError."""
        begin = time.perf_counter()
        async with asyncio.timeout(within):
            while not condition():  # noqa: ASYNC110 -- time and traffic bring it about
                await asyncio.sleep(0.05)
        return time.perf_counter() - begin


class Stage(Scene):
    """A scene with one worker of this process."""

    def __init__(self, plane: Plane, endpoints: Sequence[SickEndpoint | SickServer], crowd: SickCrowd) -> None:
        super().__init__(endpoints, crowd)
        self.plane = plane


def _is_home(each: SickEndpoint | SickServer) -> bool:
    return each.zone == "zone-a"


def _is_away(each: SickEndpoint | SickServer) -> bool:
    return each.zone != "zone-a"


@asynccontextmanager
async def staged(
    policy: ZonePolicy,
    *,
    grpc: bool = False,
    zones: str = ZONES,
    rate: float = RATE,
    seconds: float = SECONDS,
    warm_seconds: float = 3.0,
    **changes: Any,
) -> AsyncIterator[Stage]:
    """A stage that has served well for `warm_seconds` under `policy`. `changes` are other fields of the backend."""
    kind = SickServer if grpc else SickEndpoint
    made = [await kind(f"zone-{letter}", seconds=seconds).start() for letter in zones]
    endpoints = [each for each in made if isinstance(each, SickEndpoint | SickServer)]
    try:
        async with planes() as plane:
            plane.serve([each.endpoint for each in endpoints], policy, settings=_CLEARTEXT, http2=grpc, **changes)
            crowd = (CallingCrowd if grpc else SickCrowd)(plane.port, rate=rate)
            async with crowd.asking():
                stage = Stage(plane, endpoints, crowd)
                await asyncio.sleep(warm_seconds)
                yield stage
    finally:
        for each in endpoints:
            await each.stop()
