"""A session finds replicas, keeps those of a zone, and edits the settings that they read."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest

from ingress.admin.overview.document import ZoneRow
from ingress.cli.kubectl.session import Access, CannotReach, ClusterSession, session, zones_of
from tests.fakes.apiserver.faults import Fault
from tests.unit.ingress.cli.kubectl.clusters import cluster, replica_pod
from tests.unit.ingress.cli.kubectl.test_forwarding import port_of
from tests.unit.ingress.cli.terminal.documents import overview
from tests.unit.ingress.cli.terminal.ports import admin_port, closed_url

pytestmark = pytest.mark.large

_T = TypeVar("_T")


async def within(access: Access, work: Callable[[ClusterSession], _T]) -> _T:
    """What `work` finds in a session, which waits for answers in a thread of its own."""

    def run() -> _T:
        with session(access) as opened:
            return work(opened)

    return await asyncio.to_thread(run)


async def test_replicas_are_found_by_their_labels(tmp_path: Path) -> None:
    async with cluster(tmp_path, [1001, 1002]) as (server, kubeconfig):
        server.put(replica_pod("other", 1003, labels={"app.kubernetes.io/name": "other"}))
        server.put(replica_pod("late", 1004, phase="Pending"))
        default = Access(kubeconfig=kubeconfig)
        assert await within(default, lambda found: [each.pod for each in found.replicas]) == ["zonal-0", "zonal-1"]
        with pytest.raises(CannotReach, match=r"no pod with the labels .* runs in namespace shop"):
            await within(Access(kubeconfig=kubeconfig, namespace="shop"), lambda found: None)
        others = Access(kubeconfig=kubeconfig, selector="app.kubernetes.io/name=other")
        assert await within(others, lambda found: [each.name for each in found.replicas]) == ["zonal/other"]


async def test_a_zone_leaves_the_replicas_of_others_out(tmp_path: Path) -> None:
    with (
        admin_port(overview(facts={"own_zone": "zone-a"})) as one,
        admin_port(overview(facts={"own_zone": "zone-b"})) as other,
    ):
        ports = [port_of(one.url), port_of(other.url), port_of(closed_url())]
        async with cluster(tmp_path, ports) as (_, kubeconfig):
            chosen = Access(kubeconfig=kubeconfig, zone="zone-b")
            assert await within(chosen, lambda found: ([each.pod for each in found.replicas], len(found.urls))) == (
                ["zonal-1"],
                1,
            )
            with pytest.raises(CannotReach, match="no replica is in zone zone-x: their zones are zone-a, zone-b"):
                await within(Access(kubeconfig=kubeconfig, zone="zone-x"), lambda found: None)


async def test_a_drain_takes_in_what_others_have_changed(tmp_path: Path) -> None:
    async with cluster(tmp_path, [1001], zone_drain="zone-a", other="kept") as (server, kubeconfig):
        access = Access(kubeconfig=kubeconfig)
        server.faults.add(Fault(verb="patch", status=409, times=2))
        assert await within(access, lambda found: found.drain("zonal/zonal", add="zone-b")) == ("zone-a", "zone-b")
        stored = server.get("ConfigMap", "zonal", "zonal")
        assert stored is not None
        assert stored["data"] == {"zone-drain": "zone-a,zone-b", "other": "kept"}
        assert await within(access, lambda found: found.drain("zonal/zonal", remove="zone-a")) == ("zone-b",)
        assert await within(access, lambda found: found.drained("zonal/zonal")) == ("zone-b",)
        version = server.version
        assert await within(access, lambda found: found.drain("zonal/zonal", add="zone-b")) == ("zone-b",)
        assert server.version == version, "what is so already is not written"


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (Fault(verb="patch", status=409), "changes all the time"),
        (Fault(verb="patch", status=403, message="not you"), "cannot be changed: HTTP 403: not you"),
        (Fault(resource="configmaps", verb="get", status=404), "cannot be read: HTTP 404"),
        (Fault(resource="configmaps", reset=True), "the API server does not answer"),
    ],
)
async def test_what_the_api_server_refuses_is_told(tmp_path: Path, fault: Fault, said: str) -> None:
    async with cluster(tmp_path, [1001]) as (server, kubeconfig):
        server.faults.add(fault)
        with pytest.raises(CannotReach, match=said):
            await within(Access(kubeconfig=kubeconfig), lambda found: found.drain("zonal/zonal", add="zone-b"))


async def test_pods_that_may_not_be_listed_are_told(tmp_path: Path) -> None:
    async with cluster(tmp_path, [1001]) as (server, kubeconfig):
        server.rules = []
        with pytest.raises(CannotReach, match="pods in namespace zonal cannot be listed: HTTP 403"):
            await within(Access(kubeconfig=kubeconfig), lambda found: None)


def test_a_zone_is_drained_if_every_replica_that_knows_it_says_so() -> None:
    rows = [
        (ZoneRow("zone-a", drained=True), ZoneRow("zone-b", drained=True)),
        (ZoneRow("zone-a"), ZoneRow("zone-c")),
    ]
    with admin_port(overview(zones=rows[0])) as one, admin_port(overview(zones=rows[1])) as other:
        assert zones_of([one.url, other.url, closed_url()]) == {"zone-a": False, "zone-b": True, "zone-c": False}
