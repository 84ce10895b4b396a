"""The Services of Gateways say which port stands where."""

from __future__ import annotations

import re
from typing import Any

import pytest

from ingress.objects.converting import decode
from ingress.objects.kinds import Service
from ingress.sources.events import BoundPort
from ingress.translation.gateway.register import gateway_of, read_register, service_name

GATEWAY = ("infra", "gw")


def service(of: str = "gw", *ports: tuple[int, Any], created: str = "2026-01-01T00:00:00Z", **metadata: Any) -> Service:
    found = decode(
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {
                "name": service_name(("infra", of)),
                "namespace": "zonal",
                "creationTimestamp": created,
                "annotations": {"zonal-ingress.io/gateway": f"infra/{of}"},
                **metadata,
            },
            "spec": {"ports": [{"port": port, "targetPort": target, "appProtocol": "http"} for port, target in ports]},
        }
    )
    assert isinstance(found, Service)
    return found


@pytest.mark.parametrize("name", ["gw", "a" * 253, "my.gate.way", "x" * 44 + "."])
def test_names_are_names_of_services_and_differ(name: str) -> None:
    found = service_name(("infra", name))
    assert re.fullmatch(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?", found)
    assert found != service_name(("other", name))


def test_ports_are_read_with_their_targets() -> None:
    read = read_register([service("gw", (80, 20000), (443, 20001))], "zonal", range(20000, 20002))
    assert read.ports[GATEWAY, 80] == BoundPort("infra", "gw", 80, 20000, "http")
    assert read.targets == {20000, 20001}
    assert list(read.services) == [GATEWAY]


def test_what_is_not_ours_counts_for_nothing() -> None:
    foreign = service("gw", (80, 20000), namespace="shop")
    renamed = service("gw", (80, 20000), name="mine")
    read = read_register([foreign, renamed], "zonal", [20000])
    assert (dict(read.services), dict(read.ports)) == ({}, {})
    assert gateway_of(renamed) is None


def test_other_targets_stand_for_nothing() -> None:
    read = read_register([service("gw", (80, 9), (81, "http"))], "zonal", [20000])
    assert dict(read.ports) == {}


def test_of_two_that_claim_one_number_the_older_has_it() -> None:
    old, new = service("b", (80, 20000)), service("a", (80, 20000), created="2026-01-02T00:00:00Z")
    assert list(read_register([new, old], "zonal", [20000]).ports) == [(("infra", "b"), 80)]
