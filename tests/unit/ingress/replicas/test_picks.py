"""Requests of a Service, from the counters of all workers."""

from __future__ import annotations

from balancer.metrics.definitions import RESPONSES, ZONE_DECISIONS
from balancer.metrics.recorder import NUMBERS
from balancer.metrics.slots import MINIMUM_BYTES, Key, SlotTable
from balancer.metrics.totals import Totals
from ingress.replicas.picks import answers_by_namespace, picks_by_service


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


def test_answers_for_which_no_endpoint_answered_are_failures() -> None:
    buffer = bytearray(MINIMUM_BYTES)
    table = SlotTable(buffer)
    for labels, count in (
        (("shop", "web", "cart", "200", ""), 5),
        (("shop", "web", "cart", "502", "connect_refused"), 3),
        (("shop", "web", "cart", "503", "rate_limited"), 2),
        (("pay", "web", "pay", "504", "connect_timeout"), 1),
        (("", "", "", "404", "no_route"), 9),
    ):
        table.values[table.slot(Key(NUMBERS[RESPONSES.name], labels), 1)] += count
    assert answers_by_namespace(Totals(), [buffer]) == {"shop": (10, 3), "pay": (1, 1)}
