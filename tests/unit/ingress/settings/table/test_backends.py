"""What is said last holds, field by field, and without a path there is no check."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from balancer.model.endpoints import Ejection, HealthCheck, LoadBalancing
from ingress.settings.table.backends import BACKEND_OPTIONS, BackendSettings
from tests import builders as build
from tests.unit.ingress.said import said

CASES: list[tuple[str, str, dict[str, Any]]] = [
    ("ejection-consecutive-errors", "0", {"ejection": Ejection(consecutive_errors=0)}),
    ("ejection-5xx", "true", {"ejection": Ejection(on_5xx=True)}),
    ("ejection-failure-percent", "0", {"ejection": Ejection(failure_percent=0)}),
    ("ejection-time", "500ms", {"ejection": Ejection(seconds=0.5)}),
    ("ejection-max-percent", "10", {"ejection": Ejection(max_percent=10)}),
    ("health-check-path", "/well", {"health_check": HealthCheck("/well")}),
    ("health-check-interval", "1m", {"health_check": HealthCheck("", interval_seconds=60.0)}),
    ("health-check-timeout", "1s", {"health_check": HealthCheck("", timeout_seconds=1.0)}),
    ("health-check-threshold", "1", {"health_check": HealthCheck("", threshold=1)}),
    ("health-check-host", "shop.test:81", {"health_check": HealthCheck("", host="shop.test:81")}),
    ("health-check-headers", "X-A: b\nX-C:d", {"health_check": HealthCheck("", fields=(("X-A", "b"), ("X-C", "d")))}),
    ("max-concurrency-per-endpoint", "8", {"max_concurrency_per_endpoint": 8}),
    ("max-concurrency", "9", {"max_concurrency": 9}),
    ("zone-panic-threshold", "0", {"panic_percent": 0}),
    ("load-balance", "ewma", {"load_balancing": LoadBalancing.EWMA}),
    ("service-upstream", "true", {"service_upstream": True}),
    ("send-proxy-protocol", "v2", {"sends_proxy_header": True}),
]


@pytest.mark.parametrize(("key", "text", "expected"), CASES)
def test_each_key_changes_its_field_and_no_other(key: str, text: str, expected: dict[str, Any]) -> None:
    assert BackendSettings().overridden(said({key: text})) == BackendSettings(**expected)


def test_every_key_has_been_looked_at() -> None:
    assert {option.name for option in BACKEND_OPTIONS} == {key for key, _, _ in CASES}


def test_what_is_said_later_leaves_the_rest_of_what_was_said_before() -> None:
    cluster = BackendSettings().overridden(said({"health-check-path": "/well", "ejection-time": "1s"}))
    service = cluster.overridden(said({"health-check-interval": "1s", "ejection-5xx": "true"}))
    assert service.health_check == HealthCheck("/well", interval_seconds=1.0)
    assert service.ejection == Ejection(seconds=1.0, on_5xx=True)


def test_a_backend_is_kept_as_said_and_is_otherwise_as_it_was() -> None:
    backend = build.backend(of=build.endpoints("a"))
    assert BackendSettings().applied(backend) == backend
    settings = BackendSettings().overridden(said({"max-concurrency": "3", "health-check-path": "tcp"}))
    made = settings.applied(backend)
    assert (made.max_concurrency, made.health_check, made.endpoints) == (3, HealthCheck("tcp"), backend.endpoints)


@pytest.mark.parametrize(
    ("path", "http2", "asks_in_http2"),
    [("/well", False, False), ("/well", True, True), ("grpc", False, True), ("grpc:shop.Cart", True, True)],
)
def test_a_check_asks_as_requests_do_and_grpc_always_in_http2(path: str, http2: bool, asks_in_http2: bool) -> None:
    settings = BackendSettings().overridden(said({"health-check-path": path}))
    made = settings.applied(msgspec.structs.replace(build.backend(), http2=http2))
    assert made.health_check == HealthCheck(path, http2=asks_in_http2)


def test_an_empty_path_turns_a_check_off_again() -> None:
    on = BackendSettings(health_check=HealthCheck("/well"))
    assert on.overridden(said({"health-check-path": ""})).applied(build.backend()).health_check is None
