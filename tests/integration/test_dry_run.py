"""A dry run as people see it: the document, `zonal top` and `zonal explain` tell one truth about it."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path

from click.testing import CliRunner

from ingress.cli.commands import cli
from tests.integration.running import Zonal, running
from tests.integration.shop import HOST, ZONES, shop
from tests.integration.wire import get

SENTENCE = re.compile(r"dry run: would keep 100 % in the zone, saving \$[0-9.,]+ a month")


async def said(zonal: Zonal, *arguments: str) -> str:
    given = (*arguments, "--admin", f"http://127.0.0.1:{zonal.admin_port}")
    return (await asyncio.to_thread(CliRunner().invoke, cli, given)).output


async def row(zonal: Zonal) -> dict[str, object]:
    document = json.loads((await zonal.admin("/debug/overview?parts=services")).body)
    (only,) = document["services"]
    assert isinstance(only, dict)
    return only


async def test_every_view_says_what_the_policy_would_change(tmp_path: Path) -> None:
    async with (
        shop(tmp_path, zone_aware_routing="true", zone_dry_run="true", zone_transfer_prices="1000") as opened,
        running(opened.place, "--zone", "zone-a") as zonal,
    ):
        assert (await row(zonal))["tried_text"] == "dry run: no request yet"
        early = await said(zonal, "explain", f"http://{HOST}/")
        assert "dry run: would keep 100 % in the zone" in early.splitlines()[0]
        requests = 2 * sum(ZONES.values())
        for _ in range(requests):
            await get(zonal.http_port, HOST, "/")

        found = await row(zonal)
        tried = found["tried"]
        assert isinstance(tried, dict)
        assert (tried["requests"], tried["kept"]) == (requests, requests)
        assert tried["saved_dollars"] > 0.0
        assert isinstance(found["tried_text"], str)
        assert SENTENCE.fullmatch(found["tried_text"])

        told = await said(zonal, "explain", f"http://{HOST}/")
        assert SENTENCE.search(told.splitlines()[0]), told
        shown = await said(zonal, "top", "--once", "--interval", "0.2")
        assert re.search(r"^shop/cart +dry run +off ", shown, re.MULTILINE), shown
        assert SENTENCE.search(shown)


async def test_a_folder_without_traffic_says_what_would_stay(tmp_path: Path) -> None:
    async with shop(tmp_path, zone_aware_routing="true", zone_dry_run="true") as opened:
        given = (
            "explain",
            f"http://{HOST}/",
            "--source",
            str(opened.place),
            "--zone",
            "zone-a",
            "--allow-local-endpoints",
        )
        told = (await asyncio.to_thread(CliRunner().invoke, cli, given)).output
    assert "dry run: would keep 100 % in the zone" in told.splitlines()[0], told
    assert "$" not in told.splitlines()[0]
