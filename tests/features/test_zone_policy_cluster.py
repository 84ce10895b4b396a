"""A ZonePolicy on the wire: it comes and goes on a fake API server, and requests of Ingress and Gateway show it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

from tests.fakes.apiserver import ApiServer
from tests.fakes.backends import EchoEndpoint
from tests.features.gateway.api_stage import SERVED, furnish, options, target
from tests.features.gateway.api_stage import free_range as free_ports_in_a_row
from tests.integration.manifests import (
    Document,
    config_map,
    endpoint_slice,
    ingress,
    ingress_class,
    path,
    rule,
    service,
)
from tests.integration.running import Zonal, until
from tests.integration.wire import get

_GROUP = "gateway.networking.k8s.io"
_SECONDS = 30.0
_POLL_SECONDS = 0.05
_ASKED = 12  # round robin over two endpoints meets both


class _Stage(NamedTuple):
    server: ApiServer
    zonal: Zonal

    async def zones(self, port: int) -> set[str]:
        """The zones that answer some requests in a row."""
        try:
            answers = [await get(port, "shop.test", "/") for _ in range(_ASKED)]
        except OSError:
            return set()  # its Service is not there yet
        return {each.json()["zone"] if each.status == 200 else str(each.status) for each in answers}

    async def comes_to(self, *, by_ingress: set[str], by_gateway: set[str]) -> None:
        """Waits until requests of both languages are answered in these zones."""
        wanted, deadline = (by_ingress, by_gateway), time.monotonic() + _SECONDS
        while (found := await self._found()) != wanted:
            assert time.monotonic() < deadline, f"{found}, not {wanted}"
            await asyncio.sleep(_POLL_SECONDS)

    async def _found(self) -> tuple[set[str], set[str]]:
        return await self.zones(self.zonal.http_port), await self.zones(target(self.server, 80))

    def attach(self, group: str, kind: str, name: str) -> None:
        reference = {"group": group, "kind": kind, "name": name}
        wishes = {"policy": "prefer-zone", "minEndpoints": 1, "minPercent": 0}
        self.server.put(
            _custom("zonal-ingress.io/v1alpha1", "ZonePolicy", "near", targetRefs=[reference], defaults=wishes)
        )

    def accepted_for(self) -> list[tuple[str, str, str]]:
        """Kind, name and status of Accepted of each entry in the status of the policy."""
        policy = self.server.get("ZonePolicy", "shop", "near") or {}
        return [
            (each["ancestorRef"]["kind"], each["ancestorRef"]["name"], condition["status"])
            for each in policy.get("status", {}).get("ancestors", ())
            for condition in each["conditions"]
            if condition["type"] == "Accepted"
        ]


def _custom(version: str, kind: str, name: str, **spec: object) -> Document:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name, "namespace": "shop"}, "spec": spec}


@asynccontextmanager
async def _staged(place: Path) -> AsyncIterator[_Stage]:
    near, far = EchoEndpoint("cart", zone="zone-a"), EchoEndpoint("cart", zone="zone-b")
    async with ApiServer() as server:
        furnish(server)
        server.custom = SERVED | {("v1alpha1", "ZonePolicy")}
        for each in (near, far):
            await each.start()
            server.put(endpoint_slice(each))
        for document in (
            ingress_class(),
            service("cart"),
            ingress("web", rule("shop.test", path("/", "cart"))),
            config_map(zone_aware_routing="true", zone_policy="off"),
            {
                "apiVersion": f"{_GROUP}/v1",
                "kind": "GatewayClass",
                "metadata": {"name": "zonal"},
                "spec": {"controllerName": "zonal-ingress.io/controller"},
            },
            _custom(
                f"{_GROUP}/v1",
                "Gateway",
                "gw",
                gatewayClassName="zonal",
                listeners=[{"name": "http", "port": 80, "protocol": "HTTP"}],
            ),
            _custom(
                f"{_GROUP}/v1",
                "HTTPRoute",
                "cart",
                parentRefs=[{"name": "gw"}],
                rules=[{"backendRefs": [{"name": "cart", "port": 80}]}],
            ),
        ):
            server.put(document)
        kubeconfig = server.write_kubeconfig(place / "kubeconfig")
        zonal = Zonal(place, *options(kubeconfig, free_ports_in_a_row(4)), "--zone=zone-a")
        try:
            await zonal.is_serving()
            await zonal.is_ready()
            yield _Stage(server, zonal)
            await zonal.stop()
        finally:
            zonal.kill()
            for each in (near, far):
                await each.stop()


async def test_a_policy_counts_for_what_it_is_attached_to_and_no_longer_than_it_exists(tmp_path: Path) -> None:
    both, near = {"zone-a", "zone-b"}, {"zone-a"}
    async with _staged(tmp_path) as stage:
        await stage.comes_to(by_ingress=both, by_gateway=both)
        for group, kind, name, by_ingress, by_gateway, told in (
            ("networking.k8s.io", "Ingress", "web", near, both, [("Ingress", "web", "True")]),
            (_GROUP, "Gateway", "gw", both, near, [("Gateway", "gw", "True")]),
            (_GROUP, "HTTPRoute", "cart", both, near, [("Gateway", "gw", "True")]),
            ("", "Service", "cart", near, near, [("Gateway", "gw", "True")]),
        ):
            stage.attach(group, kind, name)
            await stage.comes_to(by_ingress=by_ingress, by_gateway=by_gateway)
            await until(lambda told=told: stage.accepted_for() == told, seconds=_SECONDS)  # type: ignore[misc]
            stage.server.delete("ZonePolicy", "shop", "near")
            await stage.comes_to(by_ingress=both, by_gateway=both)
