"""The grammar of `--gateway-ports`."""

from __future__ import annotations

import pytest

from ingress.settings.gateway_ports import GatewayPorts, read_gateway_ports


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
