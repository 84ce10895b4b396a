"""Bytes between zones cost what the prices say, and zonal keeps them in the zone where an endpoint is ready there."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

from balancer.model.zones import Zone, ZonePrices
from ingress.migration.rehearsal.savings import Meter
from tests.integration.manifests import endpoint_slice
from tests.unit.ingress.migration.dumped import nginx
from tests.unit.ingress.migration.rehearsal.logged import translated

A, B = Zone("zone-a"), Zone("zone-b")
PRICES = ZonePrices(default=0.01)
GIGABYTE = 10**9


class Far(NamedTuple):
    service: str
    zone: str | None
    port: int


def meter(place: Path, *zones: Zone) -> Meter:
    slices = [endpoint_slice(Far("cart", zone, port)) for zone, port in (("zone-a", 1), ("zone-b", 2))]
    for each in slices:
        each["endpoints"][0]["addresses"] = ["10.0.0.1"]
    return Meter(translated(place, nginx("web"), *slices).model, PRICES, zones)


def test_bytes_that_left_the_zone_are_saved(tmp_path: Path) -> None:
    counted = meter(tmp_path, A)
    counted.add("10.0.0.1:1", GIGABYTE, GIGABYTE)
    counted.add("10.0.0.1:2", GIGABYTE, GIGABYTE)
    counted.add("10.9.9.9:2", 0, GIGABYTE)
    found = counted.saving(86400.0)
    assert found.today == pytest.approx(0.02)
    assert found.saved == pytest.approx(0.02)
    assert found.a_month == pytest.approx(0.6)
    assert (found.bytes, found.known_bytes) == (5 * GIGABYTE, 4 * GIGABYTE)


def test_without_zones_of_replicas_each_zone_has_the_same_share(tmp_path: Path) -> None:
    counted = meter(tmp_path)
    counted.add("10.0.0.1:1", 0, GIGABYTE)
    assert counted.saving(None).today == pytest.approx(0.005)
    assert counted.saving(None).a_month is None


def test_a_zone_without_an_endpoint_saves_nothing(tmp_path: Path) -> None:
    counted = meter(tmp_path, Zone("zone-c"))
    counted.add("10.0.0.1:1", 0, GIGABYTE)
    found = counted.saving(None)
    assert found.today == pytest.approx(0.01)
    assert found.saved == 0.0
