"""Chooses which member of a pool gets a request: the one whose turn it is, or the less busy of two.

Does not know zones or health. The rotation to choose from, time and randomness are arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from balancer.model.endpoints import LoadBalancing
from balancer.model.zones import Zone
from balancer.picking.loads import Latency, better_of_two
from balancer.picking.members import Member, Pick
from balancer.picking.outcomes import FAILURES, Outcome
from balancer.picking.rotation import Rotation
from balancer.zones.adaptive import cost

# Seconds added to every latency, so that requests in flight count before the first answer, too.
_LATENCY_LEAST = 1e-6


class Chooser:
    """Chooses by one kind of load balancing, with one limit of requests in flight for each member (0: no limit).

    Where the less busy of two is taken, a member that failed lately counts as busier.

    `takes_turns`: no member is preferred or passed over, so the rotation alone decides. `learns`: the results of
    attempts influence the choice.
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
        """`members` are all members of the backend. A new member starts at their average latency.

        `dearness` is a factor for the latency of each zone's members (EWMA only); None: no factor.
        """
        self._load_balancing = load_balancing
        self._limit = limit
        self._members = members
        self._random_below = random_below
        self._dearness = dearness
        self.learns = load_balancing is LoadBalancing.EWMA
        self.takes_turns = load_balancing is LoadBalancing.ROUND_ROBIN and not limit

    def choose(self, rotation: Rotation, *, tried: Collection[Member], now: float) -> Pick | None:
        """A member of `rotation` that is not `tried` and has room; None if there is none."""
        limit = self._limit

        def is_free(pick: Pick) -> bool:
            return not 0 < limit <= pick.member.in_flight and pick.member not in tried

        cost_now = self._cost_at(now)
        if cost_now is None:
            turn: Pick | None = rotation.next_where(is_free) if limit or tried else rotation.next()
            return turn
        random_below = self._random_below
        pick = better_of_two(rotation.items, cost=cost_now, random_below=random_below)
        if pick is None or is_free(pick):
            return pick
        return better_of_two(tuple(filter(is_free, rotation.items)), cost=cost_now, random_below=random_below)

    def open_to(self, rotation: Rotation, now: float) -> tuple[Pick, ...]:
        """All members of `rotation` with room, the most probable next one first (by turn, or least busy). Changes
        nothing.
        """
        free = [pick for pick in rotation.upcoming() if not 0 < self._limit <= pick.member.in_flight]
        cost_now = self._cost_at(now)
        return tuple(free if cost_now is None else sorted(free, key=cost_now))

    def observe(self, member: Member, outcome: Outcome, *, seconds: float, now: float) -> bool:
        """Learns that an attempt on `member` took `seconds`. Returns whether that says anything about latency."""
        if not self.learns or outcome is Outcome.UNKNOWN:
            return False
        latency = member.latency
        if outcome in FAILURES and (latency is None or seconds < latency.at(now)):
            if latency is not None:
                latency.hold(now)
            return False  # a quick failure is not a low latency
        if latency is None:
            member.latency = Latency(seconds=seconds, now=now)
        else:
            latency.observe(seconds, now)
        return True

    def _cost_at(self, now: float) -> Callable[[Pick], float] | None:
        """The cost by which two picks are compared; None if members take turns."""
        match self._load_balancing:
            case LoadBalancing.ROUND_ROBIN:
                return None
            case LoadBalancing.LEAST_REQUEST:
                return lambda pick: _busyness(pick.member, now)
            case LoadBalancing.EWMA:
                dearness = self._dearness
                if dearness is None:
                    return lambda pick: (
                        (self._latency(pick.member, now) + _LATENCY_LEAST) * (_busyness(pick.member, now) + 1)
                    )
                return lambda pick: cost(
                    self._latency(pick.member, now) + _LATENCY_LEAST,
                    _busyness(pick.member, now),
                    dearness[pick.endpoint.zone],
                )

    def _latency(self, member: Member, now: float) -> float:
        """The member's latency; at first the average of the others, so that a new member is not flooded."""
        if member.latency is None:
            known = [each.latency.at(now) for each in self._members.values() if each.latency is not None]
            if not known:
                return 0.0
            member.latency = Latency(seconds=sum(known) / len(known), now=now)
        return member.latency.at(now)


def _busyness(member: Member, now: float) -> float:
    """Requests in flight. A failure stays among them and fades, so that an endpoint that fails is tried less often.

    However quickly it fails, it gets about a tenth as many requests a second as others have in flight.
    """
    health = member.health
    return member.in_flight + health.burden(now) if health.is_watched else member.in_flight
