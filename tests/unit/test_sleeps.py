"""A test waits for a state. Where it lets time pass, the time has a name or a comment that says what it is for."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
_FOR_A_TIME = re.compile(r"\bsleep\(\s*(?!0\s*\))[\d.]")  # what no file without it can have, so few are parsed
_LOOPS = ast.While | ast.For | ast.AsyncFor
_FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


def unexplained(text: str) -> Iterator[int]:
    """The lines that sleep for a number of seconds without saying why.

    In a loop a sleep is a pause between two looks, and 0 is one turn of the event loop.
    """
    lines = text.splitlines()
    for call in _outside_of_loops(ast.parse(text)):
        seconds = call.args[0] if call.args else None
        if isinstance(seconds, ast.Constant) and seconds.value != 0 and "#" not in lines[call.lineno - 1]:
            yield call.lineno


def _outside_of_loops(node: ast.AST, *, in_loop: bool = False) -> Iterator[ast.Call]:
    for child in ast.iter_child_nodes(node):
        is_sleep = isinstance(child, ast.Call) and isinstance(child.func, ast.Attribute) and child.func.attr == "sleep"
        if is_sleep and not in_loop:
            assert isinstance(child, ast.Call)
            yield child
        within = not isinstance(child, _FUNCTIONS) and (in_loop or isinstance(child, _LOOPS))
        yield from _outside_of_loops(child, in_loop=within)


@pytest.mark.parametrize(
    ("line", "is_found"),
    [
        ("time.sleep(0.5)", True),
        ("await asyncio.sleep(2)", True),
        ("await asyncio.sleep(2)  # an outage", False),
        ("await asyncio.sleep(OUTAGE_SECONDS)", False),
        ("await asyncio.sleep(0)", False),
        ("while not ready(): await asyncio.sleep(0.01)", False),
    ],
)
def test_what_is_found(line: str, is_found: bool) -> None:
    assert list(unexplained(f"async def test_it() -> None:\n    {line}\n")) == ([2] if is_found else [])
    assert not is_found or _FOR_A_TIME.search(line)


def test_each_wait_for_a_time_says_what_it_is_for() -> None:
    paths = (path for folder in ("fakes", "features", "integration", "unit") for path in (TESTS / folder).rglob("*.py"))
    texts = ((path.relative_to(TESTS), path.read_text(encoding="utf-8")) for path in sorted(paths))
    found = [f"{name}:{line}" for name, text in texts if _FOR_A_TIME.search(text) for line in unexplained(text)]
    assert found == []
