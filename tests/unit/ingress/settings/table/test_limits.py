"""Limits: what an Ingress and the ConfigMap say, and the gates that come of it."""

from __future__ import annotations

import pytest

from balancer.model.gates import GateRule
from balancer.model.limits import FlightLimit, LimitScope, Rate, RateLimit
from ingress.settings.configmap import read_configmap
from ingress.settings.table.limits import LIMIT_OPTIONS, ClusterLimits, LimitSettings
from ingress.settings.values import InvalidValue

OPTIONS = {option.name: option for option in LIMIT_OPTIONS}


def gates(cluster: ClusterLimits | None = None, **settings: object) -> tuple[GateRule, ...]:
    return LimitSettings(**settings).gates("shop/web", cluster or ClusterLimits())  # type: ignore[arg-type]


def test_without_limits_there_are_no_gates() -> None:
    assert gates(exempt=("10.0.0.0/8",), burst_multiplier=3) == ()


def test_rates_have_bursts_of_their_own() -> None:
    assert gates(a_second=10) == (RateLimit("shop/web", (Rate(10, 1, 50),)),)
    assert gates(a_minute=2, burst_multiplier=2) == (RateLimit("shop/web", (Rate(2, 60, 4),)),)
    assert gates(a_second=10, a_minute=1, burst_multiplier=0) == (
        RateLimit("shop/web", (Rate(1, 60, 0), Rate(10, 1, 0))),
    )


def test_a_rate_may_be_one_for_all_replicas() -> None:
    scope = OPTIONS["limit-scope"].grammar("fleet")
    assert gates(a_second=10, in_flight=3, scope=scope) == (
        FlightLimit("shop/web", 3),
        RateLimit("shop/web", (Rate(10, 1, 50),), scope=LimitScope.FLEET),
    )
    with pytest.raises(InvalidValue, match="replica or fleet"):
        OPTIONS["limit-scope"].grammar("everybody")


def test_requests_in_flight_come_first() -> None:
    cluster = ClusterLimits(rate_status=429, flight_status=430, key="$http_x_key")
    assert gates(cluster, in_flight=8, a_second=1) == (
        FlightLimit("shop/web", 8, key="$http_x_key", status=430),
        RateLimit("shop/web", (Rate(1, 1, 5),), key="$http_x_key", status=429),
    )


def test_the_old_name_of_the_allowlist_counts_where_the_new_one_is_empty() -> None:
    (old,) = gates(in_flight=1, whitelisted=("10.0.0.0/8",))
    (both,) = gates(in_flight=1, whitelisted=("10.0.0.0/8",), exempt=("192.0.2.0/24",))
    assert old == FlightLimit("shop/web", 1, ("10.0.0.0/8",))
    assert both == FlightLimit("shop/web", 1, ("192.0.2.0/24",))


@pytest.mark.parametrize(("text", "expected"), [("", 0), (" ", 0), ("0", 0), ("+7", 7), ("300", 300)])
@pytest.mark.parametrize("name", ["limit-rps", "limit-rpm", "limit-connections"])
def test_a_limit_is_a_number(name: str, text: str, expected: int) -> None:
    assert OPTIONS[name].grammar(text) == expected


@pytest.mark.parametrize("text", ["many", "-1", "1.5", "10r/s", "1 2"])
@pytest.mark.parametrize("name", ["limit-rps", "limit-rpm", "limit-connections", "limit-rate", "limit-rate-after"])
def test_a_limit_that_cannot_be_read_closes(name: str, text: str) -> None:
    with pytest.raises(InvalidValue):
        OPTIONS[name].grammar(text)
    assert OPTIONS[name].closes


def test_rates_of_bodies_are_in_kilobytes() -> None:
    assert OPTIONS["limit-rate"].grammar("16") == 16384
    settings, findings = read_configmap({"limit-rate": "16", "limit-rate-after": "2"})
    assert (settings.route_policy.body_rate, settings.route_policy.body_rate_after) == (16384, 2048)
    assert findings == ()


@pytest.mark.parametrize("text", ["200", "399", "600", "x", ""])
def test_a_status_that_is_none_leaves_503(text: str) -> None:
    settings, (finding,) = read_configmap({"limit-req-status-code": text})
    assert settings.limits == ClusterLimits()
    assert not settings.closed
    assert finding.reason == "InvalidValue"


def test_the_statuses_are_those_that_are_set() -> None:
    settings, _ = read_configmap({"limit-req-status-code": "429", "limit-conn-status-code": "420"})
    assert settings.limits == ClusterLimits(rate_status=429, flight_status=420)


@pytest.mark.parametrize(
    ("text", "expected"),
    [("$binary_remote_addr", ""), ("$remote_addr", ""), ("", ""), ("$http_x_key", "$http_x_key")],
)
def test_clients_are_told_apart_by_address_or_by_a_text(text: str, expected: str) -> None:
    assert read_configmap({"limit-conn-zone-variable": text})[0].limits.key == expected


def test_a_text_that_cannot_be_read_closes_every_path() -> None:
    assert read_configmap({"limit-conn-zone-variable": "$nonsense"})[0].closed
