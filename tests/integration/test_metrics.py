"""What a serving process tells: metrics as documented, counts that add up, and one access log line for each request."""

from __future__ import annotations

import asyncio
import json
import re
from collections import Counter
from datetime import datetime
from pathlib import Path

import pytest
from prometheus_client import Metric

from tests.fakes.stopwatch import Stopwatch
from tests.integration.running import Zonal, running, until
from tests.integration.shop import HOST, ZONES, shop
from tests.integration.wire import Connection, get, request_bytes

DOCS = Path(__file__).parents[2] / "docs"
_ROW = re.compile(r"^\| `(?P<name>\w+)` \| (?P<type>counter|gauge|histogram) \| (?P<labels>[^|]*) \|", re.MULTILINE)
_LOG_FIELD = re.compile(r"^\| `(\w+)` \|", re.MULTILINE)


def total(family: Metric, **labels: str) -> float:
    """The sum of a counter's samples that have these labels."""
    return sum(
        sample.value
        for sample in family.samples
        if sample.name.endswith("_total") and labels.items() <= sample.labels.items()
    )


async def send_a_mix(zonal: Zonal) -> int:
    """Requests of several kinds; how many."""
    async with await Connection.open(zonal.http_port) as connection:
        for _ in range(60):
            assert (await connection.get(HOST, "/item?id=1")).status == 200
        for _ in range(7):
            assert (await connection.get("unknown.test")).status == 404
        await connection.send(request_bytes("POST", "/", f"Host: {HOST}", "Content-Length: 1000", body=b"x" * 1000))
    assert (await get(zonal.http_port, HOST, "/bad%zz")).status == 400
    return 69


async def test_the_page_is_what_the_documentation_says(tmp_path: Path) -> None:
    documented = {
        row["name"]: (row["type"], set() if row["labels"] == "—" else set(row["labels"].split(", ")))
        for row in _ROW.finditer((DOCS / "metrics.md").read_text())
    }
    async with shop(tmp_path) as place, running(place.place, "--zone", "zone-b") as zonal:
        await send_a_mix(zonal)
        families = await zonal.metrics()

    names = {f"{name}_total" if family.type == "counter" else name: family for name, family in families.items()}
    assert {name: family.type for name, family in names.items()} == {name: row[0] for name, row in documented.items()}
    for name, family in names.items():
        for sample in family.samples:
            assert set(sample.labels) - {"le"} == documented[name][1]


async def test_requests_by_zone_add_up_to_the_requests_sent(tmp_path: Path) -> None:
    async with shop(tmp_path) as place, running(place.place, "--zone", "zone-b") as zonal:
        sent = await send_a_mix(zonal)
        families = await zonal.metrics()
        by_zone: Counter[str] = Counter()
        for sample in families["zonal_requests"].samples:
            if sample.name == "zonal_requests_total":
                by_zone[sample.labels["to_zone"]] += int(sample.value)
    assert sum(by_zone.values()) == sent
    assert by_zone["unknown"] == 8
    routed = sent - by_zone["unknown"]
    for zone, endpoints in ZONES.items():
        assert abs(by_zone[zone] - routed * endpoints / sum(ZONES.values())) <= endpoints
    requests = families["zonal_requests"]
    assert total(requests, code="4xx", namespace="", ingress="", service="") == 8
    assert total(requests, code="2xx", namespace="shop", ingress="web", service="cart") == routed
    assert total(requests, locality="local", to_zone="zone-b") == by_zone["zone-b"]
    assert total(requests, from_zone="zone-b") == sent
    assert total(families["zonal_zone_decisions"], reason="off") == routed
    assert total(families["zonal_errors"], kind="no_route") == 7
    assert total(families["zonal_errors"], kind="bad_request") == 1
    assert total(families["zonal_zone_bytes"], direction="request") == 1_000


async def test_the_facts_beside_the_counters(tmp_path: Path) -> None:
    async with shop(tmp_path) as place, running(place.place, "--zone", "zone-b") as zonal:
        families = await zonal.metrics()
    endpoints = {
        sample.labels["zone"]: sample.value
        for sample in families["zonal_endpoints"].samples
        if sample.labels["state"] == "ready"
    }
    assert endpoints == ZONES
    (own_zone,) = families["zonal_own_zone_info"].samples
    assert (own_zone.labels["zone"], own_zone.labels["source"]) == ("zone-b", "flag")
    (generation,) = families["zonal_config_generation"].samples
    assert generation.value == 1


async def test_a_lost_endpoint_is_counted_as_a_retry(tmp_path: Path) -> None:
    async with shop(tmp_path, {"zone-a": 2}) as place, running(place.place) as zonal:
        await place.endpoints[0].stop()
        async with await Connection.open(zonal.http_port) as connection:
            answers = [await connection.get(HOST) for _ in range(10)]
        families = await zonal.metrics()
        lines = await zonal.logs(10)
    assert [answer.status for answer in answers] == [200] * 10
    tried_twice = [line for line in lines if len(line["endpoints"]) == 2]
    assert tried_twice
    assert total(families["zonal_retries"]) == len(tried_twice)
    assert total(families["zonal_retries"], reason="connect_refused") == len(tried_twice)
    assert total(families["zonal_requests"]) == 10
    assert all(line["failed_attempts"][0]["status"] is None for line in tried_twice)


async def test_the_json_access_log(tmp_path: Path) -> None:
    documented = _LOG_FIELD.findall((DOCS / "access-log.md").read_text())
    always = documented[: documented.index("request_id") + 1]
    async with shop(tmp_path) as place, running(place.place, "--zone", "zone-b") as zonal:
        sent = await send_a_mix(zonal)
        async with await Connection.open(zonal.http_port) as connection:
            await connection.get(HOST, "/who", "User-Agent: tester", "Authorization: Basic c2VjcmV0", "Cookie: a=b")
        lines = await zonal.logs(sent + 1)

    assert len(lines) == sent + 1
    assert "c2VjcmV0" not in zonal.stdout
    for line in lines:
        assert list(line)[: len(always)] == always
        assert set(line) <= set(documented)
    last = lines[-1]
    assert (last["method"], last["host"], last["path"], last["status"]) == ("GET", HOST, "/who", 200)
    assert (last["client"], last["protocol"], last["user_agent"]) == ("127.0.0.1", "HTTP/1.1", "tester")
    assert (last["namespace"], last["ingress"], last["service"], last["reason"]) == ("shop", "web", "cart", "off")
    assert last["from_zone"] == "zone-b"
    assert last["locality"] == ("local" if last["to_zone"] == "zone-b" else "remote")
    assert last["endpoints"][0] in {endpoint.label for endpoint in place.endpoints}
    assert 0 < last["endpoint_duration"] <= last["duration"] < 5
    assert datetime.fromisoformat(last["time"]).tzinfo is not None
    assert Counter(line["status"] for line in lines) == {200: 62, 404: 7, 400: 1}


async def test_the_text_access_log(tmp_path: Path) -> None:
    async with shop(tmp_path, {"zone-a": 1}) as place:
        async with running(place.place, "--access-log", "upstreaminfo") as zonal:
            await get(zonal.http_port, HOST, "/item?id=1", "User-Agent: tester")
            await until(lambda: len(zonal.access_lines) == 1, seconds=5.0)
        (line,) = zonal.access_lines
        endpoint = re.escape(place.endpoints[0].label)
    assert re.fullmatch(
        r"127\.0\.0\.1 - - \[\d\d/\w{3}/\d{4}:\d\d:\d\d:\d\d \+0000\] "
        rf'"GET /item\?id=1 HTTP/1\.1" 200 \d+ "-" "tester" \d+ \d\.\d{{3}} '
        rf"\[shop-cart-80\] \[\] {endpoint} \d+ \d\.\d{{3}} 200 [0-9a-f]{{32}}",
        line,
    )


async def test_without_access_log_only_the_first_line_is_written(tmp_path: Path) -> None:
    async with shop(tmp_path, {"zone-a": 1}) as place, running(place.place, "--access-log", "off") as zonal:
        await get(zonal.http_port, HOST)
        await zonal.stop()
        assert zonal.stdout.count("\n") == 1


@pytest.mark.parametrize("log_format", ["json", "text"])
async def test_the_own_log_goes_to_standard_error(tmp_path: Path, log_format: str) -> None:
    async with shop(tmp_path) as place:
        async with running(place.place, "--log-format", log_format) as zonal:
            await get(zonal.http_port, HOST)
        lines = zonal.stderr.splitlines()
    assert any("published 1 hosts" in line for line in lines)
    if log_format == "json":
        assert {"time", "level", "logger", "message"} <= set(json.loads(lines[0]))


async def test_the_load_of_a_zone_is_told_before_it_hurts(tmp_path: Path) -> None:
    """Under `prefer-zone` one endpoint of six carries a third of the requests. No request is needed to see it."""
    async with (
        shop(tmp_path, zone_aware_routing="true", zone_policy="prefer-zone") as place,
        running(place.place, "--zone", "zone-a") as zonal,
    ):
        watch = Stopwatch()
        while not (samples := (await zonal.metrics())["zonal_zone_expected_load"].samples):
            assert watch.within(20.0), "the catalog is looked at every two seconds"
            await asyncio.sleep(0.02)
        [sample] = samples
        assert sample.labels == {"namespace": "shop", "service": "cart", "zone": "zone-a"}
        assert sample.value == pytest.approx(2.0)
        overview = (await zonal.admin("/debug/overview?parts=services")).json()
        assert overview["services"][0]["expected_load"] == pytest.approx(2.0)
        told = (await zonal.admin(f"/debug/explain?url=http%3A%2F%2F{HOST}%2F")).json()
        assert any("gets 2.0 times the average" in step for step in told["steps"])


async def test_durations_of_endpoints_are_told_by_their_zone(tmp_path: Path) -> None:
    async with shop(tmp_path) as place, running(place.place, "--zone", "zone-b") as zonal:
        for _ in place.endpoints:
            assert (await get(zonal.http_port, HOST)).status == 200
        durations = (await zonal.metrics())["zonal_upstream_duration_seconds"].samples
        counts = {each.labels["to_zone"]: each.value for each in durations if each.name.endswith("_count")}
        assert counts == {zone: float(count) for zone, count in ZONES.items()}
