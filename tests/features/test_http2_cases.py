"""Every case of HTTP/2 on the wire is answered as the file accepts, however its bytes are cut, by both engines."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.features.http2.cases import Case, all_cases
from tests.features.http2.differences import DIFFERENT
from tests.features.http2.judging import problems_of
from tests.features.http2.running import ENGINES, Plays, play_all


@pytest.fixture(scope="module")
def plays(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Plays:
    """The chosen cases, all played before the first is judged: playing is shared, judging is not."""
    chosen = {
        (str(item.callspec.params["engine"]), case.id)
        for item in request.session.items
        if hasattr(item, "callspec") and isinstance(case := item.callspec.params.get("case"), Case)
    }
    ordered = [(engine, case) for engine in ENGINES for case in all_cases() if (engine, case.id) in chosen]
    return asyncio.run(play_all(ordered, tmp_path_factory.mktemp("http2")))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("case", all_cases(), ids=lambda case: case.id)
def test_case(case: Case, engine: str, plays: Plays) -> None:
    assert [problem for play in plays[engine, case.id] for problem in problems_of(play)] == []


def test_the_page_for_security_teams_tells_what_differs() -> None:
    page = (Path(__file__).parents[2] / "docs" / "security.md").read_text(encoding="utf-8")
    assert [different.why for different in DIFFERENT.values() if different.why not in page] == []
