"""The metrics of ingress-nginx, counted by workers and read by a real Prometheus with the queries of its two boards."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import trustme
from prometheus_client import Metric

from tests.fakes.stopwatch import Stopwatch
from tests.integration.manifests import ingress, path, rule, service, tls_secret
from tests.integration.running import Zonal, running
from tests.integration.scraping import PATIENCE_SECONDS, PROMETHEUS, answered, prometheus
from tests.integration.shop import HOST, shop
from tests.integration.wire import get
from tests.unit.balancer.metrics.nginx.boards import QUERIES


@asynccontextmanager
async def serving(place: Path) -> AsyncIterator[Zonal]:
    """A shop with a certificate, and with an Ingress whose Service does not exist."""
    authority = trustme.CA()
    issued = authority.issue_cert(HOST)
    secret = tls_secret("tls", chain=issued.cert_chain_pems[0].bytes(), key=issued.private_key_pem.bytes())
    tls = [{"hosts": [HOST], "secretName": "tls"}]
    async with shop(place) as opened:
        opened.folder.write("secured.yaml", ingress("secured", rule(HOST, path("/secured", "cart")), tls=tls), secret)
        opened.folder.write("lost.yaml", ingress("lost", rule(HOST, path("/lost", "missing"))), service("other"))
        async with running(opened.place, "--workers", "2", "--compat-metrics", "nginx") as zonal:
            yield zonal


async def test_workers_count_under_the_names_of_ingress_nginx(tmp_path: Path) -> None:
    expected = {
        ("web", "/", "200", "GET"): 3.0,
        ("lost", "/lost", "503", "GET"): 2.0,
        ("secured", "/secured", "200", "GET"): 1.0,
    }
    async with serving(tmp_path) as zonal:
        for target, count in (("/", 3), ("/lost", 2), ("/secured/x", 1)):
            for _ in range(count):
                await get(zonal.http_port, HOST, target)
        await get(zonal.http_port, "unknown.test", "/")
        watch = Stopwatch()
        while (found := _requests(page := await zonal.metrics())) != expected:
            assert watch.within(PATIENCE_SECONDS), found
    (expiry,) = page["nginx_ingress_controller_ssl_expire_time_seconds"].samples
    assert (expiry.labels["host"], expiry.labels["secret_name"]) == (HOST, "tls")


def _requests(page: dict[str, Metric]) -> dict[tuple[str, ...], float]:
    labels = ("ingress", "path", "status", "method")
    samples = page["nginx_ingress_controller_requests"].samples
    return {tuple(each.labels[name] for name in labels): each.value for each in samples}


async def test_without_the_option_there_is_nothing_of_ingress_nginx(tmp_path: Path) -> None:
    async with shop(tmp_path) as opened, running(opened.place) as zonal:
        await get(zonal.http_port, HOST, "/")
        assert not [name for name in await zonal.metrics() if name.startswith("nginx_")]


@pytest.mark.slow
@pytest.mark.skipif(PROMETHEUS is None, reason="no prometheus on this machine")
async def test_every_query_of_the_boards_is_answered_by_a_real_prometheus(tmp_path: Path) -> None:
    async with serving(tmp_path) as zonal, prometheus(tmp_path, zonal.admin_port) as port:
        watch, silent = Stopwatch(), list(QUERIES)
        while silent:
            assert watch.within(PATIENCE_SECONDS), silent
            for target in ("/", "/lost", "/secured"):
                await get(zonal.http_port, HOST, target)
            silent = [query for query in silent if not await answered(port, query)]
