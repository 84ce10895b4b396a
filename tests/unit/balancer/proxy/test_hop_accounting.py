"""The bytes of clients count by their zone, with their price where that is known."""

from __future__ import annotations

import pytest

from balancer.metrics.definitions import CLIENT_BYTES, CLIENT_COST
from balancer.metrics.recorder import NUMBERS, Recorder
from balancer.metrics.slots import SlotTable, read
from balancer.model.zones import ClientNetwork, Zone, ZoneFacts
from balancer.proxy.account import Account
from balancer.proxy.hop_accounting import count_hop
from balancer.zones.client_hops import client_hops


def test_bytes_and_dollars_by_the_zone_of_the_client() -> None:
    buffer = bytearray(64 * 1024)
    recorder = Recorder(SlotTable(buffer))
    hops = client_hops(ZoneFacts(client_networks=(ClientNetwork("10.1.0.0/16", Zone("zone-b")),)), Zone("zone-a"))
    assert hops is not None
    for client in ("10.1.0.7", "10.1.0.7", "192.0.2.7"):
        account = Account(client, None, 0.0)
        account.request_bytes, account.response_bytes = 10**9, 2 * 10**9
        count_hop(recorder, hops, account, "zone-a")
    found = {(entry.key.metric, entry.key.labels): entry.values[0] for entry in read(buffer)}
    size, cost = NUMBERS[CLIENT_BYTES.name], NUMBERS[CLIENT_COST.name]
    assert found[size, ("zone-b", "zone-a", "request")] == 2 * 10**9
    assert found[size, ("zone-b", "zone-a", "response")] == 4 * 10**9
    assert found[size, ("unknown", "zone-a", "request")] == 10**9
    assert found[cost, ("zone-b", "zone-a")] == pytest.approx(0.12)
    assert (cost, ("unknown", "zone-a")) not in found
