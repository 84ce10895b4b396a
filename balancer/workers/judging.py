"""Gathers what a worker has learned about its backends, for the metrics and the overview.

Looks at a few backends in each step, because there may be thousands of them, and most are in no cache of the processor.
Does not know who asks.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Generator, Mapping
from typing import Final

from balancer.live import LiveTable, View
from balancer.matching.steering import BY_ITSELF, Ways, named
from balancer.model.endpoints import BackendKey
from balancer.model.zones import UNKNOWN_ZONE, ZoneEvacuation
from balancer.picking.backend import BackendRuntime
from balancer.picking.members import Member
from balancer.runtime.shares import FairShares
from balancer.workers.messages import MemberReport, WorkerReport, ZoneEvidence, ZoneReport
from balancer.zones.evacuation import ZoneChange, ZoneState
from balancer.zones.split import evacuation_in_force

# By measurement a healthy backend that is in no cache takes 0.4 microseconds.
_BACKENDS_A_STEP: Final = 64
_MEMBERS_MOST: Final = 1000
_UNWELL_MOST: Final = 400  # every report carries them; a namespace has half of them at most
_ZONES_MOST: Final = 300  # likewise


class Judgements:
    """What is known about the backends of one worker; empty until something is noted.

    `left_out` counts the ready endpoints that health leaves out, by namespace, Service and zone. `unwell` are unhealthy
    endpoints by backend and `address:port`, with their state; up to `_UNWELL_MOST`, divided among namespaces. Under
    `adaptive`, `spill_ratios` are the shares of requests that leave the own zone, by namespace and Service, and
    `overload_factors` say how overloaded that zone is, by namespace, Service and zone; of several ports or policies the
    highest. `zones` are those of backends some of whose answers fail; up to `_ZONES_MOST`, divided likewise. `members`
    are the endpoints of the Service that was asked about; the first `_MEMBERS_MOST`.
    """

    __slots__ = (
        "_unwell_shares",
        "_zone_shares",
        "left_out",
        "members",
        "overload_factors",
        "spill_ratios",
        "unwell",
        "zones",
    )

    def __init__(self) -> None:
        self.left_out: Counter[tuple[str, str, str]] = Counter()
        self.unwell: list[tuple[str, str, str]] = []
        self._unwell_shares = FairShares(_UNWELL_MOST)
        self.spill_ratios: dict[tuple[str, str], float] = {}
        self.overload_factors: dict[tuple[str, str, str], float] = {}
        self.members: list[MemberReport] = []
        self.zones: list[ZoneReport] = []
        self._zone_shares = FairShares(_ZONES_MOST)

    def note_health(self, runtime: BackendRuntime) -> None:
        """Adds the unhealthy endpoints of a backend."""
        if not runtime.health.impaired:
            return
        backend = runtime.backend
        for label, member in runtime.members.items():
            if member.health.is_well:
                continue
            if member.endpoint.ready:
                self.left_out[backend.namespace, backend.service, member.endpoint.zone or UNKNOWN_ZONE] += 1
            if self._unwell_shares.take(backend.namespace):
                self.unwell.append((backend.key, label, member.health.state.value))

    def note_spills(self, runtime: BackendRuntime, zone: str) -> None:
        """Adds what the controllers of a backend have found. `zone` is the own zone."""
        ratios, factors = self.spill_ratios, self.overload_factors
        service = runtime.backend.namespace, runtime.backend.service
        place = *service, zone
        for controller in runtime.plans.controllers():
            ratios[service] = max(ratios.get(service, 0.0), controller.share)
            factors[place] = max(factors.get(place, 0.0), controller.overload_factor)

    def note_zones(self, runtime: BackendRuntime, ways: Ways, now: float) -> None:
        """Adds what is known about the zones of a backend some of whose answers fail. `ways` are those of routes."""
        for state in runtime.evacuation.states(now):
            if self._zone_shares.take(runtime.backend.namespace):
                self.zones.append(_zone_report(runtime, state, ways))

    def note_members(self, runtime: BackendRuntime, now: float) -> None:
        """Adds the endpoints of a backend one by one."""
        room = _MEMBERS_MOST - len(self.members)
        some = list(runtime.members.values())[:room]
        self.members += [_member_report(runtime.backend.key, member, now) for member in some]


def worker_report(found: Judgements, connections: Mapping[str, int], *, lag_seconds: float) -> WorkerReport:
    """The report of one worker: what it knows about backends, its connections by state, and the lag of its loop."""
    return WorkerReport(
        connections=tuple(connections.items()),
        left_out=tuple((*place, count) for place, count in found.left_out.items()),
        spill_ratios=tuple((*service, ratio) for service, ratio in found.spill_ratios.items()),
        overload_factors=tuple((*place, factor) for place, factor in found.overload_factors.items()),
        unwell=tuple(found.unwell),
        zones=tuple(found.zones),
        members=tuple(found.members),
        event_loop_lag_seconds=lag_seconds,
    )


def judging(live: LiveTable, about: tuple[str, str] | None = None) -> Generator[None, None, Judgements]:
    """Looks at all backends in steps. `about` is the Service (namespace, name) whose endpoints are told.

    Meanwhile another publication may come into use. Holds no runtime between two steps, because to free thousands of
    them at once would take milliseconds.
    """
    found = Judgements()
    keys = tuple(live.view.backends)
    yield
    for first in range(0, len(keys), _BACKENDS_A_STEP):
        _judge(live.view, keys[first : first + _BACKENDS_A_STEP], about, found)
        yield
    return found


def _judge(view: View, keys: tuple[BackendKey, ...], about: tuple[str, str] | None, found: Judgements) -> None:
    runtimes = [runtime for runtime in map(view.backends.get, keys) if runtime is not None]
    now = time.perf_counter()  # the clock of picks
    for runtime in [each for each in runtimes if _has_news(each)]:  # few of thousands
        found.note_health(runtime)
        found.note_spills(runtime, view.own_zone.zone or UNKNOWN_ZONE)
        found.note_zones(runtime, view.steering.get(runtime.backend.key, BY_ITSELF), now)
    if about is not None:
        for runtime in runtimes:
            if (runtime.backend.namespace, runtime.backend.service) == about:
                found.note_members(runtime, now)


def _has_news(runtime: BackendRuntime) -> bool:
    return bool(runtime.health.impaired) or runtime.plans.has_controllers or runtime.evacuation.is_awake


def _zone_report(runtime: BackendRuntime, state: ZoneState, ways: Ways) -> ZoneReport:
    backend, own, others = runtime.backend, state.own, state.others
    return ZoneReport(
        namespace=backend.namespace,
        service=backend.service,
        backend=backend.key,
        zone=state.zone,
        state=state.step.value,
        share=state.share,
        answers=round(own.answers),
        failed=round(own.failed),
        other_answers=round(others.answers),
        other_failed=round(others.failed),
        seconds=state.seconds,
        dry_run=not runtime.plans.leaves_zones,
        staying=_staying(runtime, ways),
        begun=_evidence(state.begun) if state.begun is not None else None,
    )


def _staying(runtime: BackendRuntime, ways: Ways) -> str:
    """Whose requests stay although those of others leave; empty if none leave, or all."""
    if not runtime.plans.leaves_zones:
        return ""
    backend = runtime.backend
    return named(
        owner
        for policy, owners in ways.items()
        if evacuation_in_force(policy or backend.zone_policy, backend.endpoints) is not ZoneEvacuation.ON
        for owner in owners
    )


def _evidence(change: ZoneChange) -> ZoneEvidence:
    own, others = change.own, change.others
    return ZoneEvidence(round(own.answers), round(own.failed), round(others.answers), round(others.failed))


def _member_report(backend: str, member: Member, now: float) -> MemberReport:
    until, latency = member.health.ejected_until, member.latency
    return MemberReport(
        backend=backend,
        endpoint=member.label,
        in_flight=member.in_flight,
        latency_seconds=latency.at(now) if latency is not None else None,
        ejected_seconds=max(0.0, until - now) if until is not None else None,
    )
