"""One process on the test API server: what it reads, what it writes, and what it says when that cannot work."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.fakes.apiserver import ApiServer
from tests.fakes.backends import EchoEndpoint
from tests.fakes.sockets import until
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
from tests.integration.running import Zonal
from tests.integration.sourcing import node
from tests.integration.wire import get

IDENTITY = ("--pod-name", "zonal-1", "--pod-namespace", "zonal", "--node-name", "node-1")


@asynccontextmanager
async def process(server: ApiServer, place: Path, *arguments: str) -> AsyncIterator[Zonal]:
    """A process that follows `server`, started and killed at the end if it still runs."""
    kubeconfig = server.write_kubeconfig(place / "kubeconfig")
    given = ("--kubeconfig", str(kubeconfig), "--allow-local-endpoints", "--shutdown-grace-period", "0", *IDENTITY)
    zonal = Zonal(place, *given, *arguments)
    try:
        await zonal.is_serving()
        yield zonal
    finally:
        zonal.kill()


def fill(server: ApiServer, endpoint: EchoEndpoint) -> None:
    for document in (
        ingress_class(),
        service("cart"),
        endpoint_slice(endpoint),
        ingress("web", rule("shop.test", path("/", "cart"))),
        node("node-1"),
    ):
        server.put(document)


def placed(endpoint: EchoEndpoint, zone: str) -> Document:
    """The slice of the endpoint, which the cluster says is in this zone."""
    document = endpoint_slice(endpoint)
    document["endpoints"][0]["zone"] = zone
    return document


@asynccontextmanager
async def backend() -> AsyncIterator[EchoEndpoint]:
    endpoint = EchoEndpoint("cart")
    await endpoint.start()
    try:
        yield endpoint
    finally:
        await endpoint.stop()


async def test_it_serves_and_writes_status_and_events(tmp_path: Path) -> None:
    async with backend() as endpoint, ApiServer() as server:
        fill(server, endpoint)
        server.put(ingress("broken", rule("1.2.3.4", path("/", "cart"))))
        async with process(server, tmp_path, "--publish-status-address", "192.0.2.7,lb.example.com") as zonal:
            await zonal.is_ready()
            assert (await get(zonal.http_port, "shop.test", "/")).json()["service"] == "cart"
            assert (await zonal.model())["model"]["own_zone"] == {
                "zone": "zone-a",
                "node": "node-1",
                "source": "node",
                "labels": [],
            }
            await until(lambda: _addresses(server, "web") == [{"hostname": "lb.example.com"}, {"ip": "192.0.2.7"}])
            await until(lambda: bool(server.objects("Event")))
            (event,) = server.objects("Event")
            assert event["regarding"]["name"] == "broken"
            ages = (await zonal.metrics())["zonal_watch_last_event_age_seconds"].samples
            assert {"Ingress", "Service", "EndpointSlice"} <= {sample.labels["kind"] for sample in ages}
            await zonal.stop()
        lease = server.get("Lease", "zonal", "zonal-leader")
        assert lease is not None
        assert not lease["spec"].get("holderIdentity")


def _addresses(server: ApiServer, name: str) -> list[dict[str, str]]:
    document = server.get("Ingress", "shop", name) or {}
    found = document.get("status", {}).get("loadBalancer", {}).get("ingress", [])
    return sorted(found, key=lambda item: sorted(item.items()))


async def test_a_service_that_leaves_zonal_mode_is_told_of_by_one_event(tmp_path: Path) -> None:
    async with backend() as endpoint, ApiServer() as server:
        fill(server, endpoint)
        server.put(config_map(zone_aware_routing="true"))
        server.put(placed(endpoint, "zone-a"))
        async with process(server, tmp_path) as zonal:
            await zonal.is_ready()
            server.put(placed(endpoint, "zone-b"))
            await until(lambda: bool(server.objects("Event")))
            (event,) = server.objects("Event")
            assert (event["reason"], event["regarding"]["name"], event["type"]) == ("ZoneModeLeft", "cart", "Warning")
            assert "zone_empty" in event["note"]
            assert (await get(zonal.http_port, "shop.test", "/")).status == 200
            await zonal.stop()


async def test_without_update_status_nothing_is_written(tmp_path: Path) -> None:
    async with backend() as endpoint, ApiServer() as server:
        fill(server, endpoint)
        async with process(server, tmp_path, "--update-status=false", "--publish-status-address", "192.0.2.7") as zonal:
            await zonal.is_ready()
            await zonal.stop()
        assert {call.verb for call in server.calls} <= {"get", "list", "watch"}
        assert not [call for call in server.calls if call.resource == "leases"]


async def test_an_api_server_that_is_away_at_the_start_is_waited_for(tmp_path: Path) -> None:
    async with backend() as endpoint, ApiServer() as server:
        fill(server, endpoint)
        await server.stop()
        async with process(server, tmp_path) as zonal:
            assert (await zonal.admin("/readyz")).status == 503
            assert (await zonal.admin("/livez")).status == 200
            await server.start()
            await zonal.is_ready()
            assert (await get(zonal.http_port, "shop.test", "/")).status == 200
            await zonal.stop()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--kubeconfig", "/nowhere/kubeconfig"), "--kubeconfig"),
        (("--publish-status-address", "not an address!"), "--publish-status-address"),
        (("--webhook-port", "9443"), "--webhook-certificate-dir"),
    ],
)
async def test_what_cannot_work_ends_it_with_one_line(tmp_path: Path, arguments: tuple[str, ...], words: str) -> None:
    async with ApiServer() as server:
        kubeconfig = server.write_kubeconfig(tmp_path / "kubeconfig")
        zonal = Zonal(tmp_path, "--kubeconfig", str(kubeconfig), *arguments)
        try:
            assert await zonal.has_ended() == 2
            (line,) = zonal.stderr.strip().splitlines()
            assert words in line
        finally:
            zonal.kill()


@pytest.mark.parametrize("workers", ["0", "2"])
@pytest.mark.parametrize("is_away", [False, True])
async def test_a_webhook_port_in_use_ends_it_with_one_line(tmp_path: Path, workers: str, is_away: bool) -> None:
    with socket.create_server(("0.0.0.0", 0)) as taken:
        port = taken.getsockname()[1]
        async with ApiServer() as server:
            kubeconfig = server.write_kubeconfig(tmp_path / "kubeconfig")
            if is_away:
                await server.stop()
            given = ("--kubeconfig", str(kubeconfig), "--webhook-certificate-dir", str(tmp_path), "--workers", workers)
            zonal = Zonal(tmp_path, *given, "--webhook-port", str(port))
            try:
                assert await zonal.has_ended() == 2
                said = f"zonal: --webhook-port: cannot listen on :: port {port}: Address already in use"
                assert zonal.stderr.splitlines()[-1] == said
                assert zonal.stdout == ""
            finally:
                zonal.kill()
