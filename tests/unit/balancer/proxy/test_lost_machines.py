"""A machine that goes silent costs no GET more than a moment, in whatever order events come: over virtual time."""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass, replace
from typing import NamedTuple

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from balancer.http.streams import EndpointStream, Pool
from balancer.live import LiveTable
from balancer.metrics.definitions import EJECTIONS
from balancer.model.endpoints import Ejection
from balancer.model.handshakes import Handshake
from balancer.model.policies import RoutePolicy
from balancer.model.publication import RoutingModel
from balancer.picking.healthlog import HealthLog
from balancer.picking.members import Member
from balancer.proxy import attempts
from balancer.proxy.accounting import Accounting
from balancer.proxy.forwarder import Forwarder
from balancer.proxy.serving import Proxy
from balancer.runtime.deadlines import Deadlines
from tests import builders
from tests.fakes.streams import MemoryConnection, MemoryEndpointStream, MemoryStream
from tests.fakes.virtual_time import VirtualLoop, run_virtually
from tests.messages import request_head
from tests.properties import examples
from tests.unit.balancer.proxy.standing import Ledger

pytestmark = pytest.mark.skipif(
    not str(attempts.__file__).endswith(".py"), reason="compiled modules ask the clock of the machine"
)

MOST_SECONDS = 1.5
BEGINNING = VirtualLoop.BEGINNING
_ENDLESS = 1e9


@dataclass(frozen=True)
class Scene:
    """What happens. Times are seconds, before the first GET and after it.

    `zones` has a letter for each endpoint. Those in `lost` go dark at `dark_at`. Those in `kept` have connections from
    before. `shared`: one connection carries many requests. Until `dark_at`, `slow` endpoints need `slow_seconds` for
    every other answer. A GET comes every `gap`.
    """

    zones: str
    lost: frozenset[int]
    kept: frozenset[int]
    slow: frozenset[int]
    shared: bool
    is_usual_known: bool
    dark_at: float
    connect_seconds: float
    answer_seconds: float
    slow_seconds: float
    gap: float
    gets: int
    ejection_seconds: float
    seed: int


class Wire(Pool):
    """The connections to one endpoint, which vanishes at `dark_at`."""

    def __init__(self, site: Site, number: int) -> None:
        scene = site.scene
        self.awaited = set()
        self._loop = site.loop
        self._scene = scene
        self._slow_until = site.began + scene.dark_at
        self._dark_at = self._slow_until if number in scene.lost else _ENDLESS
        self._is_slow = number in scene.slow
        self._idle = 1 if number in scene.kept else 0
        self.requests = 0

    def lease(self, fresh: bool) -> EndpointStream | None:
        if not self._idle:
            return None
        if not self._scene.shared:
            self._idle -= 1
        return Stream(self, reused=True)

    def drop_idle(self) -> None:
        self._idle = 0

    async def connect(self, timeout_seconds: float) -> EndpointStream:
        await self.reach(timeout_seconds)
        if self._scene.shared:
            self._idle = 1
        return Stream(self, reused=False)

    async def reach(self, timeout_seconds: float) -> None:
        async with asyncio.timeout(timeout_seconds):
            await asyncio.sleep(self._scene.connect_seconds)
            if self._loop.now >= self._dark_at:
                await asyncio.Event().wait()

    def answer(self, stream: MemoryEndpointStream) -> None:
        self.requests += 1
        is_slow = self._is_slow and self.requests % 2 and self._loop.now < self._slow_until
        seconds = self._scene.slow_seconds if is_slow else self._scene.answer_seconds
        if self._loop.now + seconds < self._dark_at:
            self._loop.call_later(seconds, _respond, stream)

    def freed(self) -> None:
        if not self._scene.shared:
            self._idle += 1


class Stream(MemoryEndpointStream):
    """A stream that is idle again when its request has ended well."""

    def __init__(self, wire: Wire, *, reused: bool) -> None:
        super().__init__(wire.answer, reused=reused)
        self._wire = wire

    def release(self) -> None:
        super().release()
        if not self.is_reset:
            self._wire.freed()


def _respond(stream: MemoryEndpointStream) -> None:
    if stream.consumer is not None:
        stream.respond()


class Get(MemoryStream):
    """One GET, which knows when it began and when it was over."""

    def __init__(self, loop: VirtualLoop) -> None:
        super().__init__()
        self._loop = loop
        self.began_at = loop.now
        self.over_at = _ENDLESS

    def release(self) -> None:
        super().release()
        self.over_at = self._loop.now


class Site:
    """A proxy before the endpoints of a scene. It makes their pools (`forwarder.EndpointPools`)."""

    def __init__(self, scene: Scene, loop: VirtualLoop, ledger: Ledger) -> None:
        self.scene, self.loop, self.began = scene, loop, loop.now
        self.coming: set[asyncio.Task[None]] = set()
        self.asked = 0
        self.deadlines = Deadlines(loop)
        self._numbers: dict[str, int] = {}
        self._wires: dict[str, Wire] = {}
        live = LiveTable(random.Random(scene.seed).randrange)
        live.swap(builders.publication(1, _model(scene)))
        (self.runtime,) = live.view.backends.values()
        for number, label in enumerate(self.runtime.members):
            self._wires[label] = Wire(self, number)
        proxy = Proxy(
            live=live,
            forwarder=Forwarder(pools=self, recorder=ledger.recorder, health_log=HealthLog()),
            accounting=Accounting(recorder=ledger.recorder, access_log=ledger.access_log),
            deadlines=self.deadlines,
        )
        self.connection = MemoryConnection()
        proxy.serve(self.connection, lambda _: None)
        if scene.is_usual_known:
            for member in self.runtime.members.values():
                self.runtime.silence.connected(member, scene.connect_seconds, loop.now - 60.0)

    def of(self, member: Member, tls: Handshake | None, http2: bool) -> Pool:
        return self._wires[member.label]

    async def knock(self, member: Member, timeout_seconds: float) -> None:
        self.asked += 1
        await self._wires[member.label].reach(timeout_seconds)

    async def gets(self) -> list[Get]:
        """All GETs of the scene, once they are over or should be."""
        gets = []
        for _ in range(self.scene.gets):
            gets.append(Get(self.loop))
            self.connection.server.request_came(gets[-1], request_head())
            await asyncio.sleep(self.scene.gap)
        await asyncio.sleep(max(self.scene.dark_at, 0.0) + 10.0)
        for task in tuple(self.coming):
            task.cancel()
        self.deadlines.stop()
        return gets


def _model(scene: Scene) -> RoutingModel:
    backend = msgspec.structs.replace(
        builders.backend(
            of=[
                builders.endpoint(f"10.0.0.{number}", zone=f"zone-{letter}")
                for number, letter in enumerate(scene.zones, 1)
            ]
        ),
        ejection=Ejection(seconds=scene.ejection_seconds),
    )
    return builders.model(backend, hosts=[builders.host("a", builders.route(policy=RoutePolicy()))])


class Played(NamedTuple):
    """What became of a scene: its GETs, how many endpoints were ejected, and how many connections only asked."""

    gets: list[Get]
    ejections: float
    asked: int

    def longest(self, scene: Scene) -> float:
        """The longest that a GET took once the lost endpoints were dark."""
        return max(get.over_at - max(get.began_at, BEGINNING + scene.dark_at) for get in self.gets)


def played(scene: Scene) -> Played:
    async def main(loop: VirtualLoop) -> Played:
        ledger = Ledger()
        try:
            site = Site(scene, loop, ledger)
            gets = await site.gets()
            return Played(gets, sum(ledger.metric(EJECTIONS).values()), site.asked)
        finally:
            ledger.release()

    return run_virtually(main)


@st.composite
def scenes(draw: st.DrawFn) -> Scene:
    zones = draw(st.text("abc", min_size=2, max_size=7))
    some = st.frozensets(st.integers(0, len(zones) - 1))
    most = max(1, len(zones) // 2)  # as many as may be ejected
    gap = draw(st.sampled_from([0.01, 0.03, 0.1, 0.4, 1.5]))
    return Scene(
        zones=zones,
        lost=draw(some.filter(lambda lost: 0 < len(lost) <= most)),
        kept=draw(some | st.just(frozenset(range(len(zones))))),
        slow=draw(some),
        shared=draw(st.booleans()),
        is_usual_known=draw(st.booleans()),
        dark_at=draw(st.floats(-0.1, 2.0)),
        connect_seconds=draw(st.sampled_from([0.0005, 0.02, 0.09])),
        answer_seconds=draw(st.sampled_from([0.001, 0.05])),
        slow_seconds=draw(st.sampled_from([0.4, 0.55, 0.9])),
        gap=gap,
        gets=min(int(6.0 / gap) + 2, 300),
        ejection_seconds=draw(st.sampled_from([1.0, 10.0])),
        seed=draw(st.integers(0, 9)),
    )


@examples(40)
@given(scenes())
def test_a_lost_machine_costs_no_get_more_than_a_moment(scene: Scene) -> None:
    result = played(scene)
    assert {get.status for get in result.gets} == {200}
    assert result.longest(scene) < MOST_SECONDS


PLAIN = Scene(
    zones="abcabc",
    lost=frozenset({0, 1}),
    kept=frozenset(range(6)),
    slow=frozenset(),
    shared=True,
    is_usual_known=True,
    dark_at=0.5,
    connect_seconds=0.0005,
    answer_seconds=0.001,
    slow_seconds=0.9,
    gap=0.01,
    gets=200,
    ejection_seconds=10.0,
    seed=1,
)


def test_where_connects_are_quick_it_costs_a_second() -> None:
    assert 0.75 < played(PLAIN).longest(PLAIN) < 1.1


@pytest.mark.parametrize("gap", [0.01, 0.4, 1.5])
def test_an_endpoint_that_was_asked_a_moment_ago_is_asked_again(gap: float) -> None:
    """Slow answers make zonal ask before the machine is lost."""
    scene = replace(PLAIN, slow=frozenset(range(6)), dark_at=2.0, gap=gap, gets=int(6 / gap))
    assert played(scene).longest(scene) < MOST_SECONDS


def test_a_single_get_learns_who_is_there_although_nobody_else_asks() -> None:
    scene = replace(PLAIN, lost=frozenset({0, 1, 2}), gets=1, dark_at=-0.1)
    assert 0.5 < played(scene).longest(scene) < MOST_SECONDS


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("kept", [frozenset[int](), frozenset(range(6))])
def test_a_get_does_not_go_from_one_lost_endpoint_to_another_of_its_machine(shared: bool, kept: frozenset[int]) -> None:
    """Two GETs a minute: nothing is known of the second endpoint when the first one is left."""
    scene = replace(PLAIN, zones="aaaabb", lost=frozenset({0, 1, 2}), gets=6, gap=30.0, dark_at=-0.1)
    scene = replace(scene, shared=shared, kept=kept)
    assert played(scene).longest(scene) < MOST_SECONDS


@pytest.mark.parametrize("gap", [0.01, 0.7, 3.0])
def test_slow_endpoints_that_are_there_are_not_taken_for_lost(gap: float) -> None:
    """Their answers come later than zonal looks. Where answers come all the time, hardly any connection has to ask."""
    scene = replace(PLAIN, lost=frozenset(), slow=frozenset(range(6)), dark_at=60.0, gap=gap, gets=int(9 / gap))
    result = played(scene)
    assert max(get.over_at - get.began_at for get in result.gets) < scene.slow_seconds + 0.01
    assert result.ejections == 0
    assert result.asked <= len(result.gets)
    if gap < 0.1:
        assert result.asked <= 2 * len(scene.zones)
