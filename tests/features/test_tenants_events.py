"""A tenant with more problems than there is room for delays no Event and no status of another tenant."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from ingress.writing.notices import NoticeLimits
from tests.fakes.apiserver import Call, Fault
from tests.features.cluster.stage import Stage, becomes, staged
from tests.integration.manifests import Document, ingress, path, rule
from tests.integration.running import Zonal, until

pytestmark = pytest.mark.faults

_LIMITS = NoticeLimits()
_BROKEN = _LIMITS.waiting + int(_LIMITS.burst) + 50
_FEW = 20  # of other Events, before one that takes its turn among those of a thousand
_WRITES = ("--update-status=true", "--publish-status-address=203.0.113.7")


def broken(namespace: str, count: int) -> Iterable[Document]:
    """Ingresses with a host that is no name."""
    for number in range(count):
        yield ingress(f"broken-{number}", rule("1.2.3.4", path("/", "cart")), namespace=namespace)


def events(stage: Stage) -> list[str]:
    """The namespaces of the Events, in the order in which they were written."""
    return [call.namespace for call in stage.server.calls if is_event(call)]


def is_event(call: Call) -> bool:
    return call.verb == "create" and call.resource == "events"


async def finds(zonal: Zonal, namespace: str) -> None:
    """Wait until a finding is about an object of this namespace."""

    async def is_so() -> bool:
        return namespace in {each["namespace"] for each in await zonal.findings()}

    await becomes(is_so)


async def test_an_event_of_a_modest_tenant_does_not_wait_for_those_of_a_greedy_one(tmp_path: Path) -> None:
    async with staged(tmp_path) as stage:
        await stage.shop()
        stage.put(*broken("greedy", _BROKEN))
        zonal = await stage.ready(*_WRITES)
        await until(lambda: len(events(stage)) >= _LIMITS.burst, seconds=60.0)  # which leaves a thousand
        stage.put(*broken("modest", 1))
        await finds(zonal, "modest")
        before = len(events(stage))
        await until(lambda: "modest" in events(stage), seconds=60.0)
        assert events(stage).index("modest") < before + _FEW


async def test_a_status_of_a_modest_tenant_is_written_beside_those_that_nobody_can_write(tmp_path: Path) -> None:
    async with staged(tmp_path) as stage:
        await stage.shop()
        stage.server.faults.add(Fault(verb="patch", matches=lambda call: call.namespace == "greedy", status=500))
        rules = rule("web.test", path("/", "cart"))
        stage.put(*(ingress(f"web-{number}", rules, namespace="greedy") for number in range(_FEW)))
        stage.put(ingress("web", rules, namespace="modest"))
        await stage.ready(*_WRITES)
        await until(lambda: "ingress" in addresses(stage, "modest", "web"), seconds=60.0)
        assert addresses(stage, "greedy", "web-0") == {}


def addresses(stage: Stage, namespace: str, name: str) -> Document:
    document = stage.server.get("Ingress", namespace, name) or {}
    found: Document = document.get("status", {}).get("loadBalancer", {})
    return found
