"""Services that leave zonal mode or return to it: what is told about that, and how often.

Responsible for noticing by the code that serves requests, and for saying at most one thing of a Service in a minute. It
must not know who is told, nor the clock. Only changes of facts are told: whoever turns a policy on or off knows it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

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

    __slots__ = ("_around", "_backends", "_judged", "_modes", "_ports", "_quiet_until", "_told", "_withheld")

    def __init__(self) -> None:
        self._around = Surroundings()
        self._backends: tuple[Backend, ...] = ()
        self._judged: dict[BackendKey, tuple[Backend, ZoneMode]] = {}
        self._ports: dict[_Service, list[BackendKey]] = {}
        self._modes: dict[_Service, ZoneMode] = {}
        self._told: dict[_Service, bool] = {}
        self._quiet_until: dict[_Service, float] = {}
        self._withheld: tuple[_Service, ...] = ()

    def follow(self, model: RoutingModel, now: float) -> tuple[ModeChange, ...]:
        """What there is to tell at `now`, sorted by Service; what changes too soon is withheld for a later call.

        A Service that is seen for the first time, or again under a policy that counts, has not changed.
        """
        judged, modes = self._judge(model), self._modes
        self._quiet_until = {service: until for service, until in self._quiet_until.items() if now < until}
        # Of all others it was told what they are.
        asked = sorted({*judged, *self._withheld} & modes.keys())
        different = [service for service in asked if modes[service].zonal != self._told[service]]
        due = [service for service in different if service not in self._quiet_until]
        self._withheld = tuple(service for service in different if service in self._quiet_until)
        self._told.update((service, modes[service].zonal) for service in due)
        self._quiet_until.update((service, now + QUIET_SECONDS) for service in due)
        return tuple(ModeChange(*service, mode=modes[service], own_zone=model.own_zone.zone) for service in due)

    def wait_seconds(self, now: float) -> float | None:
        """How long after `now` to `follow` the same model again; None if nothing is withheld."""
        ends = [self._quiet_until[service] for service in self._withheld]
        return max(0.0, min(ends) - now) if ends else None

    def _judge(self, model: RoutingModel) -> Collection[_Service]:
        """Find the mode of each Service whose policy counts; those that may have another one than before."""
        around = Surroundings(model.own_zone, model.zones)
        is_elsewhere, self._around = around != self._around, around
        before, self._backends = self._backends, model.backends
        changed = None if is_elsewhere else _changed(before, model.backends)
        if changed is None:
            self._judge_all({} if is_elsewhere else self._judged)
            return self._modes.keys()
        services = {(backend.namespace, backend.service) for backend in changed}
        self._judged.update((backend.key, (backend, _mode(backend, around))) for backend in changed)
        self._modes.update((service, self._mode_of(service)) for service in services)
        return services

    def _judge_all(self, before: Mapping[BackendKey, tuple[Backend, ZoneMode]]) -> None:
        self._judged, self._ports = {}, {}
        for backend in self._backends:
            if _counts(backend.zone_policy):
                known = before.get(backend.key)
                is_known = known is not None and known[0] == backend
                self._judged[backend.key] = known if known and is_known else (backend, _mode(backend, self._around))
                self._ports.setdefault((backend.namespace, backend.service), []).append(backend.key)
        self._modes = {service: self._mode_of(service) for service in self._ports}
        self._told = {service: self._told.get(service, mode.zonal) for service, mode in self._modes.items()}

    def _mode_of(self, service: _Service) -> ZoneMode:
        """Zonal only if it is so on each port."""
        modes = [self._judged[key][1] for key in self._ports[service]]
        return next((mode for mode in reversed(modes) if not mode.zonal), modes[0])


def _changed(before: tuple[Backend, ...], after: tuple[Backend, ...]) -> list[Backend] | None:
    """Backends that count and are not the same object as before; None if there are others than before."""
    if len(before) != len(after):
        return None
    changed = []
    for old, new in zip(before, after, strict=True):
        if old is new:
            continue
        if old.key != new.key or _counts(old.zone_policy) != _counts(new.zone_policy):
            return None
        if _counts(new.zone_policy):
            changed.append(new)
    return changed


def _counts(policy: ZonePolicy) -> bool:
    return policy.name is not ZonePolicyName.OFF and not policy.dry_run and policy.rollout_percent > 0


def _mode(backend: Backend, around: Surroundings) -> ZoneMode:
    pools = split(backend.endpoints, around, backend.zone_policy)
    return ZoneMode(pools.zonal_mode and not pools.refuses, pools.reason)
