"""Only what is new or worse than an earlier check fails."""

from __future__ import annotations

from pathlib import Path

import pytest

from ingress.migration.baselines import read_baseline
from ingress.migration.texts import as_json
from ingress.migration.verdicts import IngressOutcome
from tests.unit.ingress.migration.dumped import checked, nginx, settings


def test_what_was_there_does_not_count_and_what_is_worse_does(tmp_path: Path) -> None:
    closed, odd = nginx("web", enable_modsecurity="true"), settings(http_snippet="map a b;")
    before = checked(tmp_path, closed, odd)
    baseline = read_baseline(as_json(before).encode())
    assert before.worst is IngressOutcome.CLOSED
    assert baseline.worst_since(before) is IngressOutcome.WORKS
    more = nginx("more", "/more", server_alias="~a")
    assert baseline.worst_since(checked(tmp_path, closed, odd, more)) is IngressOutcome.MISROUTED
    worse = settings(enable_modsecurity="true")
    assert baseline.worst_since(checked(tmp_path, closed, worse)) is IngressOutcome.CLOSED


def test_a_finding_about_another_object_counts_once(tmp_path: Path) -> None:
    good = read_baseline(as_json(checked(tmp_path, nginx("web"))).encode())
    broken = nginx("broken")
    broken["spec"]["rules"] = "none"
    found = checked(tmp_path, nginx("web"), broken)
    assert good.worst_since(found) is IngressOutcome.CLOSED
    assert read_baseline(as_json(found).encode()).worst_since(found) is IngressOutcome.WORKS


@pytest.mark.parametrize("data", [b"", b"{}", b'{"ingresses": [], "config_map": {"name": "a", "verdict": "odd"}}'])
def test_other_files_are_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match="zonal check"):
        read_baseline(data)
