"""Some cases of Gateway API on a real process: a folder, a worker process, statuses from the admin port."""

from __future__ import annotations

import pytest

from tests.features.gateway.cases import all_cases
from tests.features.gateway.playing import play_all
from tests.features.gateway.process_stage import staged_process

CHOSEN = (
    "gateway-status/listener-added",
    "gateway-status/listener-removed",
    "grpcroute/methods",
    "listenersets/next-in-line",
    "reference-grants/second-grant-remains",
    "tls-listeners/grant-by-name",
    "weights/half-invalid",
    "zones/local",
    "zones/tcp",
)


@pytest.mark.slow
def test_a_process_serves_gateways_of_a_folder() -> None:
    cases = [each for each in all_cases() if each.id in CHOSEN]
    assert len(cases) == len(CHOSEN)
    assert {name: found for name, found in play_all(cases, staged_process).items() if found} == {}
