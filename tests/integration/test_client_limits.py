"""Limits by client over real sockets: what counts, for whom, and that a client cannot get around them."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from ingress.settings.context import TranslationContext
from tests.fakes.backends import echoing
from tests.fakes.sockets import reset
from tests.fakes.sockets import until as soon
from tests.integration.in_process import DataPlane, data_plane
from tests.integration.manifests import config_map, endpoint_slice, ingress, ingress_class, path, rule, service
from tests.integration.processes import workers
from tests.integration.running import Zonal, running, until
from tests.integration.shop import HOST, Shop, shop
from tests.integration.wire import Connection, get, request_bytes

CONTEXT = TranslationContext(allow_local_endpoints=True)
PREFIX = "nginx.ingress.kubernetes.io/"
ONE_A_MINUTE = {"limit-rpm": "1", "limit-burst-multiplier": "0"}
WORKERS = 4


@asynccontextmanager
async def serving(annotations: dict[str, str], **config: str) -> AsyncIterator[DataPlane]:
    async with data_plane() as plane, echoing("cart", {"zone-a": 1}) as (endpoint,):
        named = {PREFIX + name: value for name, value in annotations.items()}
        web = ingress("web", rule(HOST, path("/", "cart")), annotations=named)
        plane.serve((ingress_class(), service("cart"), endpoint_slice(endpoint), web, config_map(**config)), CONTEXT)
        yield plane


async def status(plane: DataPlane, *fields: str, header: bytes = b"", target: str = "/") -> int:
    async with await Connection.open(plane.http_port) as connection:
        return (await connection.send(header + request_bytes("GET", target, f"Host: {HOST}", *fields))).status


async def test_forged_addresses_do_not_get_around_a_limit() -> None:
    async with serving(ONE_A_MINUTE) as plane:
        assert await status(plane) == 200
        for number in range(5):
            fields = (f"X-Forwarded-For: 198.51.100.{number}", f"X-Real-IP: 198.51.100.{number}")
            assert await status(plane, *fields) == 503


async def test_forged_addresses_before_that_of_a_trusted_proxy_do_not_either() -> None:
    trust = {"use_forwarded_headers": "true", "proxy_real_ip_cidr": "127.0.0.0/8"}
    async with serving(ONE_A_MINUTE, **trust) as plane:
        assert await status(plane, "X-Forwarded-For: 203.0.113.9") == 200
        for number in range(5):
            assert await status(plane, f"X-Forwarded-For: 198.51.100.{number}, 203.0.113.9") == 503
        assert await status(plane, "X-Forwarded-For: 203.0.113.10") == 200


async def test_the_address_of_a_proxy_header_is_the_client() -> None:
    async with serving(ONE_A_MINUTE, use_proxy_protocol="true") as plane:
        seen = [
            await status(plane, "X-Forwarded-For: 9.9.9.9", header=f"PROXY TCP4 {client} 10.0.0.1 1 80\r\n".encode())
            for client in ("192.0.2.1", "192.0.2.1", "192.0.2.2")
        ]
        assert seen == [200, 503, 200]


async def test_the_limit_does_not_depend_on_how_a_path_is_written() -> None:
    async with serving(ONE_A_MINUTE) as plane:
        assert await status(plane) == 200
        for target in ("//", "/%2e/", "/a/..", "/A", "/?x", f"http://{HOST}/"):
            assert await status(plane, target=target) == 503


async def test_refused_requests_are_named_in_the_metrics_and_get_the_status_that_is_set() -> None:
    async with serving(ONE_A_MINUTE, limit_req_status_code="429") as plane:
        assert [await status(plane) for _ in range(3)] == [200, 429, 429]
    async with serving(ONE_A_MINUTE, limit_req_status_code="499") as plane:  # without a phrase of its own
        assert [await status(plane) for _ in range(2)] == [200, 499]


async def test_a_request_in_flight_counts_until_its_client_leaves() -> None:
    async with serving({"limit-connections": "2"}) as plane:
        streams = [await asyncio.open_connection("127.0.0.1", plane.http_port) for _ in range(2)]
        for _, writer in streams:
            writer.write(request_bytes("GET", "/gated", f"Host: {HOST}"))
        await soon(lambda: plane.worker.connections()["endpoint_active"] == 2)
        assert await status(plane) == 503
        for _, writer in streams:
            reset(writer)
        await soon(lambda: plane.worker.connections()["client_active"] == 0)
        assert await status(plane) == 200


async def test_a_paced_response_is_in_flight_until_it_is_written() -> None:
    async with (
        serving({"limit-rate": "1", "limit-connections": "1"}) as plane,
        await Connection.open(plane.http_port) as connection,
    ):
        began = time.monotonic()
        asking = asyncio.ensure_future(connection.get(HOST, "/", f"X-Large: {'a' * 2000}"))
        await soon(lambda: plane.worker.connections()["endpoint_idle"] == 1)
        assert await status(plane) == 503
        response = await asking
        # One kilobyte goes at once, and then one a second.
        assert time.monotonic() - began > (len(response.body) - 1024) / 1024 - 0.05
        assert "a" * 2000 in response.body.decode()
        assert (await connection.get(HOST)).status == 200


@asynccontextmanager
async def limited(place: Path, annotations: dict[str, str]) -> AsyncIterator[tuple[Shop, Zonal]]:
    """The shop with an annotated Ingress behind several workers."""
    async with shop(place, {"zone-a": 1}) as opened:
        named = {PREFIX + name: value for name, value in annotations.items()}
        opened.folder.write("web.yaml", ingress("web", rule(HOST, path("/", "cart")), annotations=named))
        async with running(opened.place, "--workers", str(WORKERS), grace="0") as zonal:
            yield opened, zonal


@pytest.mark.slow
async def test_workers_count_the_requests_of_a_client_together(tmp_path: Path) -> None:
    annotations = {"limit-rpm": "1", "limit-burst-multiplier": "99"}
    async with limited(tmp_path, annotations) as (_, zonal):
        began = time.monotonic()
        answers = await asyncio.gather(*(get(zonal.http_port, HOST) for _ in range(300)))
        minutes = (time.monotonic() - began) / 60
        statuses = Counter(answer.status for answer in answers)
        assert statuses.keys() == {200, 503}
        assert 95 <= statuses[200] <= 105 + minutes


@pytest.mark.slow
async def test_what_a_killed_worker_had_in_flight_is_given_back(tmp_path: Path) -> None:
    async with limited(tmp_path, {"limit-connections": "24"}) as (opened, zonal):
        (endpoint,) = opened.endpoints
        asking = [asyncio.ensure_future(get(zonal.http_port, HOST, "/gated")) for _ in range(24)]
        await until(lambda: endpoint.waiting == 24, seconds=30.0)
        assert (await get(zonal.http_port, HOST)).status == 503
        past = workers(zonal.pid)
        for killed in past:
            os.kill(killed, signal.SIGKILL)
        await asyncio.gather(*asking, return_exceptions=True)
        await until(lambda: len(set(workers(zonal.pid)) - set(past)) == WORKERS, seconds=60.0)
        assert (await get(zonal.http_port, HOST)).status == 200
        endpoint.gate.set()


class Asked(NamedTuple):
    """One answered request: when it was sent and answered (monotonic seconds), and whether it passed."""

    sent_at: float
    answered_at: float
    passed: bool


async def asking(port: int, until: float) -> list[Asked]:
    """What a client that does not pause sees on one connection, which may have to be made anew."""
    seen: list[Asked] = []
    while (now := time.monotonic()) < until:
        async with await Connection.open(port) as connection:
            for _ in range(500):
                now = time.monotonic()
                passed = (await connection.get(HOST)).status == 200
                seen.append(Asked(now, time.monotonic(), passed))
                if now > until:
                    break
    return seen


@pytest.mark.slow
async def test_a_hundred_a_second_are_a_hundred_with_four_workers(tmp_path: Path) -> None:
    async with limited(tmp_path, {"limit-rps": "100", "limit-burst-multiplier": "3"}) as (_, zonal):
        async with asyncio.timeout(60):
            while {each.status for each in await asyncio.gather(*(get(zonal.http_port, HOST) for _ in range(100)))} == {
                200
            }:
                pass  # until the burst is used up
        clients = [asking(zonal.http_port, time.monotonic() + 4.0) for _ in range(16)]
        seen = [each for client in await asyncio.gather(*clients) for each in client]
    refused = sorted(each for each in seen if not each.passed)
    first, last = refused[0], refused[-1]
    # A refused request says that everything that was due by then had passed. When it was judged is known roughly.
    least, most = 100 * (last.sent_at - first.answered_at), 100 * (last.answered_at - first.sent_at)
    between = [
        each for each in seen if each.passed and each.sent_at > first.answered_at and each.answered_at < last.sent_at
    ]
    around = [
        each for each in seen if each.passed and each.answered_at > first.sent_at and each.sent_at < last.answered_at
    ]
    assert len(between) <= most * 1.05 + 2
    assert len(around) >= least * 0.95 - 2
    assert least > 200
