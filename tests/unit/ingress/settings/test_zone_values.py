"""The grammar of policies, tolls, prices and lists of zones."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from balancer.model.zones import ClientNetwork, Zone, ZonePolicyName, ZonePrices
from ingress.settings.values import InvalidValue
from ingress.settings.zone_values import (
    PolicyChoice,
    Toll,
    ZoneDrain,
    client_networks,
    policy_choice,
    prices,
    toll,
    zone_drains,
)

PARSERS: list[Callable[[str], object]] = [client_networks, policy_choice, prices, toll, zone_drains]
ORDERED = ZonePolicyName.ORDERED


@pytest.mark.parametrize("name", [name for name in ZonePolicyName if name is not ORDERED])
def test_a_policy_by_its_name(name: ZonePolicyName) -> None:
    assert policy_choice(name.value) == PolicyChoice(name)


def test_auto_is_no_policy_but_a_choice_to_be_made() -> None:
    assert policy_choice("auto") == PolicyChoice(None)


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("ordered: topology.kubernetes.io/zone, *", ("topology.kubernetes.io/zone", "*")),
        ("ordered:kubernetes.io/hostname", ("kubernetes.io/hostname",)),
        ("ordered: *", ("*",)),
        ("ordered: rack , Row_1.x,example.com/y", ("rack", "Row_1.x", "example.com/y")),
        ("ordered: " + ",".join(f"k{number}" for number in range(15)) + ",*", (*(f"k{n}" for n in range(15)), "*")),
    ],
)
def test_an_ordered_list_of_labels(text: str, keys: tuple[str, ...]) -> None:
    assert policy_choice(text) == PolicyChoice(ORDERED, keys)


@pytest.mark.parametrize(
    "text",
    [
        "", "nearest", "OFF", "off ", "ordered", "ordered:", "ordered: ,", "ordered: a,", "ordered: *, a",
        "ordered: a, *, *", "ordered: a, a", "ordered: a b", "ordered: /a", "ordered: a/", "ordered: a/b/c",
        "ordered: -a", "ordered: Example.com/a", "ordered: " + "a" * 64, "ordered: a\n",
        "ordered: " + ",".join(f"k{number}" for number in range(17)),
        "ordered: " + ",".join(f"k{number}" for number in range(16)) + ",*",
    ],
)  # fmt: skip
def test_another_policy_is_refused(text: str) -> None:
    with pytest.raises(InvalidValue):
        policy_choice(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("5%+0.5ms", Toll(0.05, 0.0005)),
        ("10%", Toll(0.1, 0.0)),
        ("2ms", Toll(0.0, 0.002)),
        ("12.5%+1s", Toll(0.125, 1.0)),
        ("0%+0ms", Toll(0.0, 0.0)),
    ],
)
def test_a_toll_is_a_share_and_a_time(text: str, expected: Toll) -> None:
    assert toll(text) == expected


@pytest.mark.parametrize(
    "text", ["", "5", "%", "5%+", "+1ms", "5%1ms", "1ms+5%", "-5%", "5 %", "5%+1m", "1e3%", "5%+0.5ms\n", "1234567%"]
)
def test_another_toll_is_refused(text: str) -> None:
    with pytest.raises(InvalidValue):
        toll(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0.02", ZonePrices(0.02)),
        ("0", ZonePrices(0.0)),
        ("*=0.03", ZonePrices(0.03)),
        ("a>b=0.01", ZonePrices(0.02, (("a", "b", 0.01),))),  # type: ignore[arg-type]
        (
            "b>a=0.02, a > b = 0.01 ,*=0.05",
            ZonePrices(0.05, (("a", "b", 0.01), ("b", "a", 0.02))),  # type: ignore[arg-type]
        ),
    ],
)
def test_prices_of_all_pairs_and_of_some(text: str, expected: ZonePrices) -> None:
    assert prices(text) == expected


@pytest.mark.parametrize(
    "text",
    ["", "free", "-1", "1e3", "0.02,0.03", "a>b", "a>b=", "a=0.1", "a>a=0.1", "a>b=0.1,a>b=0.1", "*=1,*=2", "*>b=1",
     "a>b>c=1", "a>b=0.01,", "a>b=inf"],
)  # fmt: skip
def test_other_prices_are_refused(text: str) -> None:
    with pytest.raises(InvalidValue):
        prices(text)


@pytest.mark.parametrize(
    ("text", "expected"), [("", ()), (" ", ()), ("b, a", ("a", "b")), ("a,a", ("a",)), ("eu-1_A.x", ("eu-1_A.x",))]
)
def test_a_list_of_zones(text: str, expected: tuple[str, ...]) -> None:
    assert zone_drains(text) == tuple(ZoneDrain(Zone(zone)) for zone in expected)


@pytest.mark.parametrize("end", ["2027-01-31T18:00:00Z", "2027-01-31T20:00:00+02:00", "2027-01-31T18:00:00.000Z"])
def test_a_drain_may_have_an_end(end: str) -> None:
    ending = ZoneDrain(Zone("b"), datetime(2027, 1, 31, 18, tzinfo=UTC).timestamp())
    assert zone_drains(f"b until={end}, a") == (ZoneDrain(Zone("a")), ending)


@pytest.mark.parametrize(
    "text",
    [",", "a,", "a b", "a;b", "*", "a" * 64, "a until=", "a until=tomorrow", "a until=2027-01-31", "until=2027-01-31",
     "a until=2027-01-31T18:00:00", "a until=2027-02-31T18:00:00Z", "a until=2027-01-31T18:00:00Z x",
     "a until=0000-01-01T00:00:00Z",
     "a until=0001-01-01T00:00:00+14:00", "a until=9999-12-31T23:59:59-01:00", "a until=2027-01-31T18:00:00+24:00",
     "a,a until=2027-01-31T18:00:00Z", "a until=2027-01-31 T18:00:00Z"],
)  # fmt: skip
def test_what_is_no_list_of_zones_is_refused(text: str) -> None:
    with pytest.raises(InvalidValue):
        zone_drains(text)


@pytest.mark.parametrize("parse", PARSERS)
@given(text=st.text() | st.text(alphabet="a*>=,.%+0159ms: ordered/", max_size=20))
def test_no_text_raises_anything_else(parse: Callable[[str], object], text: str) -> None:
    try:
        parse(text)
    except InvalidValue as refused:
        assert str(refused)


def test_networks_of_clients_have_zones() -> None:
    expected = (ClientNetwork("10.0.0.0/19", Zone("zone-a")), ClientNetwork("fd00::/64", Zone("zone-b")))
    assert client_networks("fd00::/64 = zone-b, 10.0.0.0/19=zone-a") == expected
    assert client_networks(" ") == ()


@pytest.mark.parametrize(
    "text",
    [
        "10.0.0.1/19=zone-a",
        "10.0.0.0/19",
        "10.0.0.0/19=a zone",
        "x=zone-a",
        "10.0.0.0/8=a,10.0.0.0/8=b",
        ",".join(f"10.{number // 256}.{number % 256}.0/24=a" for number in range(257)),
    ],
)
def test_other_networks_are_refused(text: str) -> None:
    with pytest.raises(InvalidValue):
        client_networks(text)
