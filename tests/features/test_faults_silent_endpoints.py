"""Endpoints that fall silent cost requests a moment: pods that vanish in a rolling update, and a zone that is lost."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest

from tests.features.faults.load import Ledger, Load
from tests.features.faults.stage import Record, staged
from tests.features.faults.vanishing import Pods, getting
from tests.features.faults.versions import Pair, each_pair

pytestmark = [pytest.mark.faults, pytest.mark.alone]

_RATE = 200
_ZONES = ("zone-a", "zone-b", "zone-c")
_LATE_SECONDS = 0.3  # until a slice says that a pod is gone


def _median(load: Load, since: float, until: float, share: float) -> float:
    times = sorted(answer.seconds for answer in load.answers if since <= answer.sent_at < until)
    return times[min(int(len(times) * share), len(times) - 1)]


@each_pair
async def test_pods_that_vanish_in_a_rolling_update_fail_nothing(
    tmp_path: Path, record_property: Record, pair: Pair
) -> None:
    ledger = Ledger()
    pods = Pods(pair.version, ledger)
    serving = [await pods.start(zone) for zone in _ZONES]
    try:
        async with staged(
            tmp_path, {"app": serving}, ledger=ledger, protocol=pair.version.protocol, http2_cleartext="true"
        ) as stage:
            load = pair.load(stage)
            async with getting(load, rate=_RATE):
                await asyncio.sleep(0.5)
                for old in tuple(serving):
                    await stage.change({"app": [*serving, new := await pods.start(old.zone)]})
                    await old.vanish()
                    await asyncio.sleep(_LATE_SECONDS)
                    serving = [*(each for each in serving if each is not old), new]
                    await stage.change({"app": serving})
            print(
                "max",
                max(a.seconds for a in load.answers),
                load.percentile_seconds(0.99),
                len(load.answers),
                len(load.slow(0.1)),
                stage.zonal.stderr,
            )
            assert load.failures == []
            assert max(answer.seconds for answer in load.answers) < 2.0
    finally:
        await pods.close()


@each_pair
async def test_a_silent_zone_costs_a_moment(tmp_path: Path, record_property: Record, pair: Pair) -> None:
    ledger = Ledger()
    pods = Pods(pair.version, ledger)
    serving = [await pods.start(zone) for zone in _ZONES * 2]
    try:
        async with staged(
            tmp_path, {"app": serving}, ledger=ledger, protocol=pair.version.protocol, http2_cleartext="true"
        ) as stage:
            load = pair.load(stage)
            async with getting(load, rate=_RATE):
                await asyncio.sleep(1)
                t0 = time.monotonic()
                await asyncio.gather(*(pod.vanish() for pod in serving if pod.zone == "zone-c"))
                await asyncio.sleep(14)
            for i in range(0, 14):
                print(i, _median(load, t0 + i, t0 + i + 1, 0.99), _median(load, t0 + i, t0 + i + 1, 1))

            assert load.failures == []
    finally:
        await pods.close()
