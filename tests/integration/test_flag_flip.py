"""Edits of the manifest folder apply within two seconds and fail no request, and a broken file breaks nothing else."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path

from tests.integration.load import Answer, under_load
from tests.integration.manifests import ingress, path, rule
from tests.integration.running import running
from tests.integration.shop import HOST, ZONES, shop
from tests.integration.wire import get

APPLIES_WITHIN_SECONDS = 2.0


async def test_flipping_the_flag_under_load_fails_no_request(tmp_path: Path) -> None:
    async with (
        shop(tmp_path, zone_aware_routing="false") as place,
        running(place.place, "--zone", "zone-b") as zonal,
        under_load(zonal.http_port, clients=16) as load,
    ):
        await load.has_answers(600)
        flipped_at = time.monotonic()
        place.write_settings(zone_aware_routing="true")
        await zonal.reaches_generation(2, seconds=APPLIES_WITHIN_SECONDS)
        in_effect_at = time.monotonic()
        await load.has_answers(max(2_000, len(load.answers) + 600))

        back_at = time.monotonic()
        place.write_settings(zone_aware_routing="false")
        await zonal.reaches_generation(3, seconds=APPLIES_WITHIN_SECONDS)
        over_at = time.monotonic()
        await load.has_answers(len(load.answers) + 600)

    assert load.failures == []
    assert {answer.status for answer in load.answers} == {200}
    before = [answer for answer in load.answers if answer.sent_at < flipped_at]
    local = [answer for answer in load.answers if in_effect_at <= answer.sent_at < back_at]
    after = [answer for answer in load.answers if answer.sent_at >= over_at]
    assert_spread_by_endpoint(before)
    assert len(local) >= 600
    assert {answer.zone for answer in local} == {"zone-b"}
    assert_fair(local)
    assert_spread_by_endpoint(after)


def assert_spread_by_endpoint(answers: list[Answer]) -> None:
    """Every zone has the share of its endpoints, within three percent of all."""
    zones = Counter(answer.zone for answer in answers)
    for zone, endpoints in ZONES.items():
        assert abs(zones[zone] / len(answers) - endpoints / sum(ZONES.values())) < 0.03
    assert_fair(answers)


def assert_fair(answers: list[Answer]) -> None:
    """Round robin: counts of endpoints differ only by what was in flight at the edges of the window."""
    endpoints = Counter(answer.endpoint for answer in answers)
    assert max(endpoints.values()) - min(endpoints.values()) <= 16


async def test_a_broken_manifest_keeps_its_last_content_and_leaves_the_others_serving(tmp_path: Path) -> None:
    async with shop(tmp_path) as place:
        place.folder.write("blog.yaml", ingress("blog", rule("blog.test", path("/", "cart"))))
        async with running(place.place) as zonal, under_load(zonal.http_port, clients=4) as load:
            generation = await zonal.generation()
            place.folder.write_text("blog.yaml", "kind: Ingress\nmetadata: {name: [unfinished\n")
            place.folder.write("late.yaml", ingress("late", rule("late.test", path("/", "cart"))))
            await zonal.reaches_generation(generation + 1, seconds=APPLIES_WITHIN_SECONDS)

            assert (await get(zonal.http_port, "blog.test")).status == 200
            assert (await get(zonal.http_port, "late.test")).status == 200
            (finding,) = await zonal.findings()
            assert set(finding) == {"kind", "namespace", "name", "reason", "message", "effect", "severity"}
            assert (finding["kind"], finding["name"], finding["reason"]) == ("File", "blog.yaml", "FileUnreadable")
            assert "unfinished" not in finding["message"]

            place.folder.write("blog.yaml", ingress("blog", rule("blog.test", path("/new", "cart"))))
            await zonal.reaches_generation(generation + 2, seconds=APPLIES_WITHIN_SECONDS)
            assert await zonal.findings() == []
            assert (await get(zonal.http_port, "blog.test")).status == 404
    assert load.failures == []
    assert {answer.status for answer in load.answers} == {200}


async def test_an_invalid_path_takes_no_neighbour_with_it(tmp_path: Path) -> None:
    async with shop(tmp_path) as place:
        paths = path("/good", "cart"), path("bad", "cart"), path("/lost", "nowhere")
        place.folder.write("mixed.yaml", ingress("mixed", rule("mixed.test", *paths)))
        async with running(place.place) as zonal:
            assert (await get(zonal.http_port, "mixed.test", "/good")).status == 200
            assert (await get(zonal.http_port, "mixed.test", "/bad")).status == 404
            assert (await get(zonal.http_port, "mixed.test", "/lost")).status == 503
            assert (await get(zonal.http_port, HOST)).status == 200
            found = {(each["name"], each["reason"]) for each in await zonal.findings()}
            assert ("mixed", "InvalidIngress") in found
            assert len(found) == 2


async def test_endpoints_that_move_fail_no_request(tmp_path: Path) -> None:
    """A rolling update as the folder sees it: endpoints go unready before they stop."""
    async with (
        shop(tmp_path, {"zone-a": 2, "zone-b": 2}, zone_aware_routing="true") as place,
        running(place.place, "--zone", "zone-b") as zonal,
        under_load(zonal.http_port, clients=8) as load,
    ):
        await load.has_answers(200)
        generation = await zonal.generation()
        text = (place.place / "cart.yaml").read_text()
        place.folder.write_text("cart.yaml", _with_unready(text, zone="zone-b"))
        await zonal.reaches_generation(generation + 1, seconds=APPLIES_WITHIN_SECONDS)
        moved_at = time.monotonic()
        await load.has_answers(len(load.answers) + 200)
    assert load.failures == []
    assert {answer.status for answer in load.answers} == {200}
    assert {answer.zone for answer in load.answers if answer.sent_at > moved_at} == {"zone-a"}


def _with_unready(text: str, *, zone: str) -> str:
    """The manifests with every endpoint of a zone not ready; a slice of ours holds one endpoint."""
    documents = text.split("---\n")
    return "---\n".join(
        each.replace("ready: true", "ready: false") if f"zone: {zone}" in each else each for each in documents
    )
