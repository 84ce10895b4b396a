"""Processes write how many bytes they have allocated, and the run reads that."""

from __future__ import annotations

import os
from pathlib import Path

from tests.bench.chaos.heaps import writing, written
from tests.bench.soak.trends import Point


def test_lines_are_read_by_process_and_a_torn_one_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "allocated.7").write_text("1.5 1000\n2.5 2000\n3.5 30")
    (tmp_path / "allocated.8").write_text("")
    (tmp_path / "asan.7").write_text("a report")
    assert written(tmp_path) == {7: [Point(1.5, 1000.0), Point(2.5, 2000.0)], 8: []}


def test_the_environment_leads_to_the_module_that_writes(tmp_path: Path) -> None:
    found = writing({"PYTHONPATH": "/tree", "HOME": "/"}, tmp_path)
    inside, tree = found["PYTHONPATH"].split(os.pathsep)
    assert (Path(inside) / "sitecustomize.py").is_file()
    assert (tree, found["HOME"], found["CHAOS_ALLOCATED"]) == ("/tree", "/", str(tmp_path / "allocated"))
