"""An endpoint whose machine is gone costs a few requests a moment, and no later one anything."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fakes.endpoints import Script
from tests.features.faults.holes import LosableEndpoint
from tests.features.faults.http2_endpoints import Http2LosableEndpoint
from tests.features.faults.load import Ledger, honest
from tests.features.faults.stage import Record, staged
from tests.features.faults.versions import HTTP1, Pair, Version, each_pair

pytestmark = [pytest.mark.faults, pytest.mark.alone]

_RATE = 60
_WAITED_SECONDS = 0.1
_LONG_SECONDS = 1.5  # longer than a request waits for a connection while another endpoint remains
_SLOW_SECONDS = 0.5  # a time-out of one second, and nothing else, takes so long, also on a busy machine


def _losable(version: Version, script: Script) -> LosableEndpoint | Http2LosableEndpoint:
    return LosableEndpoint(script) if version is HTTP1 else Http2LosableEndpoint(script)


@pytest.mark.slow
@each_pair
async def test_u02_a_black_hole_costs_a_few_requests_a_moment(
    tmp_path: Path, record_property: Record, pair: Pair
) -> None:
    ledger, version = Ledger(), pair.version
    async with (
        version.endpoint(honest(ledger, "first")) as first,
        version.endpoint(honest(ledger, "second")) as second,
        _losable(version, honest(ledger, "lost")) as lost,
        staged(
            tmp_path,
            {"app": [first, second, lost]},
            ledger=ledger,
            protocol=version.protocol,
            proxy_connect_timeout="4",
            ejection_time="2s",
            http2_cleartext="true",
        ) as stage,
    ):
        await lost.lose()
        load = pair.load(stage)
        await load.steady(rate=_RATE, seconds=8.0)
    waited = load.slow(_WAITED_SECONDS)
    record_property("that waited for it", len(waited))
    record_property("slowest in seconds", max(answer.seconds for answer in load.answers))
    assert load.failures == []
    assert load.slow(_LONG_SECONDS) == [], "none waited for the connect time-out"
    assert len(waited) <= _RATE // 2, "a third of those that were sent before it was ejected, and a few probes"


@pytest.mark.slow
@each_pair
async def test_u09_a_machine_that_vanishes_fails_at_most_what_was_in_flight(
    tmp_path: Path, record_property: Record, pair: Pair
) -> None:
    ledger, version = Ledger(), pair.version
    async with (
        version.endpoint(honest(ledger, "first")) as first,
        version.endpoint(honest(ledger, "second")) as second,
        _losable(version, honest(ledger, "lost", delay_seconds=0.01)) as lost,
        staged(
            tmp_path,
            {"app": [first, second, lost]},
            ledger=ledger,
            protocol=version.protocol,
            proxy_connect_timeout="1",
            proxy_read_timeout="1",
            http2_cleartext="true",
        ) as stage,
    ):
        in_flight, later = pair.load(stage), pair.load(stage)
        await in_flight.wave(60, posts=False)
        await lost.lose()
        await in_flight.wave(30, posts=False)
        await later.wave(60, posts=False)
        in_flight.close()
        later.close()
    record_property("504 of 30", len(in_flight.failures))
    assert all("status 504" in failure for failure in in_flight.failures)
    assert 5 <= len(in_flight.failures) + len(in_flight.slow(_SLOW_SECONDS)) <= 15, "a third of the wave"
    assert max(answer.seconds for answer in in_flight.answers) < 1.5
    assert later.failures == []
    assert later.slow(_SLOW_SECONDS) == [], "the lost endpoint is ejected, and its idle connections are not used"
