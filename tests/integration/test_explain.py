"""Explanations of a serving process: what is told is what the next request gets, on the admin port and the command."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import pytest

from tests.integration.running import Ended, Zonal, completed, running
from tests.integration.shop import HOST, shop
from tests.integration.wire import get

URL = f"http://{HOST}/"


async def command(*arguments: str) -> Ended:
    """`zonal explain` as a process of its own."""
    return await completed("explain", *arguments)


async def explained(zonal: Zonal, url: str = URL, *fields: str) -> dict[str, Any]:
    query = urlencode([("url", url), *(("header", field) for field in fields)])
    answer = await zonal.admin(f"/debug/explain?{query}")
    assert answer.status == 200
    return dict(answer.json())


@pytest.mark.parametrize(
    ("zone", "flag", "reason", "source"),
    [
        ("zone-b", "true", "zone_local", "default"),
        ("zone-d", "true", "zone_empty", "default"),
        ("zone-b", "false", "off", "flag-off"),
    ],
)
async def test_the_next_request_gets_what_was_explained(
    tmp_path: Path, zone: str, flag: str, reason: str, source: str
) -> None:
    async with (
        shop(tmp_path, zone_aware_routing=flag) as place,
        running(place.place, "--zone", zone) as zonal,
    ):
        for number in range(1, 10):
            told = await explained(zonal)
            assert (told["reason"], told["policy_source"], told["own_zone"]) == (reason, source, zone)
            assert (await get(zonal.http_port, HOST)).status == 200
            line = (await zonal.logs(number))[-1]
            assert (line["endpoints"], line["reason"]) == ([told["endpoint"]], told["reason"])
            assert told["endpoint"] in {each["endpoint"] for each in told["pool"]}


async def test_a_folder_and_the_process_that_serves_it_tell_the_same(tmp_path: Path) -> None:
    async with (
        shop(tmp_path, zone_aware_routing="true") as place,
        running(place.place, "--zone", "zone-b") as zonal,
    ):
        admin = f"http://127.0.0.1:{zonal.admin_port}"
        live = await command(URL, "--admin", admin, "-o", "json", "--expect-zone", "zone-b")
        folder = str(place.place)
        read = await command(URL, "--source", folder, "--zone", "zone-b", "--allow-local-endpoints", "-o", "json")
    assert (live.status, live.err, read.status, read.err) == (0, "", 0, "")
    lives, reads = json.loads(live.out), json.loads(read.out)
    assert lives.pop("endpoint") in {each["endpoint"] for each in reads["pool"]}
    assert reads.pop("endpoint") is None
    steps = [step for step in lives.pop("steps") if not step.startswith("The next endpoint in turn is")]
    assert steps == reads.pop("steps")
    assert lives == reads


async def test_an_ejected_endpoint_is_told_while_serving(tmp_path: Path) -> None:
    settings = {"zone_aware_routing": "true", "ejection_consecutive_errors": "1", "ejection_time": "1h"}
    async with (
        shop(tmp_path, {"zone-a": 2, "zone-b": 1}, **settings) as place,
        running(place.place, "--zone", "zone-a") as zonal,
    ):
        gone = place.endpoints[0]
        await gone.stop()
        for _ in range(2):
            assert (await get(zonal.http_port, HOST)).status == 200
        told = await explained(zonal)
        assert gone.label not in {each["endpoint"] for each in told["pool"]}
        assert any(step.startswith(f"Endpoint {gone.label}:") and "ejected for" in step for step in told["steps"])
        (unwell,) = (await zonal.admin("/debug/model")).json()["health"]
        assert (unwell["endpoint"], unwell["state"], unwell["workers"]) == (gone.label, "ejected", 1)


async def test_edits_are_explained_as_soon_as_they_are_served(tmp_path: Path) -> None:
    async with (
        shop(tmp_path, zone_aware_routing="false") as place,
        running(place.place, "--zone", "zone-b") as zonal,
    ):
        assert (await explained(zonal))["reason"] == "off"
        place.write_settings(zone_aware_routing="true", zone_policy="prefer-zone")
        await zonal.reaches_generation(2, seconds=20.0)
        told = await explained(zonal)
        assert (told["reason"], told["policy_source"]) == ("zone_local", "configmap")


async def test_what_cannot_be_explained_ends_the_command_with_one_line(tmp_path: Path) -> None:
    async with shop(tmp_path) as place, running(place.place) as zonal:
        admin = f"http://127.0.0.1:{zonal.admin_port}"
        answer = await zonal.admin(f"/debug/explain?url={quote('no url', safe='')}")
        assert (answer.status, list(answer.json())) == (400, ["error"])
        bad = await command("no url", "--admin", admin)
        unmet = await command(URL, "--admin", admin, "--expect-service", "shop/other")
        assert (await zonal.admin("/readyz")).status == 200
    away = await command(URL, "--admin", admin)
    assert [ended.status for ended in (bad, unmet, away)] == [2, 1, 2]
    for ended in (bad, unmet, away):
        assert ended.err.startswith("zonal: ")
        assert ended.err.count("\n") == 1


async def test_asking_changes_nothing(tmp_path: Path) -> None:
    """Turns go on as if nobody had asked, and nothing is counted."""
    async with shop(tmp_path) as place, running(place.place) as zonal:
        count = len(place.endpoints)
        for _ in range(count):
            await explained(zonal)
            assert (await get(zonal.http_port, HOST)).status == 200
        labels = [label for line in await zonal.logs(count) for label in line["endpoints"]]
        assert sorted(labels) == sorted(endpoint.label for endpoint in place.endpoints)
        counted = (await zonal.metrics())["zonal_requests"].samples
        assert sum(sample.value for sample in counted if sample.name == "zonal_requests_total") == count
