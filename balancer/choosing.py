"""Which member of a pool gets a request: the one whose turn it is, or the less busy of two.

It must not know zones or health: whom to choose from comes in with each call, as do time and chance.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from balancer.health import Outcome
from balancer.loads import Latency, better_of_two
from balancer.members import Member, Pick
from balancer.model import LoadBalancing, Zone
from balancer.rotation import Rotation
from balancer.zones.adaptive import cost

# Seconds added to every latency, so that requests in flight count also before anything has been answered.
_LATENCY_LEAST = 1e-6


class Chooser:
    """Chooses under one way of load balancing and one limit of requests in flight per member (0: none).

    `takes_turns`: no member is preferred or passed over, so that a rotation alone decides. `learns`: how attempts went
    has a say.
    """

    __slots__ = ("_dearness", "_limit", "_load_balancing", "_members", "_random_below", "learns", "takes_turns")

    def __init__(
        self,
        load_balancing: LoadBalancing,
        *,
        limit: int,
        members: Mapping[str, Member],
        random_below: Callable[[int], int],
        dearness: Mapping[Zone | None, float] | None = None,
    ) -> None:
        """`members` are all of the backend: newcomers start at their average latency.

        `dearness` by zone is a factor for the latency of its members (EWMA only); None: all the same.
        """
        self._load_balancing = load_balancing
        self._limit = limit
        self._members = members
        self._random_below = random_below
        self._dearness = dearness
        self.learns = load_balancing is LoadBalancing.EWMA
        self.takes_turns = load_balancing is LoadBalancing.ROUND_ROBIN and not limit

    def choose(self, rotation: Rotation[Pick], *, tried: Collection[Member], now: float) -> Pick | None:
        """One of `rotation` that is not `tried` and has room; None if there is none."""
        limit = self._limit

        def is_free(pick: Pick) -> bool:
            return not 0 < limit <= pick.member.in_flight and pick.member not in tried

        cost_now = self._cost_at(now)
        if cost_now is None:
            return rotation.next_where(is_free) if limit or tried else rotation.next()
        random_below = self._random_below
        pick = better_of_two(rotation.items, cost=cost_now, random_below=random_below)
        if pick is None or is_free(pick):
            return pick
        return better_of_two(tuple(filter(is_free, rotation.items)), cost=cost_now, random_below=random_below)

    def open_to(self, rotation: Rotation[Pick], now: float) -> tuple[Pick, ...]:
        """All of `rotation` that have room, the likeliest next one first (by turn, or least busy); without effect."""
        free = [pick for pick in rotation.upcoming() if not 0 < self._limit <= pick.member.in_flight]
        cost_now = self._cost_at(now)
        return tuple(free if cost_now is None else sorted(free, key=cost_now))

    def observe(self, member: Member, outcome: Outcome, *, seconds: float, now: float) -> bool:
        """Learn that an attempt on `member` took `seconds` to its response or failure; whether that says anything."""
        if not self.learns or outcome is Outcome.UNKNOWN:
            return False
        latency = member.latency
        if outcome is Outcome.FAILED and (latency is None or seconds < latency.at(now)):
            return False  # to fail quickly is no merit
        if latency is None:
            member.latency = Latency(seconds=seconds, now=now)
        else:
            latency.observe(seconds, now)
        return True

    def _cost_at(self, now: float) -> Callable[[Pick], float] | None:
        """What makes one pick dearer than another; None where they take turns."""
        match self._load_balancing:
            case LoadBalancing.ROUND_ROBIN:
                return None
            case LoadBalancing.LEAST_REQUEST:
                return lambda pick: pick.member.in_flight
            case LoadBalancing.EWMA:
                dearness = self._dearness
                if dearness is None:
                    return lambda pick: (self._latency(pick.member, now) + _LATENCY_LEAST) * (pick.member.in_flight + 1)
                return lambda pick: cost(
                    self._latency(pick.member, now) + _LATENCY_LEAST,
                    pick.member.in_flight,
                    dearness[pick.endpoint.zone],
                )

    def _latency(self, member: Member, now: float) -> float:
        """The member's latency; the average of the others to start with, so that no newcomer is flooded."""
        if member.latency is None:
            known = [each.latency.at(now) for each in self._members.values() if each.latency is not None]
            if not known:
                return 0.0
            member.latency = Latency(seconds=sum(known) / len(known), now=now)
        return member.latency.at(now)
