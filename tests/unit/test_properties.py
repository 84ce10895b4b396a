"""A property test takes as many examples as it says in the gate, and few after each change."""

from __future__ import annotations

import ast

from hypothesis import settings

from tests.properties import examples
from tests.unit.sources import TESTS, relative


def test_the_profile_of_each_change_bounds_them() -> None:
    before = settings.get_current_profile_name()
    try:
        settings.load_profile("gate")
        assert [examples(count).max_examples for count in (3, 2000)] == [3, 2000]
        settings.load_profile("unit")
        assert [examples(count).max_examples for count in (3, 2000)] == [3, 5]
    finally:
        settings.load_profile(before)


def test_no_test_says_a_number_of_its_own_but_slow_ones() -> None:
    """A number in `settings` holds in every profile: one test of 2,000 examples takes as long as a thousand others."""
    texts = {path: path.read_text(encoding="utf-8") for path in TESTS if path.name.startswith("test_")}
    found = {
        f"{relative(path)}:{function.name}"
        for path, text in texts.items()
        if "max_examples=" in text
        for function in ast.walk(ast.parse(text))
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef) and _says_how_many(function)
    }
    assert found == set(), "write @examples(…) of tests/properties.py"


def _says_how_many(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    decorators = [ast.unparse(each) for each in function.decorator_list]
    return any("max_examples=" in each for each in decorators) and "pytest.mark.slow" not in decorators
