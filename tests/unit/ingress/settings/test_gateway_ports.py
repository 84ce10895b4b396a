"""The grammar of `--gateway-ports`."""

from __future__ import annotations

import pytest

from ingress.settings.gateway_ports import GatewayPorts, read_gateway_ports, read_gateway_services


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", GatewayPorts()),
        ("20000", GatewayPorts((20000,))),
        ("20000-20002", GatewayPorts((20000, 20001, 20002))),
        ("443=18443, 80=18080", GatewayPorts((18443, 18080), ((80, 18080), (443, 18443)))),
    ],
)
def test_a_range_a_port_pairs_or_nothing(text: str, expected: GatewayPorts) -> None:
    assert read_gateway_ports(text) == expected


@pytest.mark.parametrize(
    "text", ["a", "0", "70000", "2-1", "1-2000", "80=", "80=1,81", "80=1,80=2", "80=1,81=1", "-5", "1-", "\u0663"]
)
def test_what_is_neither_says_so(text: str) -> None:
    with pytest.raises(ValueError, match=r"port|range|give"):
        read_gateway_ports(text)


def test_a_range_means_a_service_for_each_gateway() -> None:
    ports = read_gateway_ports("20000-20001")
    found = read_gateway_services(ports, "auto", "203.0.113.0/28,::1", namespace="zonal")
    assert found is not None
    assert (found.service_type, found.targets, len(found.external_networks)) == ("LoadBalancer", (20000, 20001), 2)
    node = read_gateway_services(ports, "node-port", "", namespace="zonal")
    assert node is not None
    assert node.service_type == "NodePort"
    assert read_gateway_services(read_gateway_ports("80=8080"), "auto", "", namespace="zonal") is None
    assert read_gateway_services(read_gateway_ports("80=8080"), "none", "", namespace="zonal") is None
    assert read_gateway_services(read_gateway_ports(""), "auto", "", namespace="zonal") is None


@pytest.mark.parametrize(
    ("ports", "addresses", "networks", "words"),
    [
        ("20000-20001", "shared", "", "PORT=BOUND"),
        ("20000-20001", "none", "", "PORT=BOUND"),
        ("80=8080", "node-port", "", "range"),
        ("20000-20001", "auto", "nothing", "--gateway-external-ips"),
    ],
)
def test_what_does_not_fit_together_is_said(ports: str, addresses: str, networks: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        read_gateway_services(read_gateway_ports(ports), addresses, networks, namespace="zonal")
