"""Surroundings for tests of zone policies, said in one line, and the cases of other systems that they are judged by."""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import product
from pathlib import Path
from typing import Any

import msgspec
from hypothesis import strategies as st

from balancer.model.endpoints import Endpoint
from balancer.model.zones import OwnZone, Zone, ZoneFacts, ZonePolicy, ZonePolicyName
from balancer.zones.verdicts import Surroundings

ZONES = tuple(Zone(f"zone-{letter}") for letter in "abcd")
KEYS = ("kubernetes.io/hostname", "topology.kubernetes.io/zone", "topology.kubernetes.io/region", "rack", "*")


def cases(file_name: str) -> Any:
    """A file of `tests/cases`, whole."""
    return json.loads((Path(__file__).parents[3] / "cases" / file_name).read_text(encoding="utf-8"))


def zone_of(name: str | None) -> Zone | None:
    """An absent zone is also written as an empty name."""
    return Zone(name) if name else None


def zones_of(names: list[str] | None) -> tuple[Zone, ...]:
    return tuple(map(Zone, names or ()))


def around(
    zone: str | None = "zone-a",
    *,
    node: str | None = None,
    labels: Mapping[str, str] | None = None,
    cpu_milli: Mapping[str, int] | None = None,
    replicas: Mapping[str, int] | None = None,
) -> Surroundings:
    """A replica in `zone` on `node`, and what is known of the cluster."""
    return Surroundings(
        own=OwnZone(zone_of(zone), source="flag", node=node, labels=tuple(sorted((labels or {}).items()))),
        zones=ZoneFacts(cpu_milli=_by_zone(cpu_milli), replicas=_by_zone(replicas)),
    )


def _by_zone(counts: Mapping[str, int] | None) -> tuple[tuple[Zone, int], ...] | None:
    return tuple(sorted((Zone(zone), count) for zone, count in counts.items())) if counts is not None else None


_OWN_ZONES = (None, *ZONES)
_NODES = (None, "node-1", "node-2")
_LABELS: tuple[tuple[tuple[str, str], ...], ...] = (
    (),
    (("rack", "x"),),
    (("rack", "y"),),
    (("rack", "y"), ("topology.kubernetes.io/region", "x")),
)
_counts = st.none() | st.dictionaries(st.sampled_from(ZONES), st.integers(0, 5_000), max_size=4).map(
    lambda counts: tuple(sorted(counts.items()))
)

everywhere: st.SearchStrategy[Surroundings] = st.builds(
    Surroundings,
    own=st.sampled_from([OwnZone(*facts) for facts in product(_OWN_ZONES, ["flag"], _NODES, _LABELS)]),
    zones=st.builds(ZoneFacts, cpu_milli=_counts, replicas=_counts),
)

every_policy: st.SearchStrategy[ZonePolicy] = st.builds(
    ZonePolicy,
    name=st.sampled_from(ZonePolicyName),
    min_endpoints=st.integers(1, 3),
    min_percent=st.sampled_from([0, 25, 50, 100]),
    keys=st.lists(st.sampled_from(KEYS), max_size=3).map(tuple),
    min_cluster_size=st.integers(1, 8),
)

_HINTED_ZONES = ((), ZONES[:1], ZONES[1:2], ZONES[:2])
_HINTED_NODES: tuple[tuple[str, ...], ...] = ((), ("node-1",), ("node-2",))
_READY = [
    Endpoint("", 80, zone, node, hint_zones=zones, hint_nodes=nodes, labels=labels)
    for zone, node, zones, nodes, labels in product((*ZONES[:3], None), _NODES, _HINTED_ZONES, _HINTED_NODES, _LABELS)
]
_GONE = [msgspec.structs.replace(each, ready=False) for each in _READY]
_TERMINATING = [msgspec.structs.replace(each, serving_terminating=True) for each in _GONE]


def _numbered(endpoints: list[Endpoint]) -> tuple[Endpoint, ...]:
    return tuple(
        msgspec.structs.replace(each, address=f"10.0.0.{number}") for number, each in enumerate(endpoints, start=1)
    )


some_ready: st.SearchStrategy[tuple[Endpoint, ...]] = st.lists(st.sampled_from(_READY), min_size=1, max_size=9).map(
    _numbered
)
"""Ready endpoints with any facts: sorted, unique and at least one."""

some_endpoints: st.SearchStrategy[tuple[Endpoint, ...]] = st.lists(
    st.sampled_from(_READY) | st.sampled_from(_TERMINATING) | st.sampled_from(_GONE), max_size=9
).map(_numbered)
"""Endpoints in any condition, perhaps none."""
