"""Measures what the exchange costs one replica among 3, 30 and 300: bytes and CPU, through the modules that really run.

Messages are made, written, carried over TLS on loopback, read and taken by real code; only who sends how often is
computed, from the periods of the outbox. All backends are under `adaptive` and `proportional` at once, and every one
has requests between two messages: the most that there can be to tell.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from balancer.sharing.memory import alone
from balancer.sharing.rows import tag_of
from ingress.replicas.messages import HealthRow, Picks, SeenRow, encode
from ingress.replicas.other_replica import SeenNews
from ingress.replicas.others import OtherReplicas
from ingress.replicas.outbox import FAR_SECONDS, NEAR_SECONDS, Outbox
from ingress.replicas.port import Teller, open_port
from ingress.replicas.sightings import LOADS, READ_SECONDS, SightingSharing
from ingress.replicas.spending import TICK_SECONDS
from ingress.replicas.trust import credentials_of

REPLICAS: Final = (3, 10, 30, 64)
ZONES: Final = 3
NAMESPACES: Final = 50
DOLLARS_A_GIGABYTE: Final = 0.02

_MONTH_SECONDS: Final = 30 * 86_400
_ROUNDS: Final = 20
_TELLS: Final = 200
_HOST: Final = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class Cost:
    """What one replica sends inside its zone and to other zones, in bytes a second, and the share of one core."""

    replicas: int
    backends: int
    near_bytes: float
    far_bytes: float
    core: float

    @property
    def fleet_dollars(self) -> float:
        """Dollars a month that bytes between zones cost for all replicas together."""
        return self.replicas * self.far_bytes * _MONTH_SECONDS / 1e9 * DOLLARS_A_GIGABYTE


class _Rows:
    """What a replica has to tell: every row grows with each round."""

    def __init__(self, backends: int) -> None:
        self.services = [f"shop-{number % NAMESPACES}/service-{number}" for number in range(backends)]
        self.keys = [f"{service}:80 zone-a" for service in self.services]

    def sections(self, turn: int, *, is_near: bool) -> dict[str, dict[object, object]]:
        told: dict[str, dict[object, object]] = {
            "picks": {name: Picks(name, 1_000_000 + turn) for name in self.services},
            "health": {name: HealthRow(f"shop-{name}", 10_000_000 + turn, 50) for name in range(NAMESPACES)},
        }
        if is_near:
            told["loads"] = {
                (tag := tag_of(key)): SeenRow(
                    tag, (turn, turn, turn, 20_000 * turn, turn, 21_000 * turn), (250, 20_000)
                )
                for key in self.keys
            }
        return told


def measure(backends: int) -> list[Cost]:
    """The cost at each number of replicas, which share what they see of so many backends."""
    rows = _Rows(backends)
    near_bytes, near_out, near_in = _messages(rows, is_near=True)
    far_bytes, far_out, far_in = _messages(rows, is_near=False)
    turning = _turning(rows)
    carrying = asyncio.run(_carrying(b"x" * round(near_bytes)))
    found = []
    for replicas in REPLICAS:
        near = round(replicas / ZONES) - 1
        far = replicas - near - 1
        near_rate, far_rate = near / NEAR_SECONDS, far / FAR_SECONDS
        core = near_rate * (near_out + near_in + carrying) + far_rate * (far_out + far_in + carrying)
        core += turning if near else 0.0
        found.append(Cost(replicas, backends, near_rate * near_bytes, far_rate * far_bytes, core))
    return found


def _messages(rows: _Rows, *, is_near: bool) -> tuple[float, float, float]:
    """The bytes of a message, and the seconds of CPU of who makes it and of who takes it."""
    outbox, members = Outbox(), OtherReplicas("own")
    sharing = SightingSharing(alone().among_replicas.relays.loads, LOADS)
    sharing.follow(rows.keys)
    size, made, taken = 0, 0.0, 0.0
    for turn in range(1, _ROUNDS + 1):
        sections = rows.sections(turn, is_near=is_near)
        began = time.process_time()
        data = encode(outbox.message(turn, name="zonal-0", zone="zone-a", sections=sections))
        outbox.arrived()
        made += time.process_time() - began
        size += len(data)
        began = time.process_time()
        member = members.hear("other", data, float(turn))
        sharing.hear("other", member.load_news, float(turn))
        taken += time.process_time() - began
        sharing.turn(float(turn), up={"other"}, counts=False)
    return size / _ROUNDS, made / _ROUNDS, taken / _ROUNDS


def _turning(rows: _Rows) -> float:
    """The seconds of CPU a second of reading workers' rows, and of telling workers what others saw."""
    memory = alone()
    sharing = SightingSharing(memory.among_replicas.relays.loads, LOADS)
    sharing.follow(rows.keys)
    tags = [tag_of(key) for key in rows.keys]
    news = SeenNews(tags, [[1] * len(tags)] * 6, [SeenRow(tag, (1,) * 6, (250, 20_000)) for tag in tags])
    ticks = round(READ_SECONDS / TICK_SECONDS)

    def half_a_second(now: float) -> None:
        sharing.hear("other", news, now)
        for tick in range(ticks):
            sharing.turn(now + tick * TICK_SECONDS, up={"other"}, counts=True)

    return _seconds_of(half_a_second) / READ_SECONDS


def _seconds_of(do: Callable[[float], None]) -> float:
    do(0.0)
    began = time.process_time()
    for number in range(1, _ROUNDS + 1):
        do(number * READ_SECONDS)
    return (time.process_time() - began) / _ROUNDS


async def _carrying(data: bytes) -> float:
    """The seconds of CPU of one message over TLS and HTTP, of both sides; a replica is each side once."""
    credentials = credentials_of(b"a secret for a measurement")
    runner, port = await open_port(_HOST, 0, credentials=credentials, hear=lambda *_: "zone-a")
    teller = Teller(credentials_of(b"a secret for a measurement"))
    try:
        await teller.tell(f"{_HOST}:{port}", data)
        began = time.process_time()
        for _ in range(_TELLS):
            await teller.tell(f"{_HOST}:{port}", data)
        return (time.process_time() - began) / _TELLS
    finally:
        await teller.close()
        await runner.cleanup()
