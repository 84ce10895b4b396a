"""Several replicas, one lease, and a world that delays, loses and stalls: never two leaders, and soon a new one.

The world runs on true time; each replica knows only its own clock, which begins anywhere and runs at its own rate.
"""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable
from itertools import count

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from ingress.writing.electing import Election, ElectorTimes, Read, Wait, Write
from ingress.writing.lease import Lease
from tests.properties import examples

TIMES = ElectorTimes()


class Trouble(msgspec.Struct, frozen=True):
    """What goes wrong: seconds of true time, shares of requests. Clocks run at 1 ± `skew`."""

    delay_seconds: float = 0.05
    slow: float = 0.0  # the share of requests and answers that take up to 40 s, longer than any lease
    lost: float = 0.0
    stall: float = 0.0  # the share of steps before which the process hangs for up to 40 s
    skew: float = 0.02


class World:
    """True time, the API server's one Lease, and the replicas."""

    def __init__(self, seed: int, replicas: int, trouble: Trouble) -> None:
        self.random = random.Random(seed)
        self.trouble = trouble
        self.now = 0.0
        self.lease: Lease | None = None
        self._versions = count(1)
        self._order = count()
        self._coming: list[tuple[float, int, Callable[[], None]]] = []
        self.replicas = [Replica(self, f"pod-{number}") for number in range(replicas)]
        self.history: list[tuple[float, tuple[str, ...]]] = []

    def at(self, when: float, what: Callable[[], None]) -> None:
        heapq.heappush(self._coming, (max(when, self.now), next(self._order), what))

    def run(self, seconds: float) -> None:
        """Let time pass, and note who leads after each thing that happens."""
        end = self.now + seconds
        while self._coming and self._coming[0][0] <= end:
            self.now, _, what = heapq.heappop(self._coming)
            what()
            self.history.append((self.now, self.leaders()))
        self.now = end

    def leaders(self) -> tuple[str, ...]:
        return tuple(replica.name for replica in self.replicas if replica.is_leading())

    def store(self, lease: Lease) -> Lease | None:
        """What the API server does with a POST or PUT: None is a conflict."""
        if lease.version != (self.lease.version if self.lease else ""):
            return None
        self.lease = msgspec.structs.replace(lease, version=str(next(self._versions)))
        return self.lease

    def delay(self) -> float:
        most = 40.0 if self.random.random() < self.trouble.slow else self.trouble.delay_seconds
        return self.random.uniform(0.0, most)


class Replica:
    """One process with its own clock; carries out the steps of its election over the world's network."""

    def __init__(self, world: World, name: str) -> None:
        self.name = name
        self.alive = True
        self.partitioned = False
        self._world = world
        self._rate = 1.0 + world.random.uniform(-world.trouble.skew, world.trouble.skew)
        self._began = world.random.uniform(-1e6, 1e6)
        self._election = Election("leader", name, times=TIMES)
        world.at(world.random.uniform(0.0, 5.0), self._step)

    def is_leading(self) -> bool:
        return self.alive and self._election.is_leading(self._clock())

    def release(self) -> None:
        """Stop as a process does that is told to."""
        self.alive = False
        step = self._election.release(wall_seconds=0.0)
        if isinstance(step, Read):  # a renewal was under way
            self._election.saw(self._world.lease, self._clock())
            step = self._election.release(wall_seconds=0.0)
        assert isinstance(step, Write)
        assert self._world.store(step.lease)

    def _clock(self) -> float:
        return self._began + self._world.now * self._rate

    def _later(self, local_seconds: float, what: Callable[[], None]) -> None:
        stalls = self._world.random.random() < self._world.trouble.stall
        pause = self._world.random.uniform(0.0, 40.0) if stalls else 0.0
        self._world.at(self._world.now + local_seconds / self._rate + pause, what)

    def _step(self) -> None:
        if not self.alive:
            return
        now = self._clock()
        match self._election.step(now, wall_seconds=0.0, chance=self._world.random.random()):
            case Wait(until):
                self._later(until - now + 1e-6, self._step)
            case step:
                self._send(step, now)

    def _send(self, step: Read | Write, started_at: float) -> None:
        world, there, back = self._world, self._world.delay(), self._world.delay()
        lost = self.partitioned or world.random.random() < world.trouble.lost
        answered = not (self.partitioned or world.random.random() < world.trouble.lost)
        in_time = (there + back) * self._rate < step.limit_seconds
        if not lost:  # also what nobody waits for any more arrives
            world.at(
                world.now + there,
                lambda: self._serve(step, started_at, back if answered and in_time else None),
            )
        if lost or not answered or not in_time:
            self._later(step.limit_seconds, self._fail)

    def _serve(self, step: Read | Write, started_at: float, back: float | None) -> None:
        outcome = self._world.lease if isinstance(step, Read) else self._world.store(step.lease)
        if back is not None:
            self._later(back * self._rate, lambda: self._take(step, outcome, started_at))

    def _take(self, step: Read | Write, outcome: Lease | None, started_at: float) -> None:
        if isinstance(step, Read):
            self._election.saw(outcome, self._clock())
        elif outcome is not None:
            self._election.wrote(outcome, started_at=started_at)
        else:
            self._election.failed(self._clock(), chance=self._world.random.random())
        self._step()

    def _fail(self) -> None:
        if self.alive:
            self._election.failed(self._clock(), chance=self._world.random.random())
            self._step()


SEEDS = st.integers(0, 2**32)
HOSTILE = st.builds(
    Trouble,
    slow=st.floats(0, 0.3),
    lost=st.floats(0, 0.4),
    stall=st.floats(0.02, 0.2),
    skew=st.floats(0, 0.09),
)


@examples(200)
@given(seed=SEEDS, replicas=st.integers(2, 3), trouble=HOSTILE)
def test_there_are_never_two_leaders_whatever_the_network_and_the_clocks_do(
    seed: int, replicas: int, trouble: Trouble
) -> None:
    world = World(seed, replicas, trouble)
    for _ in range(8):
        cut_off = next((item for item in world.replicas if item.is_leading()), world.random.choice(world.replicas))
        for replica in world.replicas:
            replica.partitioned = replica is cut_off
        world.run(world.random.uniform(5.0, 90.0))
    assert max(len(leaders) for _, leaders in world.history) <= 1


@examples(40)
@given(seed=SEEDS, replicas=st.integers(2, 3))
def test_a_killed_leader_is_followed_within_fifty_seconds(seed: int, replicas: int) -> None:
    world = World(seed, replicas, Trouble(skew=0.05))
    world.run(60.0 + world.random.uniform(0.0, 15.0))
    (name,) = world.leaders()
    next(replica for replica in world.replicas if replica.name == name).alive = False
    killed_at, begun = world.now, len(world.history)
    world.run(50.0)
    again = [when for when, leaders in world.history[begun:] if leaders]
    assert again
    assert again[0] - killed_at <= 50.0
    assert all(name not in leaders for _, leaders in world.history[begun:])


@examples(30)
@given(seed=SEEDS, replicas=st.integers(2, 3))
def test_a_leader_that_gives_up_is_followed_within_a_retry(seed: int, replicas: int) -> None:
    world = World(seed, replicas, Trouble())
    world.run(60.0)
    (name,) = world.leaders()
    next(replica for replica in world.replicas if replica.name == name).release()
    assert world.leaders() == ()
    world.run(9.0)
    assert len(world.leaders()) == 1


@examples(30)
@given(seed=SEEDS, replicas=st.integers(1, 3))
def test_without_trouble_the_first_leader_stays_and_asks_little(seed: int, replicas: int) -> None:
    world = World(seed, replicas, Trouble())
    world.run(20.0)
    first = world.leaders()
    assert len(first) == 1
    world.run(600.0)
    assert {leaders for when, leaders in world.history if when > 20.0} == {first}
    assert world.lease is not None
    assert world.lease.spec.lease_transitions == 0
    assert 75 <= int(world.lease.version) <= 90  # one write each 7.5 s of its clock, and no other


@examples(30)
@given(seed=SEEDS, trouble=st.builds(Trouble, lost=st.floats(0, 0.2)))
def test_a_leader_that_is_cut_off_stops_before_its_lease_runs_out_and_comes_back_as_a_follower(
    seed: int, trouble: Trouble
) -> None:
    world = World(seed, 2, trouble)
    world.run(60.0)
    cut_off = next((replica for replica in world.replicas if replica.is_leading()), world.replicas[0])
    cut_off.partitioned = True
    world.run(15.0 * 1.05)
    assert not cut_off.is_leading()
    world.run(200.0)
    assert world.leaders() in ((), tuple(item.name for item in world.replicas if item is not cut_off))
    cut_off.partitioned = False
    world.run(60.0)
    assert max(len(leaders) for _, leaders in world.history) <= 1
