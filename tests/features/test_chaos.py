"""Chaos for half a minute on the sources: the harness plays everybody, and what it must not find it does not find.

`make chaos` plays longer, under AddressSanitizer, judges memory as well, and takes the clock's word for what is late.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.bench.chaos.building import Build
from tests.bench.chaos.course import Options, follow
from tests.bench.chaos.goals import judged
from tests.fakes.stopwatch import unhurried

_SECONDS = 30.0


@pytest.mark.slow
@pytest.mark.faults
@pytest.mark.alone
async def test_nobody_hostile_harms_a_modest_tenant(tmp_path: Path) -> None:
    options = Options(seconds=_SECONDS, workers="2", rate=20, seed=1, limited=unhurried)
    outcome = await follow(options, Build(), tmp_path)
    missed = [verdict for verdict in judged(outcome) if not verdict.is_met and "resident set" not in verdict.goal]
    assert missed == [], (outcome.trouble, [served.failures for served in outcome.beside])
