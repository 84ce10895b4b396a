"""A file that is not as it would be made is found; tests/unit/test_docs.py looks at all of them."""

from __future__ import annotations

from pathlib import Path

from tools.generators import stale


def test_a_file_that_is_missing_or_different_is_stale(tmp_path: Path) -> None:
    same, other, missing = (tmp_path / name for name in ("same", "other", "missing"))
    same.write_text("a", encoding="utf-8")
    other.write_text("b", encoding="utf-8")
    assert stale(lambda: {same: "a", other: "a", missing: "a"}) == {other: "a", missing: "a"}
