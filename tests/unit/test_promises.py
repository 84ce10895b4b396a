"""The page of promises names tests that there are, and what it says of `make demo` is so."""

from __future__ import annotations

import re
import subprocess
from functools import cache

import pytest

from tests.unit.sources import ROOT

_TEST = re.compile(r"`((?:features|integration|unit)/[\w/]+\.py)::(test_\w+)`")


def promises() -> list[tuple[str, str]]:
    """Each promise with the cell that names its tests."""
    text = (ROOT / "docs/promises.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (?!promise \|)(?!-)(.+?) \| (.+) \|$", text, re.MULTILINE)
    assert len(rows) == text.count("\n| ") - text.count("\n| promise |")
    return rows


@cache
def names_in(file: str) -> frozenset[str]:
    return frozenset(re.findall(r"^(?:async )?def (test_\w+)", (ROOT / "tests" / file).read_text(), re.MULTILINE))


@pytest.mark.parametrize(("promise", "cell"), promises(), ids=[promise for promise, _ in promises()])
def test_every_promise_names_tests_that_exist(promise: str, cell: str) -> None:
    named = _TEST.findall(cell)
    assert len(named) == cell.count("`") // 2 > 0, promise
    assert [f"{file}::{name}" for file, name in named if name not in names_in(file)] == []


@pytest.mark.large
def test_the_demo_installs_only_what_runs() -> None:
    """Its first result must not wait for development tools."""
    would = subprocess.run(
        ("make", "--dry-run", "--always-make", "demo"), cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    assert "requirements/run.txt" in would
    assert "dev.txt" not in would
