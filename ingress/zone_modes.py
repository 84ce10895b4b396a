"""Services that leave zonal mode or return to it: what is told about that, and how often.

Responsible for noticing by the code that serves requests, and for saying at most one thing of a Service in a minute. It
must not know who is told, nor the clock. Only changes of facts are told: whoever turns a policy on or off knows it.
"""

from __future__ import annotations

import msgspec

from balancer.model import Backend, BackendKey, RoutingModel, Zone, ZonePolicy, ZonePolicyName
from balancer.zones.reasons import Reason
from balancer.zones.split import split
from balancer.zones.verdicts import Surroundings

QUIET_SECONDS = 60.0
"""How long after telling something of a Service nothing more is told of it."""

_Service = tuple[str, str]


class ZoneMode(msgspec.Struct, frozen=True):
    """Whether the zone policy of a Service decides where its requests go, and why."""

    zonal: bool
    reason: Reason


class ModeChange(msgspec.Struct, frozen=True):
    """A Service that is in another mode than was told last, as seen from `own_zone`."""

    namespace: str
    service: str
    mode: ZoneMode
    own_zone: Zone | None

    @property
    def sentence(self) -> str:
        """What has changed, for a log line and an Event."""
        where = f"requests that arrive in {self.own_zone or 'an unknown zone'}"
        what = "follow its zone policy again" if self.mode.zonal else "go to the endpoints of every zone"
        return f"{where} {what}: {self.mode.reason.explanation} ({self.mode.reason.value})"


class ZoneModes:
    """The mode of every Service as it was told last. `now` is a monotonic clock, in seconds."""

    __slots__ = ("_around", "_judged", "_quiet_until", "_told", "_withheld")

    def __init__(self) -> None:
        self._around = Surroundings()
        self._judged: dict[BackendKey, tuple[Backend, ZoneMode]] = {}
        self._told: dict[_Service, bool] = {}
        self._quiet_until: dict[_Service, float] = {}
        self._withheld: tuple[_Service, ...] = ()

    def follow(self, model: RoutingModel, now: float) -> tuple[ModeChange, ...]:
        """What there is to tell at `now`, sorted by Service; what changes too soon is withheld for a later call.

        A Service that is seen for the first time, or again under a policy that counts, has not changed.
        """
        modes = self._modes(model)
        self._quiet_until = {service: until for service, until in self._quiet_until.items() if now < until}
        self._told = {service: self._told.get(service, mode.zonal) for service, mode in modes.items()}
        different = [service for service in sorted(modes) if modes[service].zonal != self._told[service]]
        due = [service for service in different if service not in self._quiet_until]
        self._withheld = tuple(service for service in different if service in self._quiet_until)
        self._told.update((service, modes[service].zonal) for service in due)
        self._quiet_until.update((service, now + QUIET_SECONDS) for service in due)
        return tuple(ModeChange(*service, mode=modes[service], own_zone=model.own_zone.zone) for service in due)

    def wait_seconds(self, now: float) -> float | None:
        """How long after `now` to `follow` the same model again; None if nothing is withheld."""
        ends = [self._quiet_until[service] for service in self._withheld]
        return max(0.0, min(ends) - now) if ends else None

    def _modes(self, model: RoutingModel) -> dict[_Service, ZoneMode]:
        """The mode of each Service whose policy counts: zonal only if it is so on each of its ports."""
        around = Surroundings(model.own_zone, model.zones)
        before = self._judged if around == self._around else {}
        self._around = around
        self._judged = {
            backend.key: _judged(before.get(backend.key), backend, around)
            for backend in model.backends
            if _counts(backend.zone_policy)
        }
        modes: dict[_Service, ZoneMode] = {}
        for backend, mode in self._judged.values():
            service = backend.namespace, backend.service
            if service not in modes or not mode.zonal:
                modes[service] = mode
        return modes


def _counts(policy: ZonePolicy) -> bool:
    return policy.name is not ZonePolicyName.OFF and not policy.dry_run and policy.rollout_percent > 0


def _judged(
    before: tuple[Backend, ZoneMode] | None, backend: Backend, around: Surroundings
) -> tuple[Backend, ZoneMode]:
    if before is not None and before[0] == backend:
        return backend, before[1]
    pools = split(backend.endpoints, around, backend.zone_policy)
    return backend, ZoneMode(pools.zonal_mode and not pools.refuses, pools.reason)
