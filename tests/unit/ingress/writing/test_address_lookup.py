"""Addresses as the API server gives them, and who has to change something where it does not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ingress.findings import Subject
from ingress.objects.kinds import PublishedAddress
from ingress.writing.address_lookup import AddressesUnknown, FixedAddresses, NodeAddresses, ServiceAddresses
from ingress.writing.addresses import parse_addresses
from tests.fakes.apiserver import ApiServer, Fault
from tests.unit.ingress.writing.writers import client_of

pytestmark = pytest.mark.large


def pod(name: str, node: str, *, template: str = "x", app: str = "zonal", phase: str = "Running") -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "zonal", "labels": {"app": app, "pod-template-hash": template}},
        "spec": {"nodeName": node, "containers": [{"name": "c", "image": "x"}]},
        "status": {"phase": phase},
    }


def node(name: str, *addresses: tuple[str, str]) -> dict[str, Any]:
    listed = [{"type": kind, "address": address} for kind, address in addresses]
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "status": {"addresses": listed}}


async def test_fixed_addresses_need_nobody() -> None:
    addresses = parse_addresses("203.0.113.7")
    assert await FixedAddresses(addresses)() == addresses


async def test_a_service_gives_what_its_load_balancer_says(tmp_path: Path) -> None:
    async with ApiServer() as server, client_of(server, tmp_path) as client:
        server.put(
            {
                "apiVersion": "v1",
                "kind": "Service",
                "metadata": {"name": "zonal", "namespace": "zonal"},
                "spec": {"type": "LoadBalancer", "ports": [{"port": 80}]},
                "status": {"loadBalancer": {"ingress": [{"hostname": "lb.test"}]}},
            }
        )
        lookup = ServiceAddresses(client, namespace="zonal", name="zonal")
        assert await lookup() == (PublishedAddress(hostname="lb.test"),)
        assert {call.verb for call in server.calls} == {"list"}


async def test_the_nodes_of_running_pods_of_every_rollout_count(tmp_path: Path) -> None:
    async with ApiServer() as server, client_of(server, tmp_path) as client:
        server.put(pod("zonal-1", "n1"))
        server.put(pod("zonal-2", "n2", template="y"))
        server.put(pod("zonal-3", "n3", phase="Pending"))
        server.put(pod("zonal-4", "gone"))
        server.put(pod("other", "n4", app="other"))
        server.put(node("n1", ("InternalIP", "10.0.0.1")))
        server.put(node("n2", ("InternalIP", "10.0.0.2"), ("ExternalIP", "198.51.100.2")))
        server.put(node("n3", ("InternalIP", "10.0.0.3")))
        server.put(node("n4", ("InternalIP", "10.0.0.4")))
        addresses = await NodeAddresses(client, namespace="zonal", pod="zonal-1")()
        assert [address.ip for address in addresses] == ["10.0.0.1", "198.51.100.2"]
        assert {call.verb for call in server.calls} == {"list"}


async def test_a_service_or_pod_that_is_not_there_is_for_somebody_to_mend(tmp_path: Path) -> None:
    async with ApiServer() as server, client_of(server, tmp_path) as client:
        with pytest.raises(AddressesUnknown, match="no such Service") as unknown:
            await ServiceAddresses(client, namespace="zonal", name="edge")()
        assert unknown.value.subject == Subject("Service", "zonal", "edge")
        with pytest.raises(AddressesUnknown, match="no such pod") as unknown:
            await NodeAddresses(client, namespace="zonal", pod="zonal-1")()
        assert unknown.value.subject == Subject("Pod", "zonal", "zonal-1")


async def test_a_refusal_is_for_somebody_to_mend_and_trouble_passes_by_itself(tmp_path: Path) -> None:
    async with ApiServer() as server, client_of(server, tmp_path) as client:
        lookup = ServiceAddresses(client, namespace="zonal", name="edge")
        server.rules = []
        with pytest.raises(AddressesUnknown, match="HTTP 403") as unknown:
            await lookup()
        assert unknown.value.subject is not None
        server.faults.add(Fault(status=503, times=1))
        with pytest.raises(AddressesUnknown, match="HTTP 503") as unknown:
            await lookup()
        assert unknown.value.subject is None
        await server.stop()
        with pytest.raises(AddressesUnknown) as unknown:
            await lookup()
        assert unknown.value.subject is None
