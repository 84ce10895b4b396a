"""The zone of a client is that of the longest network that holds its address; all others are unknown."""

from __future__ import annotations

import pytest

from balancer.model.zones import ClientNetwork, Zone, ZoneFacts, ZonePrices
from balancer.zones.client_hops import Hop, client_hops

A, B = Zone("zone-a"), Zone("zone-b")
FACTS = ZoneFacts(
    prices=ZonePrices(0.02, ((B, A, 0.01),)),
    client_networks=(
        ClientNetwork("10.0.0.0/8", A),
        ClientNetwork("10.1.0.0/16", B),
        ClientNetwork("2001:db8::/32", B),
    ),
)


@pytest.mark.parametrize(
    ("client", "hop"),
    [
        ("10.0.0.7", Hop("zone-a", 0.0, 0.0)),
        ("10.1.0.7", Hop("zone-b", 0.01e-9, 0.02e-9)),
        ("::ffff:10.1.0.7", Hop("zone-b", 0.01e-9, 0.02e-9)),
        ("2001:db8::7", Hop("zone-b", 0.01e-9, 0.02e-9)),
        ("192.0.2.7", Hop("unknown", 0.0, 0.0)),
        ("", Hop("unknown", 0.0, 0.0)),
    ],
)
def test_where_clients_are_and_what_their_way_costs(client: str, hop: Hop) -> None:
    hops = client_hops(FACTS, A)
    assert hops is not None
    for _ in range(2):
        found = hops.hop_of(client)
        assert found.client_zone == hop.client_zone
        assert (found.sent, found.received) == pytest.approx((hop.sent, hop.received))


def test_without_networks_nobody_asks_and_without_an_own_zone_nothing_has_a_price() -> None:
    assert client_hops(ZoneFacts(), A) is None
    hops = client_hops(FACTS, None)
    assert hops is not None and hops.hop_of("10.1.0.7") == Hop("zone-b", 0.0, 0.0)


def test_what_is_remembered_is_bounded() -> None:
    hops = client_hops(FACTS, A)
    assert hops is not None
    for number in range(5000):
        hops.hop_of(f"10.1.{number // 256}.{number % 256}")
    assert hops.hop_of("10.0.0.7").client_zone == "zone-a"
    assert len(hops._known) <= 4096
