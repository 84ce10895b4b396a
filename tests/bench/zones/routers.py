"""How each policy picks in the simulation: the judges, the controller and the choice of two that serve requests."""

from __future__ import annotations

from collections.abc import Callable

from balancer.model.endpoints import Endpoint
from balancer.model.zones import ZonePolicy, ZonePolicyName
from balancer.picking.loads import Latency, better_of_two
from balancer.picking.rotation import Rotation
from balancer.zones.adaptive import SpillController, cost
from balancer.zones.split import JUDGES
from balancer.zones.verdicts import ALL_BASIS_POINTS, Surroundings
from tests.bench.zones.simulation import Member

RandomBelow = Callable[[int], int]


class Turns:
    """Round robin over what a policy wants, as `off`, `prefer-zone` and `proportional` do."""

    def __init__(self, policy: ZonePolicyName, random_below: RandomBelow) -> None:
        self._policy = policy
        self._random_below = random_below

    def place(self, ready: dict[Endpoint, Member], around: Surroundings) -> None:
        endpoints = tuple(sorted(ready))
        verdict = JUDGES[self._policy](endpoints, around, ZonePolicy(self._policy))
        zonal = endpoints if verdict.zonal is None else verdict.zonal
        self._zonal = self._rotation([ready[endpoint] for endpoint in zonal])
        self._basis_points = verdict.zonal_basis_points
        self._residuals = [
            (residual.weight, self._rotation([ready[endpoint] for endpoint in residual.endpoints]))
            for residual in verdict.residuals
        ]
        self._weights = sum(weight for weight, _ in self._residuals)

    def pick(self, now: float) -> Member:
        if self._basis_points == ALL_BASIS_POINTS or self._random_below(ALL_BASIS_POINTS) < self._basis_points:
            return _some(self._zonal.next())
        drawn = self._random_below(self._weights)
        for weight, rotation in self._residuals:
            drawn -= weight
            if drawn < 0:
                return _some(rotation.next())
        raise AssertionError("weights are what they add up to")

    def ended(self, member: Member, seconds: float, now: float) -> None:
        pass

    def failed(self, member: Member, now: float) -> None:
        pass

    def share(self) -> float:
        return 0.0

    def _rotation(self, members: list[Member]) -> Rotation:
        return Rotation(members, start=self._random_below(len(members)) if members else 0)


class TwoChoices:
    """The better of two over every endpoint, blind to zones: what the goals are measured by."""

    def __init__(self, random_below: RandomBelow) -> None:
        self._random_below = random_below

    def place(self, ready: dict[Endpoint, Member], around: Surroundings) -> None:
        self._members = [ready[endpoint] for endpoint in sorted(ready)]

    def pick(self, now: float) -> Member:
        return self._better(self._members, now)

    def ended(self, member: Member, seconds: float, now: float) -> None:
        if member.latency is None:
            member.latency = Latency(seconds=seconds, now=now)
        else:
            member.latency.observe(seconds, now)

    def failed(self, member: Member, now: float) -> None:
        pass  # a quick failure is no latency

    def share(self) -> float:
        return 0.0

    def _better(self, members: list[Member], now: float) -> Member:
        def cost_now(member: Member) -> float:
            latency = member.latency
            return cost(latency.at(now) if latency is not None else 0.0, member.in_flight)

        return _some(better_of_two(members, cost=cost_now, random_below=self._random_below))


class Adaptive(TwoChoices):
    """`adaptive`: the own zone's endpoints, and those of other zones for the share that the controller says."""

    def __init__(self, random_below: RandomBelow) -> None:
        super().__init__(random_below)
        self.controller = SpillController(ZonePolicy(ZonePolicyName.ADAPTIVE), start=random_below(ALL_BASIS_POINTS))

    def place(self, ready: dict[Endpoint, Member], around: Surroundings) -> None:
        super().place(ready, around)
        self._local = [member for member in self._members if member.is_local]
        self._remote = [member for member in self._members if not member.is_local]
        if self._local:
            self.controller.follow(len(self._local))

    def pick(self, now: float) -> Member:
        if not self._local:
            return self._better(self._members, now)
        if self.controller.next_leaves(now):
            return self._better(self._remote, now)
        return self._better(self._local, now)

    def ended(self, member: Member, seconds: float, now: float) -> None:
        super().ended(member, seconds, now)
        if self._local:
            self.controller.ended(is_local=member.is_local, seconds=seconds)

    def failed(self, member: Member, now: float) -> None:
        if self._local:
            self.controller.ended(is_local=member.is_local, seconds=None)

    def share(self) -> float:
        return self.controller.share


def _some(member: Member | None) -> Member:
    if member is None:
        raise AssertionError("every scenario keeps an endpoint ready")
    return member
