"""Says where the files lie that generators read and write."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
CHART = ROOT / "deploy" / "chart"


def text_of(path: Path) -> str:
    """The text of a file as it is now."""
    return path.read_text(encoding="utf-8")
