"""Decides what is reported about Services that leave zonal mode or return to it, and how often.

Finds the mode with the code that serves requests. Reports at most one change of a Service in a minute, and only changes
of facts, because an operator who switches a policy on or off knows about it. Does not know who is told, nor the clock.
"""

from __future__ import annotations

from collections.abc import Collection, Generator, Mapping
from operator import itemgetter

import msgspec

from balancer.model.endpoints import Backend, BackendKey
from balancer.model.publication import RoutingModel, other_objects
from balancer.model.zones import Zone, ZonePolicy, ZonePolicyName
from balancer.zones.reasons import Reason
from balancer.zones.split import split
from balancer.zones.verdicts import Surroundings

QUIET_SECONDS = 60.0
"""After a report about a Service, nothing more is reported about it for so long."""

_Service = tuple[str, str]
_SERVICE = itemgetter(0)


class ZoneMode(msgspec.Struct, frozen=True):
    """Whether the zone policy of a Service decides where its requests go, and why.

    `refuses` means that the policy wants none of the endpoints, so requests are answered with 503.
    """

    zonal: bool
    reason: Reason
    refuses: bool = False


class ModeChange(msgspec.Struct, frozen=True):
    """A Service whose mode differs from the last reported mode, as seen from `own_zone`."""

    namespace: str
    service: str
    mode: ZoneMode
    own_zone: Zone | None

    @property
    def sentence(self) -> str:
        """The change in words, for a log line and an Event."""
        where = f"requests that arrive in {self.own_zone or 'an unknown zone'}"
        what = "follow its zone policy again" if self.mode.zonal else "go to the endpoints of every zone"
        if self.mode.refuses:
            what = "are answered with 503"
        return f"{where} {what}: {self.mode.reason.explanation} ({self.mode.reason.value})"


class ZoneModes:
    """The last reported mode of every Service. `now` is a monotonic clock, in seconds.

    A Service without any usable endpoint has no mode (None), because a finding reports it. Its last reported mode is
    kept until it has an endpoint again.
    """

    __slots__ = (
        "_around",
        "_backends",
        "_judged",
        "_left",
        "_modes",
        "_ports",
        "_quiet_seconds",
        "_quiet_until",
        "_told",
        "_withheld",
    )

    def __init__(self, *, quiet_seconds: float = QUIET_SECONDS) -> None:
        """After a change nothing is told of the same Service for `quiet_seconds`."""
        self._quiet_seconds = quiet_seconds
        self._around = Surroundings()
        self._backends: tuple[Backend, ...] = ()
        self._judged: dict[BackendKey, tuple[Backend, ZoneMode | None]] = {}
        self._ports: dict[_Service, list[BackendKey]] = {}
        self._modes: dict[_Service, ZoneMode | None] = {}
        self._told: dict[_Service, bool] = {}
        self._left: set[_Service] = set()
        self._quiet_until: dict[_Service, float] = {}
        self._withheld: tuple[_Service, ...] = ()

    def following(self, model: RoutingModel, now: float) -> Generator[None, None, tuple[ModeChange, ...]]:
        """The changes to report at `now`, sorted by Service, in steps. A change that comes too soon is withheld for a
        later call.

        A Service that is seen for the first time, or again under a policy that counts, has not changed. Only a Service
        that was reported to have left can be reported to have returned: at a start, zones become known after endpoints.
        """
        judged = yield from self._judging(model)
        yield
        self._quiet_until = {service: until for service, until in self._quiet_until.items() if now < until}
        # The modes of all other Services have not changed since they were reported.
        asked = {*judged, *self._withheld} & self._modes.keys()
        different = [(service, mode) for service in asked if (mode := self._mode_untold(service)) is not None]
        self._withheld = tuple(service for service, _ in different if service in self._quiet_until)
        due = sorted(((service, mode) for service, mode in different if service not in self._quiet_until), key=_SERVICE)
        self._told.update((service, mode.zonal) for service, mode in due)
        self._left = (self._left - {service for service, mode in due if mode.zonal}) | {
            service for service, mode in due if not mode.zonal
        }
        self._quiet_until.update((service, now + self._quiet_seconds) for service, _ in due)
        return tuple(ModeChange(*service, mode=mode, own_zone=model.own_zone.zone) for service, mode in due)

    def wait_seconds(self, now: float) -> float | None:
        """Seconds from `now` until `following` should see the same model again; None if nothing is withheld."""
        ends = [self._quiet_until[service] for service in self._withheld]
        return max(0.0, min(ends) - now) if ends else None

    def _judging(self, model: RoutingModel) -> Generator[None, None, Collection[_Service]]:
        """Finds the mode of each Service whose policy counts. Returns the Services whose mode may have changed."""
        around = Surroundings(model.own_zone, model.zones)
        is_elsewhere = around != self._around
        self._around = around
        before = self._backends
        self._backends = model.backends
        changed = None if is_elsewhere else _changed(before, model.backends)
        yield
        if changed is None:
            yield from self._judging_all({} if is_elsewhere else self._judged)
            return self._modes.keys()
        for backend in changed:
            self._judged[backend.key] = backend, _mode(backend, around)
            yield
        services = {(backend.namespace, backend.service) for backend in changed}
        for service in services:
            self._modes[service] = self._mode_of(service)
            yield
        return services

    def _judging_all(self, before: Mapping[BackendKey, tuple[Backend, ZoneMode | None]]) -> Generator[None, None, None]:
        self._judged = {}
        self._ports = {}
        for backend in self._backends:
            if _counts(backend.zone_policy):
                known = before.get(backend.key)
                is_known = known is not None and known[0] == backend
                self._judged[backend.key] = known if known and is_known else (backend, _mode(backend, self._around))
                self._ports.setdefault((backend.namespace, backend.service), []).append(backend.key)
                yield
        self._modes = {service: self._mode_of(service) for service in self._ports}
        self._told = {service: zonal for service, zonal in self._told.items() if service in self._modes}
        self._left &= self._modes.keys()

    def _mode_untold(self, service: _Service) -> ZoneMode | None:
        """The mode of a Service, if it differs from the last reported mode."""
        mode = self._modes[service]
        if mode is None or mode.zonal == self._told.setdefault(service, mode.zonal):
            return None
        if mode.zonal and service not in self._left:
            self._told[service] = True
            return None
        return mode

    def _mode_of(self, service: _Service) -> ZoneMode | None:
        """Zonal only if each port with an endpoint is zonal; None if no port has an endpoint."""
        modes = [mode for key in self._ports[service] if (mode := self._judged[key][1]) is not None]
        return next((mode for mode in reversed(modes) if not mode.zonal), modes[0] if modes else None)


def _changed(before: tuple[Backend, ...], after: tuple[Backend, ...]) -> list[Backend] | None:
    """Backends that count and are other objects than before; None if backends were added, removed or began or ceased to
    count.
    """
    others = other_objects(before, after)
    if others is None or any(
        old.key != new.key
        or (old.zone_policy is not new.zone_policy and _counts(old.zone_policy) != _counts(new.zone_policy))
        for old, new in zip(*others, strict=True)
    ):
        return None
    return [new for new in others[1] if _counts(new.zone_policy)]


def _counts(policy: ZonePolicy) -> bool:
    return policy.name is not ZonePolicyName.OFF and not policy.dry_run and policy.rollout_percent > 0


def _mode(backend: Backend, around: Surroundings) -> ZoneMode | None:
    pools = split(backend.endpoints, around, backend.zone_policy)
    if not pools.general:  # there is neither a ready endpoint nor a terminating one that still serves
        return None
    return ZoneMode(pools.zonal_mode and not pools.refuses, pools.reason, pools.refuses)
