"""The own zone and those of endpoints, from every source, live, and how few calls it takes to know them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.fakes.apiserver import ApiServer, Call, Fault
from tests.features.cluster.documents import OLD_ZONE_LABEL, ZONE_LABEL, endpoints, node
from tests.features.cluster.stage import PATIENCE_SECONDS, Stage, becomes, own_zone, staged, zones_of
from tests.features.faults.stage import Record
from tests.integration.running import Zonal

LABEL_LIMIT_SECONDS = 2.0
BOTH_LABELS = {ZONE_LABEL: "zone-b", OLD_ZONE_LABEL: "zone-a"}


class Case(NamedTuple):
    """What there is to know the own zone from, and the zone with who says it."""

    expected: tuple[str | None, str]
    labels: Mapping[str, str] = {}
    arguments: tuple[str, ...] = ()
    pod_zone: str = ""
    knows_node: bool = True


SOURCES = {
    "the old label": Case(("zone-a", "node"), labels={OLD_ZONE_LABEL: "zone-a"}),
    "the flag before the Node": Case(("zone-a", "flag"), labels=BOTH_LABELS, arguments=("--zone=zone-a",)),
    "the new label before the old one and the pod": Case(("zone-b", "node"), labels=BOTH_LABELS, pod_zone="zone-c"),
    "the pod, where the Node has no label": Case(("zone-c", "pod"), pod_zone="zone-c"),
    "nobody": Case((None, "none"), knows_node=False),
}


def is_get_of_node(call: Call) -> bool:
    return call.resource == "nodes" and call.verb == "get"


async def zones_in_model(zonal: Zonal) -> dict[str, str | None]:
    """The zone of every endpoint that is served, by its address."""
    backends = (await zonal.model())["model"]["backends"]
    return {each["address"]: each["zone"] for backend in backends for each in backend["endpoints"]}


async def knows(zonal: Zonal, expected: Mapping[str, str | None], *, seconds: float = PATIENCE_SECONDS) -> float:
    """Wait until the zones of endpoints are these; the seconds it took."""

    async def is_so() -> bool:
        return await zones_in_model(zonal) == expected

    return await becomes(is_so, seconds=seconds)


async def is_in(zonal: Zonal, zone: str, source: str = "node", *, seconds: float = PATIENCE_SECONDS) -> float:
    """Wait until the own zone is this; the seconds it took."""

    async def is_so() -> bool:
        return await own_zone(zonal) == (zone, source)

    return await becomes(is_so, seconds=seconds)


async def no_call_is_under_way(stage: Stage) -> None:
    """Wait until every call about single Nodes has its answer."""

    async def is_so() -> bool:
        return all(call.status for call in stage.server.calls if is_get_of_node(call))

    await becomes(is_so)


async def test_the_own_zone_comes_from_flag_node_and_pod_in_this_order(tmp_path: Path) -> None:
    async with staged(tmp_path) as stage:
        await stage.shop()
        nodes = {name: f"node-{number}" for number, name in enumerate(SOURCES)}
        stage.put(*(node(nodes[name], labels=case.labels) for name, case in SOURCES.items()))

        two_at_once = asyncio.Semaphore(2)

        async def said(name: str, case: Case) -> tuple[str | None, str | None]:
            environment = {**({"NODE_NAME": nodes[name]} if case.knows_node else {}), "POD_ZONE": case.pod_zone}
            async with two_at_once:
                zonal = await stage.ready(*case.arguments, name=nodes[name], environment=environment)
            (sample,) = (await zonal.metrics())["zonal_own_zone_info"].samples
            zone, source = await own_zone(zonal)
            assert (sample.labels["zone"], sample.labels["source"]) == (zone or "unknown", source)
            return zone, source

        found = await asyncio.gather(*(said(name, case) for name, case in SOURCES.items()))
        assert dict(zip(SOURCES, found, strict=True)) == {name: case.expected for name, case in SOURCES.items()}


async def test_a_node_that_gains_its_label_after_the_start_turns_zonal_routing_on_within_two_seconds(
    tmp_path: Path, record_property: Record
) -> None:
    async with staged(tmp_path) as stage:
        await stage.shop("zone-a", "zone-b", "zone-c", zone_aware_routing="true")
        stage.put(node("node-1"))
        zonal = await stage.ready("--node-name=node-1", scale=1.0)
        assert await zones_of(zonal) == {"zone-a", "zone-b", "zone-c"}
        stage.put(node("node-1", zone="zone-b"))
        seconds = await is_in(zonal, "zone-b", seconds=LABEL_LIMIT_SECONDS)
        assert await zones_of(zonal) == {"zone-b"}
        record_property("zone label to zonal routing seconds", round(seconds, 3))


async def test_an_own_node_may_come_late_and_once_deleted_keeps_the_last_zone(tmp_path: Path) -> None:
    async with staged(tmp_path) as stage:
        await stage.shop("zone-a", "zone-b", zone_aware_routing="true")
        zonal = await stage.ready("--node-name=node-1")
        assert await own_zone(zonal) == (None, "none")
        stage.put(node("node-1", zone="zone-a"))
        await is_in(zonal, "zone-a", seconds=LABEL_LIMIT_SECONDS)
        stage.server.delete("Node", "", "node-1")
        generation = await zonal.generation()
        stage.settings(zone_aware_routing="true", keep_alive="33")  # a publication after the deletion
        await zonal.reaches_generation(generation + 1, seconds=PATIENCE_SECONDS)
        assert await own_zone(zonal) == ("zone-a", "node")
        assert await zones_of(zonal) == {"zone-a"}
        stage.put(node("node-1", zone="zone-b"))
        await is_in(zonal, "zone-b")
        assert await zones_of(zonal) == {"zone-b"}


async def test_a_node_never_seen_before_is_asked_for_once_however_many_endpoints_name_it(
    tmp_path: Path, record_property: Record
) -> None:
    async with staged(tmp_path) as stage:
        (cart,) = await stage.shop("zone-a")
        zonal = await stage.ready("--zone=zone-a", scale=1.0)
        stage.put(node("node-9", zone="zone-b"))
        addresses = [f"127.0.1.{number}" for number in range(1, 101)]
        slices = [
            endpoints(
                f"more-{first}", "cart", port=cart.port, addresses=addresses[first : first + 25], nodes=["node-9"]
            )
            for first in range(0, 100, 25)
        ]
        expected = {"127.0.0.1": "zone-a"} | dict.fromkeys(addresses, "zone-b")
        stage.put(*slices)
        record_property("zone of a new node known after seconds", round(await knows(zonal, expected), 3))
        for each in slices:
            stage.server.delete("EndpointSlice", "shop", each["metadata"]["name"])
        await knows(zonal, {"127.0.0.1": "zone-a"})
        stage.put(*slices)
        await knows(zonal, expected)
        await no_call_is_under_way(stage)
        gets = [call for call in stage.server.calls if is_get_of_node(call)]
        assert [call.name for call in gets] == ["node-9"]
        assert "PartialObjectMetadata" in gets[0].accept


async def test_a_node_that_does_not_exist_is_not_asked_for_again_and_again(tmp_path: Path) -> None:
    async with staged(tmp_path) as stage:
        (cart,) = await stage.shop("zone-a")
        zonal = await stage.ready("--zone=zone-a")
        for number in range(5):
            address = f"127.0.1.{number + 1}"
            stage.put(endpoints("more", "cart", port=cart.port, addresses=[address], nodes=["no-such-node"]))
            await knows(zonal, {"127.0.0.1": "zone-a", address: None})
        await no_call_is_under_way(stage)
        assert sum(map(is_get_of_node, stage.server.calls)) == 1


@pytest.mark.parametrize("exist", [True, False], ids=["that exist", "that do not"])
async def test_a_thousand_unknown_nodes_cost_a_handful_of_calls(
    tmp_path: Path, record_property: Record, exist: bool
) -> None:
    async with staged(tmp_path) as stage:
        (cart,) = await stage.shop("zone-a")
        zonal = await stage.ready("--zone=zone-a", scale=1.0)
        stage.server.calls.clear()
        names = [f"node-{number}" for number in range(1000)]
        addresses = [f"127.1.{number // 250}.{number % 250 + 1}" for number in range(1000)]
        if exist:
            stage.put(*(node(name, zone="zone-b") for name in names))
        for first in range(0, 1000, 100):
            some = slice(first, first + 100)
            name = f"more-{first}"
            stage.put(endpoints(name, "cart", port=cart.port, addresses=addresses[some], nodes=names[some]))
        seconds = await knows(zonal, {"127.0.0.1": "zone-a"} | dict.fromkeys(addresses, "zone-b" if exist else None))
        await no_call_is_under_way(stage)
        await asyncio.sleep(1.0)  # in which a storm would show
        calls = [call for call in stage.server.calls if call.resource == "nodes"]
        assert 1 <= len(calls) <= 15, "at most ten are asked for one by one, and then all by lists of 500"
        record_property("calls for 1,000 unknown nodes", len(calls))
        record_property("1,000 endpoints on unknown nodes known after seconds", round(seconds, 3))


@pytest.mark.parametrize("streaming", [True, False], ids=["streaming", "paged"])
async def test_a_watch_over_all_nodes_can_be_switched_on_and_follows_them_live(tmp_path: Path, streaming: bool) -> None:
    async with staged(tmp_path, ApiServer(streaming_lists=streaming)) as stage:
        (cart,) = await stage.shop("zone-a", node_watch="true")
        stage.put(node("node-9", zone="zone-b"))
        stage.put(endpoints("more", "cart", port=cart.port, addresses=["127.0.1.1"], nodes=["node-9"]))
        zonal = await stage.ready("--zone=zone-a")
        await knows(zonal, {"127.0.0.1": "zone-a", "127.0.1.1": "zone-b"})
        await stage.server.until_calls(lambda call: call.resource == "nodes" and call.is_watch and not call.name)
        stage.put(node("node-9", zone="zone-c"))
        await knows(zonal, {"127.0.0.1": "zone-a", "127.0.1.1": "zone-c"}, seconds=LABEL_LIMIT_SECONDS)

        open_watches = stage.server.open_watches
        stage.settings()

        async def is_left() -> bool:
            return stage.server.open_watches == open_watches - 1

        await becomes(is_left)
        await knows(zonal, {"127.0.0.1": "zone-a", "127.0.1.1": "zone-c"})
        stage.settings(node_watch="true")
        await stage.server.until_calls(lambda call: call.resource == "nodes" and call.is_watch, 2)
        stage.put(node("node-9", zone="zone-b"))
        await knows(zonal, {"127.0.0.1": "zone-a", "127.0.1.1": "zone-b"})


async def test_nodes_that_may_not_be_read_cost_zones_and_nothing_else(tmp_path: Path) -> None:
    async with staged(tmp_path) as stage:
        cart, _ = await stage.shop("zone-a", "zone-b", zone_aware_routing="true")
        stage.put(endpoints("more", "cart", port=cart.port, addresses=["127.0.1.1"], nodes=["node-9"]))
        stage.server.faults.add(Fault(resource="nodes", status=403))
        zonal = await stage.ready("--node-name=node-1", environment={"POD_ZONE": "zone-a"})
        assert await own_zone(zonal) == ("zone-a", "pod")
        assert await zones_of(zonal) == {"zone-a"}
        assert (await zones_in_model(zonal))["127.0.1.1"] is None
