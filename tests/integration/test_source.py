"""The API server as a source: which scopes are followed when, and what reaches the controller."""

from __future__ import annotations

import asyncio
import random
from contextlib import aclosing
from pathlib import Path

import msgspec
import pytest

from ingress.findings import Finding, Severity
from ingress.objects.kinds import OPTIONAL_KINDS, Ingress, Kind
from ingress.sources.contract import Wanted
from ingress.sources.events import SourceFindings, Upserted
from ingress.sources.kubernetes.api import ApiServer as Api
from ingress.sources.kubernetes.source import KubernetesSource
from tests.fakes.apiserver import ApiServer
from tests.fakes.apiserver.faults import Fault
from tests.fakes.apiserver.requests import Call
from tests.fakes.sockets import until
from tests.integration.manifests import Document, config_map, service
from tests.integration.sourcing import OPTIONS, QUICK, Following, fill, following, secret


async def test_the_first_lists_complete_the_inventory(tmp_path: Path) -> None:
    async with ApiServer() as server:
        fill(server)
        async with following(server, tmp_path) as cluster:
            await until(lambda: cluster.inventory.complete and cluster.source.want(Wanted()))
            assert [item.metadata.name for item in cluster.inventory.of(Ingress)] == ["web"]
            assert cluster.inventory.service("shop", "cart")
            assert len(cluster.inventory.slices("shop", "cart")) == 1
            assert cluster.inventory.node("node-1")
            assert cluster.inventory.config_map("zonal", "zonal")
            assert cluster.inventory.findings == ()
            await until(lambda: set(cluster.source.event_ages()) == set(Kind) - {Kind.SECRET} - OPTIONAL_KINDS)
            assert not [call for call in server.calls if "gateway" in call.path or call.resource == "namespaces"]
        await until(lambda: server.open_watches == 0)


async def test_several_namespaces_are_followed_one_by_one(tmp_path: Path) -> None:
    options = msgspec.structs.replace(OPTIONS, namespaces=("shop", "blog"))
    async with ApiServer() as server:
        fill(server)
        for namespace in ("blog", "other"):
            server.put(service("cart", namespace=namespace))
        async with following(server, tmp_path, options) as cluster:
            await until(lambda: cluster.inventory.complete)
            assert cluster.inventory.service("shop", "cart")
            assert cluster.inventory.service("blog", "cart")
            assert cluster.inventory.service("other", "cart") is None
        assert {call.namespace for call in server.calls if call.resource == "services"} == {"shop", "blog"}


def fields(value: str) -> Document:
    return {**config_map(), "metadata": {"name": "fields", "namespace": "zonal"}, "data": {"X-A": value}}


async def test_a_configmap_that_is_wanted_is_followed_by_its_name_until_it_is_not(tmp_path: Path) -> None:
    wanted = Wanted(config_maps=frozenset({("zonal", "fields"), ("zonal", "zonal")}))
    async with ApiServer() as server:
        fill(server)
        server.put(fields("1"))
        async with following(server, tmp_path) as cluster:
            await until(lambda: cluster.inventory.complete and cluster.source.want(Wanted()))
            assert cluster.inventory.config_map("zonal", "fields") is None
            await until(lambda: cluster.source.want(wanted))
            found = cluster.inventory.config_map("zonal", "fields")
            assert found is not None
            assert found.data == {"X-A": "1"}
            server.put(fields("2"))
            await until(lambda: cluster.inventory.config_map("zonal", "fields") not in (found, None))
            cluster.source.want(Wanted())
            await until(lambda: cluster.inventory.config_map("zonal", "fields") is None)
            assert cluster.inventory.config_map("zonal", "zonal")
            assert {call.namespace for call in server.calls if call.resource == "configmaps"} == {"zonal"}


@pytest.mark.parametrize("breadth", ["namespace", "cluster", "name"])
async def test_only_wanted_secrets_are_known_and_followed(tmp_path: Path, breadth: str) -> None:
    options = msgspec.structs.replace(OPTIONS, secret_breadth=breadth)
    async with ApiServer() as server:
        fill(server)
        for name in ("one", "two", "three"):
            server.put(secret(name))
        async with following(server, tmp_path, options) as cluster:
            await cluster.wants(("shop", "one"))
            await until(lambda: cluster.inventory.secret("shop", "one") is not None)
            await cluster.wants(("shop", "one"), ("shop", "two"), ("shop", "missing"))
            await until(lambda: cluster.inventory.secret("shop", "two") is not None)
            server.put(secret("two", value="dHdv"))
            await until(lambda: _value(cluster, "two") == b"two")
            assert cluster.inventory.secret("shop", "three") is None
            await cluster.wants(("shop", "two"))
            await until(lambda: cluster.inventory.secret("shop", "one") is None)
            await cluster.wants()
            await until(lambda: cluster.inventory.secret("shop", "two") is None)
            watches = {"namespace": {"shop"}, "cluster": {""}, "name": {"shop"}}[breadth]
            assert {call.namespace for call in server.calls if call.resource == "secrets" and not call.name} <= watches


@pytest.mark.parametrize("breadth", ["namespace", "cluster", "name"])
async def test_of_many_secrets_few_come_at_once_and_none_that_the_server_happens_to_remember(
    tmp_path: Path, breadth: str
) -> None:
    options = msgspec.structs.replace(OPTIONS, secret_breadth=breadth)
    async with ApiServer(streaming_lists=False) as server:
        fill(server)
        for number in range(120):
            server.put(secret(f"s-{number:03}"))
        async with following(server, tmp_path, options) as cluster:
            await cluster.wants(("shop", "s-001"), ("shop", "s-119"))
            await cluster.wants(("shop", "s-001"), ("shop", "s-060"))
            for name in ("s-001", "s-060"):
                await until(lambda name=name: cluster.inventory.secret("shop", name) is not None)  # type: ignore[misc]
        asked = [call.query for call in server.calls if call.resource == "secrets" and call.verb == "list"]
    assert not any("resourceVersion" in query for query in asked)
    assert {query["limit"] for query in asked if "fieldSelector" not in query} <= {"50"}
    assert len([query for query in asked if "continue" in query]) == (0 if breadth == "name" else 2)


async def test_a_secret_that_is_wanted_while_the_list_goes_past_it_is_known_as_well(tmp_path: Path) -> None:
    async with ApiServer(streaming_lists=False) as server:
        fill(server)
        for number in range(120):
            server.put(secret(f"s-{number:03}"))
        async with following(server, tmp_path) as cluster:
            await until(lambda: cluster.inventory.complete)
            second_page = Fault(resource="secrets", delay_seconds=0.5, matches=lambda call: "continue" in call.query)
            server.faults.add(second_page)
            cluster.source.want(Wanted(frozenset({("shop", "s-119")})))
            await until(lambda: second_page.used == 1)
            await cluster.wants(("shop", "s-000"), ("shop", "s-119"))
            for name in ("s-000", "s-119"):
                await until(lambda name=name: cluster.inventory.secret("shop", name) is not None)  # type: ignore[misc]


async def test_a_line_of_the_watch_that_is_no_event_is_a_finding_until_the_next_one_that_is(tmp_path: Path) -> None:
    async with ApiServer() as server:
        fill(server)
        async with following(server, tmp_path) as cluster:
            await until(lambda: cluster.inventory.complete and cluster.source.want(Wanted()))
            server.faults.add(Fault(verb="watch", resource="services", garbage=True, times=1))
            await until(lambda: ("Service", "Unreadable") in cluster.reasons())
            server.put(service("late"))
            await until(lambda: cluster.reasons() == set())


def _value(cluster: Following, name: str) -> bytes | None:
    known = cluster.inventory.secret("shop", name)
    return known.value("ca.crt") if known else None


async def test_however_many_secrets_are_named_at_once_few_are_asked_for_at_a_time(tmp_path: Path) -> None:
    keys = [("shop", f"s-{number}") for number in range(100)]
    under_way: list[int] = []

    def is_by_name(call: Call) -> bool:
        if call.name:
            under_way.append(sum(bool(other.name) and not other.status for other in server.calls))
        return bool(call.name)

    async with ApiServer() as server:
        fill(server)
        for _, name in keys:
            server.put(secret(name))
        async with following(server, tmp_path) as cluster:
            await cluster.wants(("shop", "one"))
            server.faults.add(Fault(resource="secrets", delay_seconds=0.02, matches=is_by_name))
            await cluster.wants(*keys)
            await until(lambda: all(cluster.inventory.secret(*key) for key in keys))
    assert 1 < max(under_way) <= 10


async def test_secrets_that_may_not_be_read_are_a_finding_and_hold_nothing_up(tmp_path: Path) -> None:
    async with ApiServer() as server:
        fill(server)
        server.faults.add(Fault(resource="secrets", status=403))
        async with following(server, tmp_path) as cluster:
            await cluster.wants(("shop", "one"))
            await until(lambda: ("Secret", "ApiForbidden") in cluster.reasons())


async def test_what_other_parts_find_is_passed_on(tmp_path: Path) -> None:
    found = Finding(
        "Ingress",
        "shop",
        "web",
        reason="StatusRefused",
        message="It may not be written.",
        effect="None.",
        severity=Severity.DEGRADED,
    )
    async with ApiServer() as server, following(server, tmp_path) as cluster:
        await until(lambda: cluster.inventory.complete)
        cluster.source.note(SourceFindings("status", (found,)))
        await until(lambda: cluster.inventory.findings == (found,))
        cluster.source.note(SourceFindings("status", ()))
        await until(lambda: cluster.inventory.findings == ())


@pytest.mark.parametrize("healed", [True, False])
async def test_an_object_that_can_be_read_again_or_is_gone_is_no_finding_any_more(tmp_path: Path, healed: bool) -> None:
    async with ApiServer() as server:
        fill(server)
        async with following(server, tmp_path) as cluster:
            await until(lambda: cluster.inventory.complete and cluster.source.want(Wanted()))
            broken = service("cart")
            broken["spec"]["ports"] = [{"port": "eighty"}]
            server.put(broken)
            await until(lambda: ("Service", "Unreadable") in cluster.reasons())
            assert cluster.inventory.service("shop", "cart") is not None
            if healed:
                server.put(service("cart"))
            else:
                server.delete("Service", "shop", "cart")
            await until(lambda: cluster.reasons() == set())
            assert (cluster.inventory.service("shop", "cart") is not None) == healed


async def test_what_is_wanted_counts_as_answered_only_once_the_answer_has_been_taken(tmp_path: Path) -> None:
    async with ApiServer() as server:
        fill(server)
        server.put(secret("one"))
        api = await Api.connect(kubeconfig=server.write_kubeconfig(tmp_path / "kubeconfig"))
        source = KubernetesSource(api, OPTIONS, times=QUICK, random=random.random)
        async with asyncio.timeout(30), aclosing(source.events()) as events:
            while not source.want(Wanted()):
                await anext(events)
            wanted = Wanted(frozenset({("shop", "one")}))
            source.want(wanted)
            await until(lambda: Kind.SECRET in source.event_ages())
            assert not source.want(wanted)
            while not isinstance(event := await anext(events), Upserted) or event.object.kind is not Kind.SECRET:
                assert not source.want(wanted)
            assert source.want(wanted)
        await api.close()
