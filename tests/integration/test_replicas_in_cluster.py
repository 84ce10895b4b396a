"""Replicas that find each other by the slices of their Service, on the test API server."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path

import aiohttp
import pytest

from ingress.replicas.messages import Message, encode
from tests.fakes.apiserver import ApiServer
from tests.fakes.sockets import free_ports
from tests.fakes.stopwatch import Stopwatch
from tests.integration.conversing import SECRET, tell
from tests.integration.manifests import Document, ingress_class, service
from tests.integration.running import Zonal
from tests.integration.test_cluster import process

PATIENCE_SECONDS = 90.0


def slice_of(addresses: Sequence[str]) -> Document:
    """The slice of the own Service, with a pod for each address, none of which is ready."""
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {"name": "zonal-1", "namespace": "zonal", "labels": {"kubernetes.io/service-name": "zonal"}},
        "addressType": "IPv4",
        "ports": [{"name": "http", "port": 8080, "protocol": "TCP"}],
        "endpoints": [
            {
                "addresses": [address],
                "conditions": {"ready": False},
                "targetRef": {"kind": "Pod", "name": f"zonal-{address}", "namespace": "zonal"},
            }
            for address in addresses
        ],
    }


async def has_peers(zonal: Zonal, **wanted: int) -> None:
    """Wait until a replica counts so many others by state."""
    watch = Stopwatch()
    while True:
        samples = (await zonal.metrics())["zonal_fleet_peers"].samples
        counts = {each.labels["state"]: int(each.value) for each in samples}
        if wanted.items() <= counts.items():
            return
        assert watch.within(PATIENCE_SECONDS), (counts, zonal.stderr)
        await asyncio.sleep(0.1)


@pytest.mark.parametrize("has_secret", [True, False])
async def test_replicas_find_each_other_and_follow_the_slices(tmp_path: Path, has_secret: bool) -> None:
    """They believe each other by a secret, or without one by their Leases."""
    (port,) = free_ports(1)
    secret = tmp_path / "secret"
    secret.write_bytes(SECRET)
    trust = [f"--peer-secret={secret}"] if has_secret else []
    addresses = ("127.0.0.2", "127.0.0.3", "127.0.0.4")
    async with ApiServer() as server, AsyncExitStack() as stack:
        server.put(ingress_class())
        server.put(service("zonal", namespace="zonal"))
        server.put(slice_of(addresses[:2]))
        replicas = []
        for address in addresses:
            place = tmp_path / address
            place.mkdir()
            options = (f"--bind-address={address}", f"--peer-port={port}", *trust)
            zonal = process(server, place, *options, "--publish-service=zonal/zonal")
            replicas.append(await stack.enter_async_context(zonal))
        first, second, third = replicas
        await has_peers(first, up=2, silent=0)
        await has_peers(second, up=2, silent=0)
        await has_peers(third, up=0, silent=2)
        server.put(slice_of(addresses))
        await has_peers(third, up=2, silent=0)
        assert len(server.objects("Lease")) - 1 == (0 if has_secret else 4), "one of the leader, one with a secret"
        if not has_secret:
            with pytest.raises((aiohttp.ClientError, OSError)):
                await tell(port, SECRET, encode(Message(number=1)), address=addresses[0])
