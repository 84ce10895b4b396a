"""Each attribute is set by a statement of its own: a reader finds it at the beginning of a line.

Several in one statement save lines, and a file that is too long is cut by question instead.
"""

from __future__ import annotations

import ast

import pytest

from tests.unit.sources import ROOT, SOURCES, outline, relative, sets_several

TOOLS = sorted((ROOT / "tools").rglob("*.py"))


def test_each_attribute_is_set_by_a_statement_of_its_own() -> None:
    found = {f"{relative(path)}:{line}" for path in [*SOURCES.values(), *TOOLS] for line in outline(path).sets_several}
    assert found == set(), "write one assignment a line"


@pytest.mark.parametrize(
    "text",
    [
        "self.a = self.b = x",
        "self.a = b = x",
        "b = self.a = x",
        "self.a, self.b = x, y",
        "b, self.a = f()",
        "(self.a,) = f()",
        "[self.a, b] = f()",
        "(b, (c, self.a)) = f()",
        "b, *self.a = f()",
        "b = c, self.a = f()",
    ],
)
def test_several_in_one_statement_are_found(text: str) -> None:
    (node,) = ast.parse(text).body
    assert sets_several(node)


@pytest.mark.parametrize(
    "text", ["self.a = x", "self.a: int = x", "a, b = b, a", "a = b = 0", "self.a[0], b = x", "self.a += 1"]
)
def test_others_are_not(text: str) -> None:
    (node,) = ast.parse(text).body
    assert not sets_several(node)
