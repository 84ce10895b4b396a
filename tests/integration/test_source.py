"""The API server as a source: which scopes are followed when, and what reaches the controller."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from ingress.findings import Finding
from ingress.objects import Kind
from ingress.sources.contract import Wanted
from ingress.sources.events import SourceFindings
from tests.fakes.apiserver import ApiServer
from tests.fakes.apiserver.faults import Fault
from tests.fakes.sockets import until
from tests.integration.manifests import service
from tests.integration.sourcing import OPTIONS, Following, fill, following, secret


async def test_the_first_lists_complete_the_inventory(tmp_path: Path) -> None:
    async with ApiServer() as server:
        fill(server)
        async with following(server, tmp_path) as cluster:
            await until(lambda: cluster.inventory.complete and cluster.source.want(Wanted()))
            assert [item.metadata.name for item in cluster.inventory.ingresses()] == ["web"]
            assert cluster.inventory.service("shop", "cart")
            assert len(cluster.inventory.slices("shop", "cart")) == 1
            assert cluster.inventory.node("node-1")
            assert cluster.inventory.config_map("zonal", "zonal")
            assert cluster.inventory.findings == ()
            await until(lambda: set(cluster.source.event_ages()) == set(Kind) - {Kind.SECRET})
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


def _value(cluster: Following, name: str) -> bytes | None:
    known = cluster.inventory.secret("shop", name)
    return known.value("ca.crt") if known else None


async def test_secrets_that_may_not_be_read_are_a_finding_and_hold_nothing_up(tmp_path: Path) -> None:
    async with ApiServer() as server:
        fill(server)
        server.faults.add(Fault(resource="secrets", status=403))
        async with following(server, tmp_path) as cluster:
            await cluster.wants(("shop", "one"))
            await until(lambda: ("Secret", "ApiForbidden") in cluster.reasons())


async def test_what_other_parts_find_is_passed_on(tmp_path: Path) -> None:
    found = Finding("Ingress", "shop", "web", reason="StatusRefused", message="It may not be written.", effect="None.")
    async with ApiServer() as server, following(server, tmp_path) as cluster:
        await until(lambda: cluster.inventory.complete)
        cluster.source.note(SourceFindings("status", (found,)))
        await until(lambda: cluster.inventory.findings == (found,))
        cluster.source.note(SourceFindings("status", ()))
        await until(lambda: cluster.inventory.findings == ())
