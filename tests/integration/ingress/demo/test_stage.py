"""The demo set up for real: a phase entered and measured, and nothing left afterwards."""

from __future__ import annotations

from ingress.demo.phases import PHASES
from ingress.demo.stage import CALLS_A_PHASE, open_stage

FLAG_OFF, _, ZONE_DOWN, ZONE_BACK = PHASES


async def test_a_zone_goes_down_without_a_failed_request_and_the_stage_leaves_nothing_behind() -> None:
    async with open_stage(own_zone="zone-b", http_port=0) as stage:
        down, calls = await stage.measure(ZONE_DOWN, requests=40)
        folder = stage.folder
        assert {place.name for place in folder.iterdir()} >= {"settings.yaml", "endpoints-zone-b.yaml"}

    assert (down.failed, down.change.failed) == (0, 0)
    assert down.by_to_zone == {"zone-a": 20, "zone-c": 20}
    assert down.reasons == {"zone_empty": 40}
    assert down.change.requests > 0
    assert (calls.requests, calls.failed, calls.change.failed) == (CALLS_A_PHASE, 0, 0)
    assert calls.by_to_zone == {"zone-a": CALLS_A_PHASE // 2, "zone-c": CALLS_A_PHASE // 2}
    assert calls.reasons == {"zone_empty": CALLS_A_PHASE}
    assert calls.change.requests > 0
    assert not folder.exists()


async def test_a_gateway_and_its_routes_serve_as_ingresses_do() -> None:
    async with open_stage(own_zone="zone-b", http_port=0, gateway=True) as stage:
        down, calls = await stage.measure(ZONE_DOWN, requests=40)
        text = (stage.folder / "cluster.yaml").read_text()

    assert "kind: HTTPRoute" in text
    assert "kind: Ingress\n" not in text
    assert (down.failed, down.change.failed, calls.failed, calls.change.failed) == (0, 0, 0, 0)
    assert down.reasons == {"zone_empty": 40}
    assert calls.reasons == {"zone_empty": CALLS_A_PHASE}
