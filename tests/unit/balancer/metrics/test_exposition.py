"""A scrape shows the sum of all workers, the snapshot's facts, and only what still exists."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest
from prometheus_client.parser import text_string_to_metric_families

from balancer.metrics.definitions import DEFINITIONS
from balancer.metrics.exposition import Exposition
from balancer.metrics.recorder import Recorder
from balancer.metrics.slots import MINIMUM_BYTES, SlotTable
from balancer.metrics.snapshots import Snapshot
from balancer.metrics.streams import StreamLabels, StreamRecorder
from balancer.model.zones import OwnZone, Zone
from tests.recording import record

ROUTE = ("shop", "shop-ingress", "catalog")
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
ROUTED = Snapshot(version="1.2.3", routes=frozenset({ROUTE}))

Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]


class Workers:
    """Slot tables with their recorders, as several workers would have them."""

    def __init__(self, count: int = 1, table_bytes: int = 256 * 1024) -> None:
        self.buffers = [bytearray(table_bytes) for _ in range(count)]
        self.recorders = [Recorder(SlotTable(buffer)) for buffer in self.buffers]


async def rendered(workers: Workers, snapshot: Snapshot = ROUTED, now: float = 1000.0) -> bytes:
    return b"".join(await Exposition(tables=lambda: workers.buffers, clock=lambda: now).render(snapshot))


async def scraped(workers: Workers, snapshot: Snapshot = ROUTED, now: float = 1000.0) -> Samples:
    text = (await rendered(workers, snapshot, now)).decode()
    samples: Samples = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            series = (sample.name, frozenset(sample.labels.items()))
            assert series not in samples, "a series may appear once only"
            samples[series] = sample.value
    return samples


async def test_what_the_library_says_of_the_interpreter_ends_the_page() -> None:
    page = await rendered(Workers(), msgspec.structs.replace(ROUTED, interpreter=b"python_info 1.0\n"))
    assert page.endswith(b'zonal_build_info{version="1.2.3",build="plain"} 1\npython_info 1.0\n')


def value(samples: Samples, name: str, **labels: str) -> float | None:
    """The sum of all series of `name` that carry `labels`; None when there is none."""
    found = [number for (each, has), number in samples.items() if each == name and labels.items() <= set(has)]
    return sum(found) if found else None


async def test_workers_are_added_up() -> None:
    workers = Workers(count=3)
    for times, recorder in enumerate(workers.recorders, start=1):
        for _ in range(times):
            record(recorder, **REQUEST)
    samples = await scraped(workers)
    assert value(samples, "zonal_requests_total", to_zone="zone-b", code="2xx", locality="remote") == 6
    assert value(samples, "zonal_zone_bytes_total", direction="response") == 6 * 4000
    assert value(samples, "zonal_upstream_duration_seconds_count") == 6


async def test_histograms_are_cumulative_and_end_with_all() -> None:
    workers = Workers(count=2)
    for recorder, seconds in zip(workers.recorders, (0.02, 99.0), strict=True):
        record(recorder, **REQUEST | {"seconds": seconds})
    samples = await scraped(workers)
    name = "zonal_request_duration_seconds"
    buckets = {le: value(samples, f"{name}_bucket", le=le) for le in ("0.01", "0.025", "1.0", "10.0", "+Inf")}
    assert buckets == {"0.01": 0, "0.025": 1, "1.0": 1, "10.0": 1, "+Inf": 2}
    assert value(samples, f"{name}_count") == 2
    assert value(samples, f"{name}_sum") == pytest.approx(99.02)


async def test_every_metric_of_the_table_is_announced_once_with_its_kind() -> None:
    text = (await rendered(Workers())).decode()
    announced = [line for line in text.splitlines() if line.startswith("# TYPE")]
    assert announced == [f"# TYPE {each.name} {each.kind.value}" for each in DEFINITIONS]


async def test_streams_are_shown_as_long_as_their_route_exists() -> None:
    workers = Workers()
    streams = StreamRecorder(workers.recorders[0])
    for owner in ("shop-ingress", "gone"):
        streams.ended(StreamLabels("shop", owner, "TCPRoute", "catalog", "a", "b", "remote", ""), 1.5)
    samples = await scraped(workers)
    assert value(samples, "zonal_stream_connections_total", ingress="shop-ingress", kind="TCPRoute") == 1
    assert value(samples, "zonal_stream_seconds_total", ingress="shop-ingress") == 1.5
    assert value(samples, "zonal_stream_connections_total", ingress="gone") is None


async def test_facts_of_the_snapshot() -> None:
    snapshot = Snapshot(
        version="1.2.3",
        build="compiled",
        own_zone=OwnZone(zone=Zone("zone-a"), source="node", node="node-1"),
        generation=7,
        published_at_epoch_seconds=940.0,
        translation_seconds=0.25,
        findings={("Ingress", "bad_path", "closed"): 2},
        endpoints={("shop", "catalog", "zone-a", "ready"): 3},
        spill_ratios={("shop", "catalog"): 0.25},
        overload_factors={("shop", "catalog", "zone-a"): 1.5},
        expected_loads={("shop", "catalog", "zone-a"): 4.0},
        drained=("zone-b", "zone-c"),
        route_kinds=(("shop", "r", "HTTPRoute", "catalog"),),
        failure_ratios={("shop", "catalog", "zone-b"): 0.4},
        certificate_expiries={("shop", "tls"): 1_900_000_000.0},
        connections={("client_idle",): 5},
        event_loop_lag_seconds=0.002,
        processes={"process_open_fds": [((), 7.0)], "zonal_worker_cpu_seconds_total": [(("0",), 1.5)]},
    )
    samples = await scraped(Workers(), snapshot, now=1000.0)
    assert value(samples, "zonal_build_info", version="1.2.3", build="compiled") == 1
    assert value(samples, "zonal_own_zone_info", zone="zone-a", node="node-1", source="node") == 1
    assert value(samples, "zonal_config_generation") == 7
    assert value(samples, "zonal_config_age_seconds") == 60
    assert value(samples, "zonal_translation_seconds") == 0.25
    assert value(samples, "zonal_findings", kind="Ingress", reason="bad_path", severity="closed") == 2
    assert value(samples, "zonal_endpoints", namespace="shop", service="catalog", zone="zone-a", state="ready") == 3
    assert value(samples, "zonal_spill_ratio", namespace="shop", service="catalog") == 0.25
    assert value(samples, "zonal_zone_overload_factor", namespace="shop", service="catalog", zone="zone-a") == 1.5
    assert value(samples, "zonal_zone_expected_load", namespace="shop", service="catalog", zone="zone-a") == 4.0
    assert [value(samples, "zonal_zone_drained", zone=zone) for zone in ("zone-b", "zone-c")] == [1, 1]
    assert value(samples, "zonal_route_info", namespace="shop", ingress="r", kind="HTTPRoute", service="catalog") == 1
    assert value(samples, "zonal_zone_failure_ratio", namespace="shop", service="catalog", zone="zone-b") == 0.4
    assert value(samples, "zonal_certificate_expiry_timestamp_seconds", namespace="shop", secret="tls") == 1.9e9
    assert value(samples, "zonal_connections", state="client_idle") == 5
    assert value(samples, "zonal_event_loop_lag_seconds") == 0.002
    assert value(samples, "process_open_fds") == 7
    assert value(samples, "zonal_worker_cpu_seconds_total", worker="0") == 1.5
    assert value(samples, "zonal_worker_open_fds") is None


async def test_an_unknown_own_zone_is_the_label_unknown() -> None:
    samples = await scraped(Workers())
    assert value(samples, "zonal_own_zone_info", zone="unknown", node="", source="none") == 1


async def test_there_is_no_age_before_the_first_publication() -> None:
    assert value(await scraped(Workers()), "zonal_config_age_seconds") is None


async def test_a_clock_set_back_makes_no_negative_age() -> None:
    snapshot = Snapshot(version="1", published_at_epoch_seconds=2000.0)
    assert value(await scraped(Workers(), snapshot, now=1000.0), "zonal_config_age_seconds") == 0


async def test_series_of_routes_that_are_gone_are_left_out_and_return_with_the_route() -> None:
    workers = Workers()
    record(workers.recorders[0], **REQUEST, reason="zone_local")
    workers.recorders[0].dry_run("shop", "catalog", "zone_local", "local", dollars=0.5)
    workers.recorders[0].error("refused")
    gone = await scraped(workers, Snapshot(version="1"))
    names = ("zonal_requests_total", "zonal_request_duration_seconds_count", "zonal_upstream_duration_seconds_sum")
    zones = ("zonal_zone_bytes_total", "zonal_zone_decisions_total", "zonal_zone_cost_dollars_total")
    for name in (*names, *zones, "zonal_zone_blind_cost_dollars_total", "zonal_zone_dry_run_decisions_total"):
        assert value(gone, name) is None
        assert value(await scraped(workers), name) is not None
    assert value(gone, "zonal_errors_total", kind="refused") == 1


async def test_requests_without_a_route_stay() -> None:
    workers = Workers()
    nowhere = {"namespace": "", "ingress": "", "service": "", "endpoint_seconds": None, "status": 404}
    record(workers.recorders[0], **REQUEST | nowhere)
    assert value(await scraped(workers), "zonal_requests_total", namespace="", service="", code="4xx") == 1


async def test_a_full_table_is_an_error_that_can_be_seen() -> None:
    workers = Workers(table_bytes=MINIMUM_BYTES)
    assert value(await scraped(workers), "zonal_errors_total", kind="metrics_overflow") == 0
    for number in range(500):
        workers.recorders[0].dry_run("shop", f"service-{number}", "off", "unknown", dollars=0.0)
    overflown = value(await scraped(workers), "zonal_errors_total", kind="metrics_overflow")
    assert overflown is not None
    assert overflown > 400


async def test_label_values_are_escaped() -> None:
    samples = await scraped(Workers(), Snapshot(version='a"b\\c\nd'))
    assert value(samples, "zonal_build_info", version='a"b\\c\nd') == 1


@pytest.mark.large
async def test_rendering_gives_way_to_the_event_loop() -> None:
    workers = Workers(table_bytes=4 * 1024 * 1024)
    routes = {("shop", f"ingress-{number}", f"service-{number}") for number in range(400)}
    for _, ingress, service in routes:
        record(workers.recorders[0], **REQUEST | {"ingress": ingress, "service": service})
    turns = 0

    async def other_work() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    other = asyncio.create_task(other_work())
    page = await rendered(workers, Snapshot(version="1", routes=frozenset(routes)))
    other.cancel()
    lines = page.count(b"\n")
    assert lines > 400 * 28
    assert turns > lines / 1000
