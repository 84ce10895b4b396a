"""Requests count under the names of ingress-nginx, with bounded labels, into the table of their worker."""

from __future__ import annotations

from balancer.metrics.nginx.counting import NginxRecorder, RequestLabels
from balancer.metrics.nginx.series import COUNTED, NUMBERS, REQUEST_SECONDS, REQUESTS, RESPONSE_SECONDS, RESPONSE_SIZE
from balancer.metrics.slots import MINIMUM_BYTES, OVERFLOW, SlotTable, read

LABELS = ("200", "GET", "/api", "shop", "web", "cart")


def counted(
    *requests: RequestLabels, table_bytes: int = 256 * 1024, endpoint_seconds: float | None = 0.02
) -> bytearray:
    buffer = bytearray(table_bytes)
    recorder = NginxRecorder(SlotTable(buffer))
    for labels in requests:
        recorder.request(labels, seconds=0.03, endpoint_seconds=endpoint_seconds, request_bytes=120, response_bytes=45)
    return buffer


def values(buffer: bytearray, name: str) -> dict[tuple[str, ...], tuple[float, ...]]:
    return {entry.key.labels: entry.values for entry in read(buffer) if entry.key.metric == NUMBERS[name]}


def test_a_request_counts_once_in_every_metric() -> None:
    buffer = counted(LABELS, LABELS)
    series = (*LABELS, "")
    assert values(buffer, REQUESTS.name) == {series: (2.0,)}
    (times,) = values(buffer, REQUEST_SECONDS.name).values()
    assert times[REQUEST_SECONDS.buckets.index(0.05)] == 2.0
    assert (sum(times[:-1]), times[-1]) == (2.0, 0.06)
    (sizes,) = values(buffer, RESPONSE_SIZE.name).values()
    assert sizes[RESPONSE_SIZE.buckets.index(50)] == 2.0
    assert sizes[-1] == 90.0
    assert {entry.key.metric for entry in read(buffer)} >= {NUMBERS[each.name] for each in COUNTED}


def test_a_request_without_one_attempt_has_no_time_of_an_endpoint() -> None:
    (times,) = values(counted(LABELS, endpoint_seconds=None), RESPONSE_SECONDS.name).values()
    assert set(times) == {0.0}


def test_methods_that_clients_make_up_share_a_series() -> None:
    made_up = [("200", f"X{number}", "/api", "shop", "web", "cart") for number in range(1000)]
    assert values(counted(*made_up), REQUESTS.name) == {("200", "OTHER", "/api", "shop", "web", "cart", ""): (1000.0,)}


def test_a_full_table_counts_what_was_refused() -> None:
    paths = [("200", "GET", f"/{number}", "shop", "web", "cart") for number in range(1000)]
    buffer = counted(*paths, table_bytes=MINIMUM_BYTES)
    (refused,) = [entry.values[0] for entry in read(buffer) if entry.key == OVERFLOW]
    assert refused >= 1000
