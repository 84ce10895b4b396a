"""Decides which bound port a new port of a Gateway gets, and how long a number rests when it is free again.

A number is used again only after some minutes, because somebody may still send to it what was meant for another
Gateway. If no other number is left, a minute is enough. A port that comes back gets its own at once. Pure: time is an
argument, in monotonic seconds.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping
from typing import Final

from ingress.sources.events import BoundPort
from ingress.translation.gateway.own_ports import Exposure
from ingress.translation.gateway.register import Register

REST_SECONDS: Final = 600.0
"""How long a number rests after it has left the register."""

LEAST_REST_SECONDS: Final = 60.0
"""How long it rests if all other numbers are in use. Nodes have heard by then that the port of the Service is gone."""


class Departures:
    """The bound ports that have left the register, and when. Every replica notes them, because any may lead next."""

    __slots__ = ("_known", "_left")

    def __init__(self) -> None:
        self._known: Mapping[int, BoundPort] = {}
        self._left: dict[int, tuple[BoundPort, float]] = {}

    def note(self, register: Register, now: float) -> None:
        """Takes the present register."""
        present = {each.target: each for each in register.ports.values()}
        for target, each in self._known.items():
            if target not in present:
                self._left[target] = (each, now)
        self._known = present
        self._left = {
            target: (each, at)
            for target, (each, at) in self._left.items()
            if now - at < REST_SECONDS and target not in present
        }

    def leaving(self, now: float, seconds: float) -> tuple[BoundPort, ...]:
        """The bound ports that left less than so many seconds ago. Clients may still come there."""
        return tuple(sorted(each for each, at in self._left.values() if now - at < seconds))

    def former(self) -> tuple[BoundPort, ...]:
        """The bound ports whose numbers rest, with whose they were."""
        return tuple(sorted(each for each, _ in self._left.values()))

    def resting(self) -> frozenset[int]:
        """The numbers that must not be used again yet."""
        return frozenset(self._left)

    def rested(self, now: float) -> tuple[int, ...]:
        """The resting numbers that may be used if no other is left, the one that has rested longest first."""
        found = sorted((at, target) for target, (_, at) in self._left.items() if now - at >= LEAST_REST_SECONDS)
        return tuple(target for _, target in found)

    def next_at(self, now: float, seconds: float) -> float:
        """When one of those that leave has left, or a number may be used again; infinite if none does."""
        steps = (seconds, LEAST_REST_SECONDS, REST_SECONDS)
        ends = [at + each for _, at in self._left.values() for each in steps if at + each > now]
        return min(ends, default=float("inf"))


def planned(
    exposures: Iterable[Exposure],
    register: Register,
    before: Iterable[BoundPort],
    targets: Collection[int],
    *,
    unfit: Collection[int],
    rested: Iterable[int] = (),
    former: Iterable[BoundPort] = (),
) -> tuple[BoundPort, ...]:
    """A bound port for each port that the register lacks, as far as there are any, sorted.

    What was planned `before` stays. A new port begins to look at a place of its own, so that a number that others have
    used lately is rarely hit even by a leader that knows nothing of that. Numbers that are `unfit` are not used; those
    that have `rested` are used in their order where no other is left, although they are unfit. A port that was bound as
    one of the `former` ones gets that number, because whoever still sends there means the same port.
    """
    wanted = {
        (exposure.gateway, each.port): each.protocol
        for exposure in exposures
        for each in exposure.ports
        if (exposure.gateway, each.port) not in register.ports
    }
    spare = dict.fromkeys(each for each in rested if each in targets and each not in register.targets)
    taken = {*register.targets, *unfit}
    found: list[BoundPort] = []
    for each in before:
        place = ((each.namespace, each.name), each.port)
        if place in wanted and (each.target not in taken or each.target in spare):
            taken.add(each.target)
            spare.pop(each.target, None)
            found.append(BoundPort(each.namespace, each.name, each.port, each.target, wanted.pop(place)))
    for each in former:
        place = ((each.namespace, each.name), each.port)
        if wanted.get(place) == each.protocol and each.target not in register.targets and each.target in targets:
            taken.add(each.target)
            spare.pop(each.target, None)
            del wanted[place]
            found.append(each)
    numbers = sorted(targets)
    for (gateway, port), protocol in wanted.items():
        start = int.from_bytes(hashlib.sha256(f"{'/'.join(gateway)}:{port}".encode()).digest()[:4]) % len(numbers)
        free = (each for each in (*numbers[start:], *numbers[:start]) if each not in taken)
        if (target := next(free, next(iter(spare), None))) is not None:
            taken.add(target)
            spare.pop(target, None)
            found.append(BoundPort(*gateway, port, target, protocol))
    return tuple(sorted(found))
