"""The statuses of every case of Gateway API, from the translation alone: no sockets, no process."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from ingress.objects.converting import ObjectError, decode
from ingress.objects.kinds import Kind, KubernetesObject
from ingress.sources.events import Replaced
from ingress.sources.inventory import Inventory
from ingress.translation.gateway.material import GatewayMaterial
from ingress.translation.gateway.reading import GatewayOptions, read_gateways
from ingress.translation.secrets.materials import Materials
from tests.features.gateway.cases import Case, Json, all_cases
from tests.features.gateway.documents import PROVISIONED, Cluster, Place
from tests.features.gateway.standing import invariant_problems, status_problems
from tests.features.ingress_nginx.authorities import Authorities

_MEANT_FOR_OTHERS = {"udp", "no-mixed", "addresses", "pending-load-balancer"}
"""What a case needs that is not offered, or is offered, or that `test_gateway_cluster` has."""


def _cases() -> list[Case]:
    wanted = (each for each in all_cases() if not _MEANT_FOR_OTHERS & set(each.needs))
    return [each for each in wanted if any(step.status for step in each.steps)]


@pytest.fixture(scope="module")
def authorities() -> Iterator[Authorities]:
    with tempfile.TemporaryDirectory() as place:
        yield Authorities(Path(place))


@pytest.mark.parametrize("case", _cases(), ids=lambda case: case.id)
def test_statuses(case: Case, authorities: Authorities) -> None:
    assert _played(case, authorities) == []


def _played(case: Case, authorities: Authorities) -> list[str]:
    cluster = Cluster(case, authorities, _placed)
    problems = []
    for step in case.steps:
        for change in step.apply:
            cluster.apply(change)
        for name in step.delete:
            cluster.delete(name)
        statuses = _statuses(cluster, frozenset({80, *case.ports}))
        expected = [{"conditions_absent": step.conditions_absent, **each} for each in step.status]
        problems += status_problems(expected, statuses, cluster) + invariant_problems(statuses, cluster)
    return problems


def _placed(_: str, said: Json) -> dict[int, list[Place]]:
    ports = [each if isinstance(each, int) else each["port"] for each in said["ports"]]
    hows = said.get("endpoints", 1)
    count = hows if isinstance(hows, int) else len(hows)
    return {port: [(f"10.0.0.{index + 1}", port) for index in range(count)] for port in ports}


def _statuses(cluster: Cluster, ports: frozenset[int]) -> list[Json]:
    options = GatewayOptions("zonal-ingress.io/controller", ports)
    inventory = Inventory()
    objects = [item for each in cluster.documents() if (item := _decoded(each)) is not None]
    for kind in Kind:
        inventory.apply(Replaced(kind, tuple(item for item in objects if item.kind is kind)))
    inventory.apply(PROVISIONED)
    read = read_gateways(inventory, options, GatewayMaterial(inventory, Materials()))
    found: list[Json] = msgspec.to_builtins(read.standings)
    return found


def _decoded(document: Json) -> KubernetesObject | None:
    try:
        return decode(document)
    except ObjectError:
        return None
