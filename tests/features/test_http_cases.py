"""Every hostile case of the file is answered as the file accepts, however its bytes are cut, and leaves no trace."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from pathlib import Path

import pytest

from tests.features.http_cases.cases import Case, all_cases
from tests.features.http_cases.differences import DIFFERENT
from tests.features.http_cases.running import Results, play_all
from tests.features.http_cases.verdicts import problems_of

_RESIDENT_BYTES = 5 * 1024 * 1024


@pytest.fixture(scope="module")
def results(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Results:
    """The chosen cases, all played before the first is judged: playing is shared, judging is not."""
    chosen = {
        case.id
        for item in request.session.items
        if hasattr(item, "callspec") and isinstance(case := item.callspec.params.get("case"), Case)
    }
    return asyncio.run(play_all([case for case in all_cases() if case.id in chosen], tmp_path_factory.mktemp("cases")))


@pytest.mark.parametrize("case", all_cases(), ids=lambda case: case.id)
def test_case(case: Case, results: Results) -> None:
    if case.side == "tls":
        assert results.handshakes[case.id] is None
        return
    different = DIFFERENT.get(case.id)
    assert problems_of(results.plays[case.id], instead=different.check if different else None) == []


def test_no_category_leaves_a_descriptor_open(results: Results) -> None:
    left = {category: trace.descriptors for category, trace in results.traces.items()}
    assert {category: counts for category, counts in left.items() if counts[0] != counts[1]} == {}


def test_no_category_keeps_memory(results: Results) -> None:
    grown = {category: trace.resident_bytes[1] - trace.resident_bytes[0] for category, trace in results.traces.items()}
    assert {category: size for category, size in grown.items() if size > _RESIDENT_BYTES} == {}


def test_the_page_for_security_teams_tells_what_was_played_and_what_differs() -> None:
    page = (Path(__file__).parents[2] / "docs" / "security.md").read_text(encoding="utf-8")
    counts = Counter(case.category for case in all_cases())
    rows = [f"| {category} | {count} |" for category, count in (*counts.items(), ("all", counts.total()))]
    reasons = [each.why for each in DIFFERENT.values()]
    assert [text for text in (*rows, *reasons) if text not in page] == []
    told = re.findall(r"^\* ([A-Z]+-\d+):", page, re.MULTILINE)
    assert sorted(told) == sorted(DIFFERENT)
