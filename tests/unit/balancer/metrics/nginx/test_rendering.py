"""A scrape with the names of ingress-nginx has every series that its two Grafana boards read, with their labels."""

from __future__ import annotations

import asyncio

import msgspec
import pytest
from prometheus_client import Metric
from prometheus_client.parser import text_string_to_metric_families

from balancer.metrics import process_metrics
from balancer.metrics.exposition import Exposition
from balancer.metrics.nginx.rendering import ControllerIdentity
from balancer.metrics.recorder import Recorder
from balancer.metrics.slots import SlotTable
from balancer.metrics.snapshots import Snapshot
from tests.recording import record
from tests.unit.balancer.metrics.nginx.boards import CONTROLLER, READ

PREFIX = "nginx_ingress_controller_"
IDENTITY = ControllerIdentity("zonal-ingress.io/controller", "zonal", "zonal-1")
SNAPSHOT = Snapshot(
    version="1.2.3",
    generation=7,
    published_at_epoch_seconds=1000.0,
    routes=frozenset({("shop", "web", "cart"), ("shop", "lost", "missing"), ("shop", "idle", "resting")}),
    missing=frozenset({("shop", "missing")}),
    unready=frozenset({("shop", "resting")}),
    connections={("client_active",): 3.0, ("client_idle",): 4.0, ("endpoint_idle",): 9.0},
    certificate_expiries={("shop", "shop-tls"): 5000.0},
    certified=frozenset({("shop.test", "shop", "shop-tls"), ("gone.test", "shop", "gone-tls")}),
    processes={
        process_metrics.PROCESS_CPU.name: [((), 1.5)],
        process_metrics.WORKER_CPU.name: [(("0",), 2.0), (("1",), 3.0)],
        process_metrics.PROCESS_MEMORY.name: [((), 100.0)],
        process_metrics.WORKER_MEMORY.name: [(("0",), 50.0)],
        process_metrics.PROCESS_START.name: [((), 900.0)],
        process_metrics.PROCESS_VIRTUAL_MEMORY.name: [((), 700.0)],
    },
)


def scraped(*ingresses: str, identity: ControllerIdentity | None = IDENTITY) -> dict[str, Metric]:
    """The page after one request to the path /api of each Ingress."""
    buffer = bytearray(1024 * 1024)
    recorder = Recorder(SlotTable(buffer))
    nginx = recorder.for_nginx()
    for name in ingresses:
        record(
            recorder,
            namespace="shop",
            ingress=name,
            service="cart",
            from_zone="a",
            to_zone="a",
            locality="local",
            status=503,
            seconds=0.03,
            endpoint_seconds=0.02,
            request_bytes=1,
            response_bytes=45,
        )
        labels = ("503", "GET", "/api", "shop", name, "cart")
        nginx.request(labels, seconds=0.03, endpoint_seconds=0.02, request_bytes=120, response_bytes=45)
    exposition = Exposition(tables=lambda: [buffer], clock=lambda: 2000.0, identity=identity)
    text = b"".join(asyncio.run(exposition.render(SNAPSHOT))).decode()
    return {family.name: family for family in text_string_to_metric_families(text)}


def samples(page: dict[str, Metric], family: str) -> dict[tuple[str, ...], float]:
    """The values of a family by the labels that are not the controller's, in the order of their names."""
    found = page[PREFIX + family].samples
    return {
        tuple(value for name, value in sorted(sample.labels.items()) if name not in CONTROLLER): sample.value
        for sample in found
    }


@pytest.mark.parametrize(("sample", "labels"), READ, ids=lambda value: value if isinstance(value, str) else "")
def test_the_boards_find_their_series_with_their_labels(sample: str, labels: set[str]) -> None:
    page = scraped("web")
    # The parser adds "_total" to the names of counters.
    names = {PREFIX + sample, f"{PREFIX}{sample}_total"}
    found = [each for family in page.values() for each in family.samples if each.name in names]
    assert found
    for each in found:
        assert each.labels.keys() >= labels
        if "controller_pod" in each.labels:
            assert tuple(each.labels[name] for name in CONTROLLER) == IDENTITY.labels


def test_what_zonal_counts_anyway_is_told_under_the_other_names() -> None:
    page = scraped("web")
    assert samples(page, "nginx_process_connections") == {
        ("active",): 7.0,
        ("reading",): 0.0,
        ("waiting",): 4.0,
        ("writing",): 3.0,
    }
    assert samples(page, "nginx_process_cpu_seconds") == {(): 6.5}
    assert samples(page, "nginx_process_num_procs") == {(): 3.0}
    assert samples(page, "nginx_process_resident_memory_bytes") == {(): 150.0}
    assert samples(page, "nginx_process_requests") == {(): 1.0}
    assert samples(page, "success") == {(): 7.0}
    assert samples(page, "config_last_reload_successful_timestamp_seconds") == {(): 1000.0}
    latency = page[PREFIX + "ingress_upstream_latency_seconds"]
    assert {each.name.rpartition("_")[2]: each.value for each in latency.samples} == {"sum": 0.02, "count": 1.0}


def test_certificates_are_told_by_host_and_one_that_is_not_in_use_is_not() -> None:
    (sample,) = scraped()[PREFIX + "ssl_expire_time_seconds"].samples
    assert (sample.labels["host"], sample.labels["secret_name"], sample.value) == ("shop.test", "shop-tls", 5000.0)


def test_orphans_are_ingresses_without_a_service_or_an_endpoint() -> None:
    orphans = samples(scraped(), "orphan_ingress")
    assert orphans == {
        ("lost", "shop", "no-service"): 1.0,
        ("web", "shop", "no-service"): 0.0,
        ("idle", "shop", "no-service"): 0.0,
        ("lost", "shop", "no-endpoint"): 0.0,
        ("web", "shop", "no-endpoint"): 0.0,
        ("idle", "shop", "no-endpoint"): 1.0,
    }


def test_series_of_ingresses_that_are_gone_are_left_out() -> None:
    page = scraped("web", "gone")
    found = {each.labels["ingress"] for each in page[PREFIX + "requests"].samples}
    assert found == {"web"}


def test_nothing_of_ingress_nginx_is_served_unless_asked_for() -> None:
    assert not [name for name in scraped("web", identity=None) if name.startswith(PREFIX)]


def test_a_replica_without_a_publication_has_not_loaded() -> None:
    fresh = msgspec.structs.replace(SNAPSHOT, published_at_epoch_seconds=None, generation=0)
    exposition = Exposition(tables=list, clock=lambda: 0.0, identity=IDENTITY)
    text = b"".join(asyncio.run(exposition.render(fresh))).decode()
    page = {family.name: family for family in text_string_to_metric_families(text)}
    assert samples(page, "config_last_reload_successful") == {(): 0.0}
    assert not page[PREFIX + "config_last_reload_successful_timestamp_seconds"].samples
