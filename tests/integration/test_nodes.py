"""The node cache on the wire: one question a node, few at once, and the own Node for good."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fakes.apiserver import ApiServer
from tests.fakes.apiserver.faults import Fault
from tests.fakes.sockets import until
from tests.integration.manifests import service
from tests.integration.sourcing import Following, asked, fill, following, node, slice_on


async def test_nodes_that_endpoints_name_are_looked_up_once(tmp_path: Path) -> None:
    async with ApiServer() as server:
        fill(server)
        async with following(server, tmp_path) as cluster:
            await until(lambda: _has_all(server, cluster))
            server.put(node("node-9", "zone-z"))
            server.put(slice_on("cart-2", *["node-9"] * 100))
            server.put(slice_on("cart-3", "node-9", "node-1"))
            await until(lambda: cluster.inventory.node("node-9") is not None)
            assert asked(server, "get", "nodes", "node-9") == 1
            assert asked(server, "list", "nodes") == 1


async def test_a_thousand_unknown_nodes_are_few_questions(tmp_path: Path) -> None:
    async with ApiServer() as server:
        fill(server)
        async with following(server, tmp_path) as cluster:
            await until(lambda: _has_all(server, cluster))
            for number in range(10):
                server.put(slice_on(f"many-{number}", *(f"node-{number}-{each}" for each in range(100))))
            server.put(node("node-9-99", "zone-z"))
            server.put(slice_on("last", "node-9-99"))
            await until(lambda: len(cluster.inventory.slices("shop", "cart")) == 12)
            await until(lambda: cluster.inventory.node("node-9-99") is not None)
            assert asked(server, "get", "nodes") + asked(server, "list", "nodes") <= 15


async def test_what_is_no_name_of_a_node_is_not_asked_for(tmp_path: Path) -> None:
    async with ApiServer() as server:
        fill(server)
        async with following(server, tmp_path) as cluster:
            await until(lambda: _has_all(server, cluster))
            server.put(node("node-9"))
            server.put(slice_on("cart-2", "../namespaces/zonal/secrets/a?b=c", "a b", "..", "node-9"))
            await until(lambda: cluster.inventory.node("node-9") is not None)
            assert {call.path for call in server.calls if call.verb == "get"} == {"/api/v1/nodes/node-9"}


async def test_every_node_is_followed_while_that_is_wanted(tmp_path: Path) -> None:
    async with ApiServer() as server:
        fill(server)
        async with following(server, tmp_path) as cluster:
            await until(lambda: cluster.inventory.complete)
            await cluster.wants(every_node=True)
            server.put(node("node-5", "zone-c"))
            await until(lambda: cluster.inventory.node("node-5") is not None)
            server.delete("Node", "", "node-5")
            await until(lambda: cluster.inventory.node("node-5") is None)
            await cluster.wants()
            assert cluster.inventory.node("node-1") is not None


async def test_the_own_node_is_followed_and_outlives_its_deletion(tmp_path: Path) -> None:
    async with ApiServer() as server:
        fill(server)
        server.put(node("node-1", None))
        async with following(server, tmp_path) as cluster:
            await until(lambda: cluster.inventory.complete and cluster.inventory.node("node-1") is not None)
            server.put(node("node-1", "zone-b"))
            await until(lambda: _zone(cluster) == "zone-b")
            server.delete("Node", "", "node-1")
            server.put(service("after"))
            await until(lambda: cluster.inventory.service("shop", "after") is not None)
            assert _zone(cluster) == "zone-b"


def _has_all(server: ApiServer, cluster: Following) -> bool:
    """Whether the first list of Nodes was answered, too: the own Node alone is known before."""
    is_listed = asked(server, "list", "nodes") == 1
    return is_listed and cluster.inventory.complete and cluster.inventory.node("node-1") is not None


def _zone(cluster: Following) -> str | None:
    own = cluster.inventory.node("node-1")
    return own.metadata.labels.get("topology.kubernetes.io/zone") if own else None


@pytest.mark.parametrize("status", [403, 500])
async def test_nodes_that_cannot_be_listed_are_a_finding(tmp_path: Path, status: int) -> None:
    async with ApiServer() as server:
        fill(server)
        fault = server.faults.add(Fault(resource="nodes", status=status))
        async with following(server, tmp_path) as cluster:
            await until(lambda: cluster.inventory.complete)
            await until(lambda: any(kind == "Node" for kind, _ in cluster.reasons()))
            server.faults.remove(fault)
            await until(lambda: cluster.inventory.node("node-1") is not None)
            await until(lambda: cluster.reasons() == set())
