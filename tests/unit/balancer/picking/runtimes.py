"""Runtimes of backends whose zones are letters, and what they pick."""

from __future__ import annotations

from balancer.model.endpoints import Backend
from balancer.model.zones import OwnZone, ZonePolicy
from balancer.picking.backend import BackendRuntime
from balancer.picking.balancers import Balancer
from balancer.picking.members import Pick
from tests import builders as build


def first(_: int) -> int:
    return 0


def runtime_of(zones: str, *, policy: ZonePolicy = build.PREFER_ZONE, zone: str | None = "zone-a") -> BackendRuntime:
    """A letter is a ready endpoint in that zone."""
    return fresh(build.backend(of=build.endpoints(zones), zone_policy=policy), build.own_zone(zone))


def fresh(backend: Backend, own_zone: OwnZone) -> BackendRuntime:
    return BackendRuntime.fresh(backend, own_zone=own_zone, random_below=first)


def last_numbers(balancer: Balancer, count: int) -> str:
    """The last digits of the addresses of the next picks."""
    return "".join(must(balancer.pick()).endpoint.address[-1] for _ in range(count))


def must(pick: Pick | None) -> Pick:
    assert pick is not None
    return pick
