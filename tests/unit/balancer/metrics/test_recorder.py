"""Each event of the request path is counted once, under the right labels."""

from __future__ import annotations

from bisect import bisect_left
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from balancer.metrics.definitions import (
    ACCESS_LOG_DROPPED,
    DEAR_HANDSHAKES,
    DRY_RUN_COST,
    DRY_RUN_DECISIONS,
    EJECTIONS,
    ENDPOINT_DURATION,
    ERRORS,
    HTTP2_FLOODS,
    HTTP2_RESETS,
    REQUEST_DURATION,
    REQUESTS,
    RESPONSES,
    RETRIES,
    SPANS_DROPPED,
    WORKER_RESTARTS,
    ZONE_BLIND_COST,
    ZONE_BYTES,
    ZONE_COST,
    ZONE_DECISIONS,
    ZONE_EVACUATIONS,
)
from balancer.metrics.kinds import BUCKETS_SECONDS, Definition
from balancer.metrics.recorder import NUMBERS, ROUTE_REQUESTS, SUM, Recorder, RequestLabels, RouteLabels
from balancer.metrics.slots import MINIMUM_BYTES, OVERFLOW, SlotTable, is_overflow, read
from tests.recording import record

REQUEST: dict[str, Any] = {
    "namespace": "shop",
    "ingress": "shop-ingress",
    "service": "catalog",
    "from_zone": "zone-a",
    "to_zone": "zone-b",
    "locality": "remote",
    "status": 200,
    "seconds": 0.02,
    "endpoint_seconds": 0.01,
    "request_bytes": 10,
    "response_bytes": 4000,
}
ROUTE = ("shop", "shop-ingress", "catalog")
PATH = RouteLabels(*ROUTE, "shop.test", "/", "Prefix")


class Counted:
    """A recorder together with what can be read of its table."""

    def __init__(self, table_bytes: int = 64 * 1024) -> None:
        self._buffer = bytearray(table_bytes)
        self.recorder = Recorder(SlotTable(self._buffer))

    def of(self, definition: Definition) -> dict[tuple[str, ...], tuple[float, ...]]:
        number = NUMBERS[definition.name]
        return {entry.key.labels: entry.values for entry in read(self._buffer) if entry.key.metric == number}

    def refusals(self) -> float:
        return next(entry.values[0] for entry in read(self._buffer) if entry.key == OVERFLOW)


def test_a_request_counts_in_all_request_metrics() -> None:
    counted = Counted()
    record(counted.recorder, **REQUEST)
    record(counted.recorder, **REQUEST)
    assert counted.of(REQUESTS) == {(*ROUTE, "zone-a", "zone-b", "remote", "2xx"): (2,)}
    assert counted.of(ZONE_BYTES) == {
        ("shop", "catalog", "zone-a", "zone-b", "request"): (20,),
        ("shop", "catalog", "zone-a", "zone-b", "response"): (8000,),
    }
    assert list(counted.of(REQUEST_DURATION)) == [(*ROUTE, "remote")]
    assert list(counted.of(ENDPOINT_DURATION)) == [(*ROUTE, "zone-b", "remote")]


def test_a_request_without_endpoint_counts_no_endpoint_time_and_no_zone_bytes() -> None:
    counted = Counted()
    record(counted.recorder, **REQUEST | {"endpoint_seconds": None, "status": 503})
    assert list(counted.of(REQUESTS)) == [(*ROUTE, "zone-a", "zone-b", "remote", "5xx")]
    assert len(counted.of(REQUEST_DURATION)) == 1
    assert counted.of(ENDPOINT_DURATION) == {}
    assert counted.of(ZONE_BYTES) == {}


def test_requests_with_and_without_endpoint_share_the_series_of_their_labels() -> None:
    counted = Counted()
    record(counted.recorder, **REQUEST)
    record(counted.recorder, **REQUEST | {"endpoint_seconds": None})
    assert list(counted.of(REQUESTS).values()) == [(2,)]


@pytest.mark.parametrize(
    ("status", "code"),
    [(101, "1xx"), (200, "2xx"), (308, "3xx"), (499, "4xx"), (599, "5xx"), (0, "1xx"), (999, "5xx")],
)
def test_the_code_is_the_class_of_the_status(status: int, code: str) -> None:
    counted = Counted()
    record(counted.recorder, **REQUEST | {"status": status})
    assert [labels[-1] for labels in counted.of(REQUESTS)] == [code]


@given(st.lists(st.tuples(st.floats(0, 60), st.floats(0, 60)), min_size=1, max_size=20))
def test_durations_fall_into_the_first_bucket_that_holds_them(durations: list[tuple[float, float]]) -> None:
    counted = Counted()
    for seconds, endpoint_seconds in durations:
        record(counted.recorder, **REQUEST | {"seconds": seconds, "endpoint_seconds": endpoint_seconds})
    places = {REQUEST_DURATION: (*ROUTE, "remote"), ENDPOINT_DURATION: (*ROUTE, "zone-b", "remote")}
    for (definition, place), observed in zip(places.items(), zip(*durations, strict=True), strict=True):
        values = counted.of(definition)[place]
        for number, bound in enumerate(BUCKETS_SECONDS):
            assert sum(values[: number + 1]) == sum(each <= bound for each in observed)
        assert sum(values[:SUM]) == len(observed)
        assert values[SUM] == pytest.approx(sum(observed))


def test_a_duration_equal_to_a_bound_is_inside_it() -> None:
    counted = Counted()
    record(counted.recorder, **REQUEST | {"seconds": 0.25})
    assert counted.of(REQUEST_DURATION)[*ROUTE, "remote"][bisect_left(BUCKETS_SECONDS, 0.25)] == 1
    assert BUCKETS_SECONDS[bisect_left(BUCKETS_SECONDS, 0.25)] == 0.25


def test_localities_have_histograms_of_their_own() -> None:
    counted = Counted()
    for locality in ("local", "remote", "local"):
        record(counted.recorder, **REQUEST | {"locality": locality})
    by_locality = {labels[-1]: sum(values[:SUM]) for labels, values in counted.of(REQUEST_DURATION).items()}
    assert by_locality == {"local": 2, "remote": 1}


def test_a_response_counts_by_exact_status_and_error() -> None:
    counted = Counted()
    record(counted.recorder, **REQUEST)
    record(counted.recorder, **REQUEST | {"status": 404})
    for error in ("no_endpoint", "overloaded", "overloaded"):
        record(counted.recorder, **REQUEST | {"status": 503, "endpoint_seconds": None, "error": error})
    assert counted.of(RESPONSES) == {
        (*ROUTE, "200", ""): (1,),
        (*ROUTE, "404", ""): (1,),
        (*ROUTE, "503", "no_endpoint"): (1,),
        (*ROUTE, "503", "overloaded"): (2,),
    }


@pytest.mark.parametrize(("status", "label"), [(0, "1xx"), (101, "101"), (299, "2xx"), (499, "499"), (999, "5xx")])
def test_a_status_that_is_not_listed_counts_as_its_class(status: int, label: str) -> None:
    counted = Counted()
    record(counted.recorder, **REQUEST | {"status": status})
    assert counted.of(RESPONSES) == {(*ROUTE, label, ""): (1,)}


@pytest.mark.parametrize("endpoint_seconds", [None, 0.01])
def test_an_endpoint_that_answers_with_every_status_makes_few_series(endpoint_seconds: float | None) -> None:
    counted = Counted()
    for status in (*range(100, 1000), *range(100, 1000)):
        record(counted.recorder, **REQUEST | {"status": status, "endpoint_seconds": endpoint_seconds})
    assert sum(count for (count,) in counted.of(RESPONSES).values()) == 1800
    assert len(counted.of(RESPONSES)) < 80
    assert counted.refusals() == 0


def test_decisions_retries_and_errors_are_counted_by_their_reason() -> None:
    counted = Counted()
    record(counted.recorder, **REQUEST | {"reason": "zone_local"})
    record(counted.recorder, **REQUEST | {"reason": "zone_local"})
    record(counted.recorder, **REQUEST | {"reason": "zone_empty"})
    counted.recorder.retry("shop", "catalog", "refused")
    counted.recorder.ejection("shop", "catalog")
    counted.recorder.zone_evacuation("shop", "catalog", "zone-a", dry_run=True)
    counted.recorder.error("bad_framing")
    assert counted.of(ZONE_DECISIONS) == {
        ("shop", "catalog", "zone_local"): (2,),
        ("shop", "catalog", "zone_empty"): (1,),
    }
    assert counted.of(RETRIES) == {("shop", "catalog", "refused"): (1,)}
    assert counted.of(EJECTIONS) == {("shop", "catalog"): (1,)}
    assert counted.of(ZONE_EVACUATIONS) == {("shop", "catalog", "zone-a", "true"): (1,)}
    assert counted.of(ERRORS) == {("bad_framing",): (1,)}


def test_what_goes_wrong_over_http2_is_counted_by_kind() -> None:
    counted = Counted()
    counted.recorder.http2_reset("client")
    counted.recorder.http2_reset("malformed", 3)
    counted.recorder.http2_flood("rapid_reset")
    assert counted.of(HTTP2_RESETS) == {("client",): (1,), ("malformed",): (3,)}
    assert counted.of(HTTP2_FLOODS) == {("rapid_reset",): (1,)}
    assert counted.of(ERRORS) == {("http2_flood",): (1,)}


def test_dear_handshakes_are_counted_by_host() -> None:
    counted = Counted()
    for host in ("shop.test", "", "shop.test"):
        counted.recorder.dear_handshake(host)
    assert counted.of(DEAR_HANDSHAKES) == {("shop.test",): (2,), ("",): (1,)}


def test_what_bytes_cost_adds_up_beside_what_they_would_have_cost() -> None:
    counted = Counted()
    for dollars, blind_dollars in ((0.25, 0.5), (0.0, 0.125)):
        record(counted.recorder, **REQUEST | {"dollars": dollars, "blind_dollars": blind_dollars})
    assert counted.of(ZONE_COST) == {("shop", "catalog"): (0.25,)}
    assert counted.of(ZONE_BLIND_COST) == {("shop", "catalog"): (0.625,)}


def test_requests_of_one_service_to_several_zones_share_its_cost() -> None:
    counted = Counted()
    for zone in ("zone-b", "zone-c"):
        record(counted.recorder, **REQUEST | {"to_zone": zone, "dollars": 0.5})
    assert counted.of(ZONE_COST) == {("shop", "catalog"): (1.0,)}


def test_a_request_without_endpoint_costs_nothing() -> None:
    counted = Counted()
    record(counted.recorder, **REQUEST | {"endpoint_seconds": None})
    assert counted.of(ZONE_COST) == counted.of(ZONE_BLIND_COST) == {}


def test_a_dry_run_is_counted_by_what_it_would_have_decided_and_what_that_would_have_cost() -> None:
    counted = Counted()
    counted.recorder.dry_run("shop", "catalog", "zone_local", "local", dollars=0.0)
    counted.recorder.dry_run("shop", "catalog", "zone_empty", "remote", dollars=0.5)
    counted.recorder.dry_run("shop", "catalog", "zone_empty", "remote", dollars=0.25)
    assert counted.of(DRY_RUN_DECISIONS) == {
        ("shop", "catalog", "zone_local", "local"): (1,),
        ("shop", "catalog", "zone_empty", "remote"): (2,),
    }
    assert counted.of(DRY_RUN_COST) == {("shop", "catalog"): (0.75,)}


def test_dropped_log_lines_show_zero_before_the_first() -> None:
    counted = Counted()
    assert counted.of(ACCESS_LOG_DROPPED) == {(): (0,)}
    counted.recorder.access_log_dropped()
    counted.recorder.access_log_dropped(4)
    assert counted.of(ACCESS_LOG_DROPPED) == {(): (5,)}


def test_dropped_spans_are_counted_by_reason() -> None:
    counted = Counted()
    counted.recorder.spans_dropped("queue_full", 1)
    counted.recorder.spans_dropped("not_sent", 512)
    assert counted.of(SPANS_DROPPED) == {("queue_full",): (1,), ("not_sent",): (512,)}


def test_restarts_of_workers_show_zero_before_the_first() -> None:
    counted = Counted()
    assert counted.of(WORKER_RESTARTS) == {(): (0,)}
    counted.recorder.worker_restart()
    assert counted.of(WORKER_RESTARTS) == {(): (1,)}


def test_each_observation_without_room_is_counted_and_spoils_no_other() -> None:
    counted = Counted(MINIMUM_BYTES)
    counted.recorder.error("known")
    for number in range(200):
        counted.recorder.retry("shop", "catalog", f"reason-{number}")
    refusals = counted.refusals()
    assert refusals == 200 - len(counted.of(RETRIES))
    for _ in range(3):
        counted.recorder.retry("shop", "catalog", "reason-199")
        record(counted.recorder, **REQUEST)
        record(counted.recorder, **REQUEST | {"endpoint_seconds": None})
    assert counted.refusals() >= refusals + 3 * 3
    assert counted.of(ERRORS) == {("known",): (1,)}
    assert set(counted.of(RETRIES).values()) == {(1,)}
    assert counted.of(ACCESS_LOG_DROPPED) == {(): (0,)}


def test_paths_share_the_room_of_their_namespace() -> None:
    """A namespace with ever more paths leaves half of the table to the others."""
    counted = Counted(MINIMUM_BYTES + 16 * 1024)
    slots = [counted.recorder.route_slot(PATH._replace(path=f"/{number}")) for number in range(1000)]
    assert is_overflow(slots[-1])
    assert counted.refusals() > 0
    assert not is_overflow(counted.recorder.route_slot(PATH._replace(namespace="pay")))


def test_a_request_counts_in_the_slot_of_its_path_at_once_and_again_by_the_slots_it_got() -> None:
    counted = Counted()
    slot = counted.recorder.route_slot(PATH)
    labels = RequestLabels(*ROUTE, "zone-a", "zone-b", "remote", 503)
    slots = counted.recorder.request(labels, 0.1, 0.1, 0, 0, route=slot + 1)
    assert slots is not None
    counted.recorder.exchange(slots, 0.1, 0.1, 0, 0, 0.0, 0.0)
    counted.recorder.request(labels, 0.1, None, 0, 0, route=slot)
    paths = {entry.key.labels: entry.values for entry in read(counted._buffer) if entry.key.metric == ROUTE_REQUESTS}
    assert paths == {PATH: (1.0, 2.0)}
