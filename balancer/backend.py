"""The living side of a backend: its members, and a zonal and a general balancer for each zone policy in use.

Everything that a pick needs is built when the backend or its health changes, so while all is well and endpoints take
turns, picking is a rotation and nothing else. It must not know connections: what the I/O side hangs on a member is
opaque here.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

import msgspec

from balancer.health import BackendHealth, EndpointHealth, Outcome
from balancer.loads import Latency, Load, better_of_two
from balancer.model import Backend, Endpoint, LoadBalancing, OwnZone, ZonePolicy
from balancer.rotation import Rotation
from balancer.zones.locality import Locality, locality_of
from balancer.zones.reasons import Reason
from balancer.zones.spill import by_health
from balancer.zones.split import Pools, split
from balancer.zones.verdicts import Surroundings

UNKNOWN_ZONE = "unknown"
"""How an unknown zone is called in metrics and logs."""

RandomBelow = Callable[[int], int]
"""A random number from 0 to below its argument, which is at least 1."""

# Routes may ask for policies of their own, and every change of an annotation may ask for another. Past this many the
# oldest is forgotten: memory stays bounded, and should it be in use after all, its rotation only starts anew.
_POLICIES_MAX = 16

# Seconds added to every latency, so that requests in flight count also before anything has been answered.
_LATENCY_LEAST = 1e-6


class Member:
    """An endpoint with a life: it outlasts changes of its backend for as long as its address and port are in it.

    `label` is `address:port`. `pool` belongs to the I/O side. `in_flight` counts requests on their way; `latency` is
    None before the first answer.
    """

    __slots__ = ("endpoint", "health", "in_flight", "label", "latency", "pool")

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint
        self.label = label_of(endpoint)
        self.pool: object | None = None
        self.in_flight = 0
        self.health = EndpointHealth()
        self.latency: Latency | None = None


class Pick(msgspec.Struct, frozen=True, eq=False):
    """One choice, made beforehand: the member, the endpoint it was then, how far it is, and why it is chosen.

    `probe`: this request finds out whether an ejected endpoint is well again, so its report decides.
    """

    member: Member
    endpoint: Endpoint
    to_zone: str
    locality: Locality
    reason: Reason
    probe: bool = False


class _Turns:
    """The pools in force and a rotation over the picks of each."""

    __slots__ = ("general", "pools", "serving", "zonal")

    def __init__(self, pools: Pools, *, zonal: Rotation[Pick], general: Rotation[Pick]) -> None:
        self.pools = pools
        self.zonal = zonal
        self.general = general
        self.serving = zonal if pools.zonal_mode else general


_NOTHING_YET = _Turns(
    Pools(zonal=(), general=(), reason=Reason.OFF, zonal_mode=False), zonal=Rotation(()), general=Rotation(())
)


class Balancer:
    """Picks members of one backend under one zone policy. In zonal mode the general rotation serves retries only.

    `pools` are those of the policy, before health.
    """

    __slots__ = ("_ailing", "_impaired", "_plain", "_runtime", "_seen_version", "_unwell", "_well", "pools")

    def __init__(self, runtime: BackendRuntime, turns: _Turns) -> None:
        self.pools = turns.pools
        self._runtime = runtime
        self._well = self._ailing = turns
        self._impaired = runtime.health.impaired
        self._seen_version = -1
        self._unwell: tuple[Pick, ...] = ()
        backend = runtime.backend
        self._plain = backend.load_balancing is LoadBalancing.ROUND_ROBIN and not backend.max_concurrency_per_endpoint

    @property
    def turns(self) -> _Turns:
        """Where the rotations stand while every endpoint is well."""
        return self._well

    def pick(self, tried: Collection[Member] = (), now: float = 0.0) -> Pick | None:
        """The next choice at `now`; with `tried`, one that is not among them: of the same pool first, then of any.

        None when no member is left to try, or all that are left have as many requests as they may.
        """
        if self._plain and not tried and not self._impaired:
            return self._well.serving.next()
        return self._pick_with_care(tried, now)

    def _pick_with_care(self, tried: Collection[Member], now: float) -> Pick | None:
        turns = self._turns_now()
        if self._impaired and not tried and (probe := self._probe(now)) is not None:
            return probe
        pick = self._choose(turns.serving, tried=tried, now=now)
        if pick is not None or not turns.pools.zonal_mode:
            return pick
        pick = self._choose(turns.general, tried=tried, now=now)
        if pick is not None and not tried:
            return msgspec.structs.replace(pick, reason=Reason.SPILL_LOAD)  # the zone was full, nothing has failed
        return pick

    def _turns_now(self) -> _Turns:
        health = self._runtime.health
        if not self._impaired:
            return self._well
        if self._seen_version != health.version:
            self._seen_version = health.version
            self._ailing = self._runtime.turns_by_health(self.pools, after=self._ailing)
            self._unwell = tuple(pick for pick in self._well.serving.items if not pick.member.health.is_well)
        return self._ailing

    def _probe(self, now: float) -> Pick | None:
        """The pick of an ejected endpoint that is to be tried again, if this policy would send requests there."""
        take_probe = self._runtime.health.take_probe
        for pick in self._unwell:
            if take_probe(pick.member.health, now):
                return msgspec.structs.replace(pick, probe=True)
        return None

    def _choose(self, rotation: Rotation[Pick], *, tried: Collection[Member], now: float) -> Pick | None:
        limit = self._runtime.backend.max_concurrency_per_endpoint

        def is_free(pick: Pick) -> bool:
            return not 0 < limit <= pick.member.in_flight and pick.member not in tried

        cost = self._runtime.cost_of(now)
        if cost is None:
            return rotation.next_where(is_free) if limit or tried else rotation.next()
        random_below = self._runtime.random_below
        pick = better_of_two(rotation.items, cost=cost, random_below=random_below)
        if pick is None or is_free(pick):
            return pick
        return better_of_two(tuple(filter(is_free, rotation.items)), cost=cost, random_below=random_below)


class BackendRuntime:
    """A backend in use. A change makes a new runtime that shares members, health and load, and goes on with the turns.

    So a request in flight keeps the pools it started with.
    """

    __slots__ = ("_balancers", "_own_zone", "backend", "health", "load", "members", "random_below")

    def __init__(
        self,
        backend: Backend,
        *,
        own_zone: OwnZone,
        members: Mapping[str, Member],
        health: BackendHealth,
        load: Load,
        random_below: RandomBelow,
    ) -> None:
        """`members` by their labels, one for each endpoint of `backend`, and `health` of them all."""
        self.backend = backend
        self.members = members
        self.health = health
        self.load = load
        self.random_below = random_below
        self._own_zone = own_zone
        self._balancers: dict[ZonePolicy, Balancer] = {}

    @classmethod
    def fresh(cls, backend: Backend, *, own_zone: OwnZone, random_below: RandomBelow) -> BackendRuntime:
        """A runtime without a past; its rotations start at random places."""
        members = {label_of(endpoint): Member(endpoint) for endpoint in backend.endpoints}
        health = BackendHealth(backend.ejection, (member.health for member in members.values()))
        return cls(backend, own_zone=own_zone, members=members, health=health, load=Load(), random_below=random_below)

    def with_backend(self, backend: Backend, own_zone: OwnZone) -> BackendRuntime:
        """The runtime of `backend` after this one; this one itself if nothing has changed."""
        if backend == self.backend and own_zone == self._own_zone:
            return self
        members: dict[str, Member] = {}
        for endpoint in backend.endpoints:
            label = label_of(endpoint)
            member = members[label] = self.members.get(label) or Member(endpoint)
            member.endpoint = endpoint
        self.health.follow(
            backend.ejection,
            (member.health for member in members.values()),
            checked=backend.health_check is not None,
        )
        after = BackendRuntime(
            backend,
            own_zone=own_zone,
            members=members,
            health=self.health,
            load=self.load,
            random_below=self.random_below,
        )
        past = dict(self._balancers)
        own = past.pop(self.backend.zone_policy, None)
        if own is not None:
            past[backend.zone_policy] = own  # flipping the flag goes on with the turns, too
        for policy, balancer in past.items():
            after._balancers[policy] = after._continued(balancer.turns, policy)
        return after

    def balancer(self, policy: ZonePolicy | None = None) -> Balancer:
        """The balancer under `policy`, or under the backend's own; made on first use."""
        if policy is None:
            policy = self.backend.zone_policy
        balancer = self._balancers.get(policy)
        if balancer is None:
            if len(self._balancers) >= _POLICIES_MAX:
                del self._balancers[next(iter(self._balancers))]
            balancer = self._balancers[policy] = self._continued(_NOTHING_YET, policy)
        return balancer

    @property
    def is_full(self) -> bool:
        """Whether the backend has as many requests as it may."""
        return 0 < self.backend.max_concurrency <= self.load.in_flight

    def report(self, pick: Pick, outcome: Outcome, *, now: float, seconds: float) -> bool:
        """Learn how an attempt ended, `seconds` to its response or failure; whether it ejected the endpoint."""
        if self.backend.load_balancing is LoadBalancing.EWMA and outcome is not Outcome.UNKNOWN:
            _observe(pick.member, outcome, seconds=seconds, now=now)
        return self.health.report(pick.member.health, outcome, now=now, probe=pick.probe)

    def cost_of(self, now: float) -> Callable[[Pick], float] | None:
        """What makes one pick dearer than another at `now`; None where they take turns."""
        match self.backend.load_balancing:
            case LoadBalancing.ROUND_ROBIN:
                return None
            case LoadBalancing.LEAST_REQUEST:
                return lambda pick: pick.member.in_flight
            case LoadBalancing.EWMA:
                return lambda pick: (self._latency(pick.member, now) + _LATENCY_LEAST) * (pick.member.in_flight + 1)

    def turns_by_health(self, pools: Pools, *, after: _Turns) -> _Turns:
        """`pools` as health leaves them, with turns that go on where `after` stands."""
        members = self.members
        kept = by_health(
            pools,
            is_well=lambda endpoint: members[label_of(endpoint)].health.is_well,
            panic_percent=self.backend.panic_percent,
        )
        return self._turns(kept, after)

    def _latency(self, member: Member, now: float) -> float:
        """The member's latency; the average of the others to start with, so that no newcomer is flooded."""
        if member.latency is None:
            known = [each.latency.at(now) for each in self.members.values() if each.latency is not None]
            if not known:
                return 0.0
            member.latency = Latency(seconds=sum(known) / len(known), now=now)
        return member.latency.at(now)

    def _continued(self, before: _Turns, policy: ZonePolicy) -> Balancer:
        pools = split(self.backend.endpoints, Surroundings(own=self._own_zone), policy)
        return Balancer(self, self._turns(pools, before))

    def _turns(self, pools: Pools, before: _Turns) -> _Turns:
        """Turns over new pools that go on where those before stand; newcomers start at a random place."""
        zonal = self._picks(pools.zonal, pools.reason)
        general = self._picks(pools.general, Reason.RETRY_OTHER_ZONE if pools.zonal_mode else pools.reason)
        return _Turns(
            pools,
            zonal=before.zonal.resized(zonal, key=_member_of, start=self._start(zonal)),
            general=before.general.resized(general, key=_member_of, start=self._start(general)),
        )

    def _start(self, picks: tuple[Pick, ...]) -> int:
        return self.random_below(len(picks)) if picks else 0

    def _picks(self, endpoints: tuple[Endpoint, ...], reason: Reason) -> tuple[Pick, ...]:
        return tuple(
            Pick(
                member=self.members[label_of(endpoint)],
                endpoint=endpoint,
                to_zone=endpoint.zone or UNKNOWN_ZONE,
                locality=locality_of(endpoint.zone, self._own_zone.zone),
                reason=reason,
            )
            for endpoint in endpoints
        )


def label_of(endpoint: Endpoint) -> str:
    """`address:port`, with an IPv6 address in brackets (RFC 3986 3.2.2)."""
    address = f"[{endpoint.address}]" if ":" in endpoint.address else endpoint.address
    return f"{address}:{endpoint.port}"


def _observe(member: Member, outcome: Outcome, *, seconds: float, now: float) -> None:
    latency = member.latency
    if outcome is Outcome.FAILED and (latency is None or seconds < latency.at(now)):
        return  # to fail quickly is no merit
    if latency is None:
        member.latency = Latency(seconds=seconds, now=now)
    else:
        latency.observe(seconds, now)


def _member_of(pick: Pick) -> Member:
    return pick.member
