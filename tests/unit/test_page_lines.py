"""Lines of pages: what goes on in an item of a list stands below its text, as a reader of the source expects."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tests.unit.sources import ROOT, relative

PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
_ITEM = re.compile(r" *(?:[*-]|\d{1,2}\.) +")
_OTHER = re.compile(r" *(?:[*-] |\d{1,2}\. |[|#>]|<!--|```)")


def misplaced(text: str) -> Iterator[int]:
    """The numbers of lines that go on in an item, and begin elsewhere than its text."""
    indent, is_code = None, False
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("```"):
            is_code = not is_code
        item = _ITEM.match(line)
        if is_code or not line.strip() or (item is None and _OTHER.match(line)):
            indent = None
        elif item is not None:
            indent = item.end()
        elif indent is not None and len(line) - len(line.lstrip()) != indent:
            yield number


def test_items_of_lists_go_on_below_their_text() -> None:
    lines = {relative(page): list(misplaced(page.read_text(encoding="utf-8"))) for page in PAGES}
    assert lines
    assert {page: numbers for page, numbers in lines.items() if numbers} == {}


def test_a_line_at_another_place_is_found() -> None:
    assert list(misplaced("* An item\n  goes on\n    here\nand there.\n\nText\n  of no item.\n")) == [3, 4]
    assert list(misplaced("1. An item\n   goes on\n\n```\n* no\nitem\n```\n")) == []
