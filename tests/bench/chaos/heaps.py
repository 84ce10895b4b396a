"""How many bytes each process of a run had allocated. The processes write it themselves (`inside/sitecustomize.py`)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from tests.bench.soak.trends import Point

_INSIDE = Path(__file__).parent / "inside"
_FILE = "allocated"


def writing(environment: Mapping[str, str], place: Path) -> dict[str, str]:
    """The environment in which processes write into the folder `place`."""
    path = (str(_INSIDE), environment["PYTHONPATH"])
    return {**environment, "PYTHONPATH": os.pathsep.join(path), "CHAOS_ALLOCATED": str(place / _FILE)}


def written(place: Path) -> dict[int, list[Point]]:
    """Bytes by process, each with the time of CLOCK_MONOTONIC. A last line that is torn is left out."""
    return {int(each.suffix[1:]): _points(each.read_text("ascii")) for each in place.glob(f"{_FILE}.*")}


def _points(text: str) -> list[Point]:
    lines = (line.split() for line in text.split("\n")[:-1])
    return [Point(float(at), float(size)) for at, size in lines]
