"""What deploy/ grants is what is called, no more and no less, and each optional permission can be missing."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.fakes.apiserver import Call
from tests.features.cluster.certificates import serial_of
from tests.features.cluster.permitted import (
    furnish,
    is_use,
    name_a_late_node,
    rules,
    started,
    unused,
)
from tests.features.cluster.stage import (
    HOST,
    Stage,
    answers,
    becomes,
    has_finding,
    own_zone,
    staged,
    status_of,
    zones_of,
)
from tests.features.deploying.permissions import Grant, grants
from tests.features.deploying.rendering import Document, chart, manifests
from tests.integration.manifests import ingress, path, rule
from tests.integration.running import Zonal

READING = ("get", "list", "watch")

CHOICES: dict[str, Callable[[], tuple[Document, ...]]] = {
    "manifests": manifests,
    "everything": lambda: chart("everything"),
    "namespaces": lambda: chart("namespaces"),
    "every-secret": lambda: chart("every-secret"),
}


def told(call: Call) -> str:
    return f"{call.verb} {call.group}/{call.resource}/{call.subresource} {call.namespace}/{call.name}: {call.status}"


async def live_through_all(stage: Stage, zonal: Zonal, granted: list[Grant]) -> None:
    """Cause every kind of call: streaming lists, watches, paged lists, renewals, and a node never seen before."""
    name_a_late_node(stage)

    async def is_all_used() -> bool:
        return not {each for each, _ in unused(granted, stage.server.calls) if each.verb != "list"}

    await becomes(is_all_used)
    stage.server.streaming_lists = False
    stage.relist()

    async def is_listed_too() -> bool:
        return not unused(granted, stage.server.calls)

    await becomes(is_listed_too)
    stage.put(ingress("late", rule("late.test", path("/", "cart"))))
    await answers(zonal, 200, "late.test")


@pytest.mark.parametrize("choice", CHOICES)
async def test_no_call_is_refused_and_no_permission_is_idle(tmp_path: Path, choice: str) -> None:
    objects = CHOICES[choice]()
    async with staged(tmp_path) as stage:
        await furnish(stage)
        stage.server.rules = rules(objects)
        zonal = await started(stage, objects)
        try:
            await live_through_all(stage, zonal, grants(objects))
        except AssertionError:
            assert unused(grants(objects), stage.server.calls) == []
            raise
        refused = [call for call in stage.server.calls if call.status == 403]
        if choice == "manifests":
            assert {call.resource for call in refused} == {"secrets", "configmaps"}, "granted when it is known which"
        else:
            assert list(map(told, refused)) == []
        strangers = [call for call in stage.server.calls if not any(is_use(call, each) for each in grants(objects))]
        assert [told(call) for call in strangers if call.status not in (0, 403)] == []


async def zones_do_not_count(zonal: Zonal) -> bool:
    return await zones_of(zonal) == {"zone-a", "zone-b"}


async def certificate_is_the_default(zonal: Zonal) -> bool:
    return not await serial_of(zonal, "shop-tls.test")


async def zone_is_unknown(zonal: Zonal) -> bool:
    return await own_zone(zonal) == (None, "none")


async def all_is_well(zonal: Zonal) -> bool:
    return await zones_of(zonal) == {"zone-a"} and await own_zone(zonal) == ("zone-a", "node")


Effect = Callable[[Zonal], Awaitable[bool]]


class Loss(NamedTuple):
    """What becomes of it when a role of `choice` is missing: how it is told, served, and what is not written."""

    choice: str
    told: tuple[str, str]
    is_so: Effect
    unwritten: frozenset[str] = frozenset()


STATUS, EVENTS = "ingresses/status", "events"

WITHOUT: dict[str, Loss] = {
    "zonal-settings": Loss("everything", ("ConfigMap", "ApiForbidden"), zones_do_not_count),
    "zonal-secrets": Loss("everything", ("Secret", "ApiForbidden"), certificate_is_the_default),
    # Of this choice, the addresses of the status are those of nodes.
    "zonal-nodes": Loss("everything", ("Node", "ApiForbidden"), zone_is_unknown, frozenset({STATUS})),
    "zonal-status": Loss("everything", ("Namespace", "StatusRefused"), all_is_well, frozenset({STATUS})),
    "zonal-own-service": Loss("namespaces", ("Service", "AddressesUnknown"), all_is_well, frozenset({STATUS})),
    "zonal-pods": Loss("everything", ("Pod", "AddressesUnknown"), all_is_well, frozenset({STATUS})),
    "zonal-events": Loss("everything", ("Event", "EventsRefused"), all_is_well, frozenset({EVENTS})),
    "zonal-leader": Loss("everything", ("Lease", "LeaseRefused"), all_is_well, frozenset({STATUS, EVENTS, "leases"})),
}


def written(stage: Stage) -> set[str]:
    """What was written, as RBAC names it."""
    writes = (call for call in stage.server.calls if call.status in (200, 201) and call.verb not in READING)
    return {f"{call.resource}/{call.subresource}".rstrip("/") for call in writes}


@pytest.mark.parametrize("role", WITHOUT)
async def test_serving_goes_on_without_the_role(tmp_path: Path, role: str) -> None:
    loss = WITHOUT[role]
    async with staged(tmp_path) as stage:
        await furnish(stage)
        stage.server.rules = rules(chart(loss.choice), without=role)
        zonal = await started(stage, chart(loss.choice))
        assert await status_of(zonal, HOST) == 200
        assert await loss.is_so(zonal)
        await stage.server.until_calls(lambda call: call.status == 403)
        await has_finding(zonal, *loss.told)

        async def is_written() -> bool:
            return written(stage) == {STATUS, EVENTS, "leases"} - loss.unwritten

        await becomes(is_written)
        await has_finding(zonal, "Ingress", "ServiceMissing")
        stage.put(ingress("late", rule("late.test", path("/", "cart"))))
        await answers(zonal, 200, "late.test")
        assert (await zonal.admin("/readyz")).status == 200


async def test_without_the_role_zonal_nothing_is_ready_and_what_was_ready_is_served_on(tmp_path: Path) -> None:
    async with staged(tmp_path) as stage:
        await furnish(stage)
        stage.server.rules = rules(manifests())
        ready = await started(stage, manifests())
        stage.server.rules = rules(manifests(), without="zonal")
        stage.server.cut_watches()
        late = await stage.started(name="zonal-1")
        for kind in ("Ingress", "IngressClass", "Service", "EndpointSlice"):
            await has_finding(ready, kind, "ApiForbidden")
        assert (await late.admin("/readyz")).status == 503
        assert (await ready.admin("/readyz")).status == 200
        assert await status_of(ready) == 200
        stage.server.rules = rules(manifests())
        await late.is_ready()
        assert await status_of(late) == 200
