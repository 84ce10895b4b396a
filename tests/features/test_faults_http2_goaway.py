"""A connection that has had its last request says GOAWAY, and every request on it is answered all the same."""

from __future__ import annotations

from pathlib import Path

from tests.fakes.endpoints import ScriptedEndpoint
from tests.features.faults.http2_load import Http2Load
from tests.features.faults.load import Ledger, honest
from tests.features.faults.stage import staged


async def test_no_request_is_lost_with_a_connection_that_goes_away(tmp_path: Path) -> None:
    """Several are under way whenever one is the last: they take 50 ms, and a hundred come in a second."""
    ledger = Ledger()
    settings = {"http2_cleartext": "true", "keep_alive_requests": "20"}
    async with (
        ScriptedEndpoint(honest(ledger, delay_seconds=0.05)) as endpoint,
        staged(tmp_path, {"app": [endpoint]}, ledger=ledger, **settings) as stage,
    ):
        load = Http2Load(stage.port)
        await load.steady(rate=100, seconds=1.0)
        assert load.failures == []
        assert len(load.answers) == 100
