"""Which Services `zonal top` shows, in which order, and how figures are written."""

from __future__ import annotations

import pytest

from ingress.cli.terminal import ranking
from ingress.cli.terminal.ranking import Choice, Order, chosen, headline
from ingress.cli.terminal.rates import FlowRates, ServiceRates, TrafficRates
from ingress.cli.terminal.tables import lines

BUSY = ServiceRates(
    namespace="shop",
    name="busy",
    modes=("zonal",),
    reasons=("zone_local",),
    ready=3,
    requests_per_second=100.0,
    local_per_second=90.0,
    remote_per_second=10.0,
    local_share=0.9,
    p50_seconds=0.0012,
    p99_seconds=0.02,
    bytes_per_second=2.5e6,
    dollars_per_month=12.5,
    blind_dollars_per_month=200.0,
)
FAR = ServiceRates(
    namespace="bank",
    name="far",
    modes=("general", "zonal"),
    reasons=("zone_empty",),
    ready=1,
    ejected=1,
    requests_per_second=20.0,
    errors_per_second=2.0,
    remote_per_second=20.0,
    local_share=0.0,
    p99_seconds=0.5,
    p99_remote_seconds=0.5,
    dollars_per_month=1234.5,
    blind_dollars_per_month=1234.5,
)
IDLE = ServiceRates(namespace="shop", name="idle")
ALL = TrafficRates(
    2, 1, (FlowRates("zone-a", "zone-a", 90.0), FlowRates("zone-a", "zone-b", 30.0, 2.0)), (BUSY, FAR, IDLE)
)


@pytest.mark.parametrize(
    ("order", "names"),
    [
        (Order.REQUESTS, ["busy", "far", "idle"]),
        (Order.ERRORS, ["far", "busy", "idle"]),
        (Order.REMOTE, ["far", "busy", "idle"]),
        (Order.P99, ["far", "busy", "idle"]),
        (Order.BYTES, ["busy", "far", "idle"]),
        (Order.COST, ["far", "busy", "idle"]),
        (Order.NAME, ["far", "busy", "idle"]),
    ],
)
def test_services_are_sorted_and_equal_ones_by_name(order: Order, names: list[str]) -> None:
    assert [each.name for each in chosen(ALL, Choice(order=order)).services] == names


def test_services_are_filtered_and_limited_and_flows_stay() -> None:
    assert chosen(ALL, Choice(namespace="shop")).services == (BUSY, IDLE)
    assert chosen(ALL, Choice(text="k/fa")).services == (FAR,)
    assert chosen(ALL, Choice(limit=1)).services == (BUSY,)
    assert chosen(ALL, Choice(text="nothing")).flows == ALL.flows


def test_the_headline_adds_everything_up() -> None:
    assert headline(ALL) == (
        "2 replicas (1 without rates yet) · 120 req/s · 75.0% in own zone · 2.0 err/s · $1,247 in 30 d · $188 saved"
    )
    assert headline(TrafficRates(1, 1)) == (
        "1 replica · 0 req/s · - in own zone · 0 err/s · $0.00 in 30 d · $0.00 saved"
    )


def test_the_tables() -> None:
    assert list(lines(ranking.flows_table((*ALL.flows, FlowRates("unknown", "unknown"))))) == [
        "FROM     TO          REQ/S  ERR/S  BYTES/S  $/30 D",
        "zone-a   zone-a   =     90      0        0    0.00",
        "zone-a   zone-b         30    2.0        0    0.00",
        "unknown  unknown         0      0        0    0.00",
    ]
    (_, busy, far, idle) = lines(ranking.services_table(ALL.services))
    assert " ".join(busy.split()) == "shop/busy zonal zone_local 3 100 90.0% - 0 1.2 20 - 2.5M 12.50 188"
    assert " ".join(far.split()) == "bank/far general+zonal zone_empty 1/2 20 0% - 2.0 - 500 500 0 1,234 0.00"
    assert " ".join(idle.split()) == "shop/idle - - 0 0 - - 0 - - - 0 0.00 0.00"


@pytest.mark.parametrize(
    ("share", "text"), [(None, "-"), (0.0, "0%"), (0.5, "50.0%"), (0.99999, "99.9%"), (1.0, "100%")]
)
def test_everything_is_said_of_everything_alone(share: float | None, text: str) -> None:
    assert ranking.percent(share) == text


@pytest.mark.parametrize(("size", "text"), [(0.0, "0"), (999.0, "999"), (1500.0, "1.5k"), (2e9, "2.0G")])
def test_bytes_are_in_powers_of_ten(size: float, text: str) -> None:
    assert ranking.size(size) == text


@pytest.mark.parametrize(
    ("dollars", "text"), [(-0.0001, "0.00"), (0.005, "0.01"), (99.0, "99.00"), (-2.5, "-2.50"), (12345.6, "12,346")]
)
def test_dollars_have_cents_below_a_hundred(dollars: float, text: str) -> None:
    assert ranking.money(dollars) == text
