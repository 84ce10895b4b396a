"""A real Prometheus that scrapes a process every second, and what it answers to queries."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import yaml

from tests.fakes.stopwatch import Stopwatch
from tests.integration.wire import get

PROMETHEUS = shutil.which("prometheus")
PATIENCE_SECONDS = 60.0  # a scrape takes a second, and a rate needs two


@asynccontextmanager
async def prometheus(place: Path, *targets: int, rules: Path | None = None) -> AsyncIterator[int]:
    """The port of a Prometheus that scrapes ports of loopback every second, with `rules`; killed at the end."""
    assert PROMETHEUS is not None
    scrape = {"job_name": "zonal", "static_configs": [{"targets": [f"127.0.0.1:{port}" for port in targets]}]}
    often = {"scrape_interval": "1s", "evaluation_interval": "1s"}
    config = {"global": often, "scrape_configs": [scrape], "rule_files": [str(rules)] if rules else []}
    (place / "prometheus.yaml").write_text(yaml.safe_dump(config))
    log = place / "prometheus.log"
    with log.open("wb") as written:
        process = await asyncio.create_subprocess_exec(
            PROMETHEUS,
            f"--config.file={place / 'prometheus.yaml'}",
            f"--storage.tsdb.path={place / 'data'}",
            "--web.listen-address=127.0.0.1:0",
            stdout=written,
            stderr=written,
            env={**os.environ, "no_proxy": "*"},
        )
    try:
        watch = Stopwatch()
        while (found := re.search(r'"Listening on" address=127\.0\.0\.1:(\d+)', log.read_text())) is None:
            assert process.returncode is None, log.read_text()
            assert watch.within(PATIENCE_SECONDS), log.read_text()
            await asyncio.sleep(0.05)
        yield int(found[1])
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def answered(port: int, query: str) -> list[Any]:
    """What Prometheus answers to a query now; values that are no number count as no answer."""
    found = (await _asked(port, f"query?query={quote(query)}"))["result"]
    return [each for each in found if each["value"][1] != "NaN"]


async def rules_of(port: int) -> list[Any]:
    """Every rule with its health, and of an alert also the state and the alerts."""
    return [rule for group in (await _asked(port, "rules"))["groups"] for rule in group["rules"]]


async def _asked(port: int, what: str) -> Any:
    answer = await get(port, "127.0.0.1", f"/api/v1/{what}")
    assert answer.status == 200, answer.body
    return json.loads(answer.body)["data"]
