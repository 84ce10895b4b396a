"""The build under chaos: the plain sources, or modules compiled with AddressSanitizer, and what that reports."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from tests.bench.chaos.heaps import writing
from typed.environments import environment_of

_ROOT = Path(__file__).parents[3]
_QUARANTINE_MEBIBYTES = 16
"""Freed memory that AddressSanitizer keeps in each process; its default of 256 MiB would take a run to fill."""

_FRAMES = 5
"""Of the stacks that AddressSanitizer notes for each allocation. It keeps every stack that differs for ever: with its
default of 30 a worker has 17,000 new ones in a minute, which look like a leak of 1 MiB. Five tell who allocated."""


class Build(NamedTuple):
    """Where the process runs, in which environment, and where its reports begin. All are None for the plain sources."""

    tree: Path | None = None
    environment: Mapping[str, str] | None = None
    reports: Path | None = None

    @property
    def name(self) -> str:
        if self.tree is None:
            return "the plain sources"
        bounds = f"quarantine of {_QUARANTINE_MEBIBYTES} MiB, stacks of {_FRAMES} frames"
        return f"the compiled build under AddressSanitizer ({bounds})"

    def found(self) -> list[str]:
        """The first lines of the reports, each with the name of its file."""
        if self.reports is None:
            return []
        return [f"{each.name}: {_summary(each)}" for each in sorted(self.reports.parent.glob(f"{self.reports.name}.*"))]


def built_with_asan(place: Path) -> Build:
    """Compile what is not compiled yet. Reports go to `place`. Raises CalledProcessError."""
    command = (sys.executable, "-m", "typed", "--flavour", "asan")
    tree = Path(subprocess.run(command, cwd=_ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout.strip())
    environment, reports = environment_of(tree, "asan"), place / "asan"
    bounds = (f"quarantine_size_mb={_QUARANTINE_MEBIBYTES}", f"malloc_context_size={_FRAMES}")
    options = (environment["ASAN_OPTIONS"], *bounds, f"log_path={reports}")
    environment = {**os.environ, **environment, "ASAN_OPTIONS": ":".join(options)}
    return Build(tree, writing(environment, place), reports)


def _summary(report: Path) -> str:
    """The line that says what was found."""
    lines = report.read_text(encoding="utf-8", errors="replace").splitlines()
    return next((line for line in lines if "ERROR: AddressSanitizer" in line), lines[0] if lines else "empty")
