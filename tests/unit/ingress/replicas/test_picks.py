"""Requests of a Service, from the counters of all workers."""

from __future__ import annotations

from balancer.metrics.definitions import RESPONSES, ZONE_DECISIONS
from balancer.metrics.recorder import NUMBERS
from balancer.metrics.slots import MINIMUM_BYTES, Key, SlotTable
from balancer.metrics.totals import Totals
from ingress.replicas.picks import OwnCounts


def test_the_picks_of_all_workers_and_reasons_add_up() -> None:
    buffers = [bytearray(MINIMUM_BYTES) for _ in range(2)]
    tables = [SlotTable(buffer) for buffer in buffers]

    def picked(service: str, reason: str, count: int) -> None:
        for table in tables:
            slot = table.slot(Key(NUMBERS[ZONE_DECISIONS.name], ("shop", service, reason)), 1)
            table.values[slot] += count

    counts, asked = OwnCounts(Totals(), lambda: buffers), frozenset(("shop/cart", "shop/new"))
    picked("cart", "off", 2)
    picked("cart", "zone_local", 3)
    picked("pay", "off", 9)
    assert counts.picks(asked) == {"shop/cart": 10, "shop/new": 0}
    assert counts.picks(frozenset()) == {}
    picked("new", "off", 4)
    picked("cart", "off", 1)
    assert counts.picks(asked) == {"shop/cart": 12, "shop/new": 8}


def test_answers_for_which_no_endpoint_answered_are_failures() -> None:
    buffer = bytearray(MINIMUM_BYTES)
    table = SlotTable(buffer)
    counts = OwnCounts(Totals(), lambda: [buffer])
    assert counts.answers() == {}
    for labels, count in (
        (("shop", "web", "cart", "200", ""), 5),
        (("shop", "web", "cart", "502", "connect_refused"), 3),
        (("shop", "web", "cart", "503", "rate_limited"), 2),
        (("pay", "web", "pay", "504", "connect_timeout"), 1),
        (("", "", "", "404", "no_route"), 9),
    ):
        table.values[table.slot(Key(NUMBERS[RESPONSES.name], labels), 1)] += count
    assert counts.answers() == {"shop": (10, 3), "pay": (1, 1)}
