"""A source at work on the test API server, a small cluster on it, and the inventory that its events make."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from ingress.sources.contract import Wanted
from ingress.sources.inventory import Inventory
from ingress.sources.kubernetes.api import ApiServer as Api
from ingress.sources.kubernetes.reflecting import ReflectorTimes
from ingress.sources.kubernetes.source import ClusterOptions, KubernetesSource
from tests.fakes.apiserver import ApiServer
from tests.fakes.apiserver.kinds import Document
from tests.fakes.sockets import until
from tests.integration.manifests import config_map, ingress, ingress_class, path, rule, service

QUICK = ReflectorTimes().scaled(0.02)
OPTIONS = ClusterOptions(configmap="zonal/zonal", node_name="node-1")


class Following:
    """A source at work, and the inventory that its events make."""

    def __init__(self, source: KubernetesSource) -> None:
        self.source = source
        self.inventory = Inventory()
        self.seen: Callable[[], None] = lambda: None
        """Called after each event."""

    async def run(self) -> None:
        events = self.source.events()
        try:
            async for event in events:
                self.inventory.apply(event)
                self.seen()
        finally:
            await events.aclose()

    async def wants(self, *secrets: tuple[str, str], every_node: bool = False) -> None:
        """Want these Secrets, and wait until all that can be known of them is."""
        wanted = Wanted(frozenset(secrets), every_node=every_node)
        await until(lambda: self.source.want(wanted))

    def reasons(self) -> set[tuple[str, str]]:
        return {(finding.kind, finding.reason) for finding in self.inventory.findings}


@asynccontextmanager
async def following(
    server: ApiServer, place: Path, options: ClusterOptions = OPTIONS, *, times: ReflectorTimes = QUICK
) -> AsyncIterator[Following]:
    api = await Api.connect(kubeconfig=server.write_kubeconfig(place / "kubeconfig"))
    made = Following(KubernetesSource(api, options, times=times, random=random.random))
    running = asyncio.create_task(made.run())
    try:
        yield made
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        await api.close()


def node(name: str, zone: str | None = "zone-a") -> Document:
    labels = {"topology.kubernetes.io/zone": zone} if zone else {}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}}


def secret(name: str, namespace: str = "shop", value: str = "b25l") -> Document:
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "type": "Opaque",
        "metadata": {"name": name, "namespace": namespace},
        "data": {"ca.crt": value},
    }


def slice_on(name: str, *nodes: str) -> Document:
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {"name": name, "namespace": "shop", "labels": {"kubernetes.io/service-name": "cart"}},
        "addressType": "IPv4",
        "ports": [{"name": "http", "port": 8080}],
        "endpoints": [
            {"addresses": [f"10.0.{number // 250}.{number % 250 + 1}"], "nodeName": name}
            for number, name in enumerate(nodes)
        ],
    }


def fill(server: ApiServer) -> None:
    for document in (
        ingress_class(),
        service("cart"),
        slice_on("cart-1", "node-1"),
        ingress("web", rule("shop.test", path("/", "cart"))),
        node("node-1"),
        config_map(zone_aware_routing="true"),
    ):
        server.put(document)


def asked(server: ApiServer, verb: str, resource: str, name: str | None = None) -> int:
    return sum(
        call.verb == verb and call.resource == resource and (name is None or call.name == name) for call in server.calls
    )
