"""Requests of a Service, from the counters of all workers."""

from __future__ import annotations

from balancer.metrics.definitions import ZONE_DECISIONS
from balancer.metrics.recorder import NUMBERS
from balancer.metrics.slots import MINIMUM_BYTES, Key, SlotTable
from balancer.metrics.totals import Totals
from ingress.replicas.picks import picks_by_service


def test_the_picks_of_all_workers_and_reasons_add_up() -> None:
    buffers = [bytearray(MINIMUM_BYTES) for _ in range(2)]
    for buffer in buffers:
        table = SlotTable(buffer)
        for labels, count in (
            (("shop", "cart", "off"), 2),
            (("shop", "cart", "zone_local"), 3),
            (("shop", "pay", "off"), 9),
        ):
            slot = table.slot(Key(NUMBERS[ZONE_DECISIONS.name], labels), 1)
            table.values[slot] += count
    asked = frozenset(("shop/cart", "shop/new"))
    assert picks_by_service(Totals(), buffers, asked) == {"shop/cart": 10, "shop/new": 0}
    assert picks_by_service(Totals(), buffers, frozenset()) == {}
