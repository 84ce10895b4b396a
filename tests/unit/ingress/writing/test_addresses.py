"""Addresses out of flags, Services, pods and nodes, as a real API server shapes them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ingress.objects.kinds import PublishedAddress
from ingress.writing.addresses import (
    AddressError,
    Pod,
    node_addresses,
    parse_addresses,
    pods_of,
    replica_selector,
    service_addresses,
)


def texts(addresses: tuple[PublishedAddress, ...]) -> list[str]:
    return [address.ip or address.hostname for address in addresses]


def items(*documents: dict[str, Any]) -> bytes:
    return json.dumps({"kind": "List", "metadata": {"resourceVersion": "1"}, "items": list(documents)}).encode()


def service(kind: str = "ClusterIP", status: dict[str, Any] | None = None, **spec: Any) -> bytes:
    return items({"metadata": {"name": "zonal"}, "spec": {"type": kind, **spec}, "status": status or {}})


def load_balanced(*assigned: dict[str, Any]) -> dict[str, Any]:
    return {"loadBalancer": {"ingress": list(assigned)}}


def test_a_flag_gives_addresses_and_names_sorted_and_each_once() -> None:
    parsed = parse_addresses(" lb.example.com, 203.0.113.7,2001:DB8::1,203.0.113.7,")
    assert parsed == (
        PublishedAddress(hostname="lb.example.com"),
        PublishedAddress(ip="2001:db8::1"),
        PublishedAddress(ip="203.0.113.7"),
    )


@pytest.mark.parametrize("text", ["", " , ", "a b", "http://x", "999.1.1.1", "1.2.3", "-x.test", "x_y.test", "a" * 300])
def test_a_flag_that_nobody_can_reach_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(AddressError) as refused:
        parse_addresses(text)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (service(clusterIP="10.96.0.9"), ["10.96.0.9"]),
        (service(clusterIP="None"), []),
        (service("NodePort", clusterIP="10.96.0.9"), ["10.96.0.9"]),
        (service("NodePort", clusterIP="10.96.0.9", externalIPs=["192.0.2.1"]), ["192.0.2.1"]),
        (service("ExternalName", externalName="edge.example.com"), ["edge.example.com"]),
        (service("LoadBalancer", {"loadBalancer": {}}, clusterIP="10.96.0.9"), []),
        (service("LoadBalancer", {"loadBalancer": {"ingress": None}}, externalIPs=None), []),
        (
            service(
                "LoadBalancer", load_balanced({"ip": "203.0.113.7"}, {"hostname": "lb.test"}), clusterIP="10.0.0.1"
            ),
            ["lb.test", "203.0.113.7"],
        ),
        (
            service("LoadBalancer", load_balanced({"ip": "203.0.113.7"}), externalIPs=["192.0.2.1"]),
            ["192.0.2.1", "203.0.113.7"],
        ),
    ],
)
def test_a_service_is_read_by_its_type(body: bytes, expected: list[str]) -> None:
    assert texts(service_addresses(body)) == expected


def test_a_service_that_is_not_there_is_an_error() -> None:
    with pytest.raises(AddressError, match="no such Service"):
        service_addresses(items())


def test_pods_tell_their_node_and_whether_they_run() -> None:
    pod = {"metadata": {"labels": {"app": "zonal"}}, "spec": {"nodeName": "n1"}, "status": {"phase": "Running"}}
    leaving = {**pod, "metadata": {"deletionTimestamp": "2026-11-21T06:00:00Z"}}
    pending = {"metadata": {"labels": None}, "spec": {"nodeName": None}, "status": {"phase": "Pending"}}
    assert pods_of(items(pod, leaving, pending)) == (
        Pod("n1", True, {"app": "zonal"}),
        Pod("n1", False, {}),
        Pod("", False, {}),
    )


def test_replicas_of_another_rollout_are_replicas() -> None:
    labels = {"b": "2", "pod-template-hash": "abc", "a": "1", "controller-revision-hash": "x"}
    assert replica_selector(labels) == "a=1,b=2"
    assert replica_selector({"pod-template-hash": "abc"}) == ""


def test_a_node_is_reached_from_outside_where_it_can_be() -> None:
    internal = {"type": "InternalIP", "address": "10.0.0.5"}
    external = {"type": "ExternalIP", "address": "198.51.100.4"}
    name = {"type": "Hostname", "address": "node-1"}
    assert texts(node_addresses(items({"status": {"addresses": [name, internal, external]}}))) == ["198.51.100.4"]
    assert texts(node_addresses(items({"status": {"addresses": [name, internal]}}))) == ["10.0.0.5"]
    assert node_addresses(items({"status": {"addresses": [name]}})) == ()
    assert node_addresses(items({"status": {"addresses": None}})) == ()
    assert node_addresses(items()) == ()


@pytest.mark.parametrize("body", [b"", b"<html>", b"\xff", b'{"items": 7}', b'{"items": [{"spec": 7, "metadata": 1}]}'])
def test_an_answer_of_another_shape_is_an_error(body: bytes) -> None:
    for read in (service_addresses, pods_of):
        with pytest.raises(AddressError):
            read(body)
