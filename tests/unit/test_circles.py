"""No modules import each other, not even for their types: each can be read, tested and moved without the other."""

from __future__ import annotations

from collections.abc import Mapping, Set

import pytest

from tests.unit.sources import SOURCES, outline


def circles(graph: Mapping[str, Set[str]]) -> list[list[str]]:
    """The sets of modules that lead to each other, in the order of their names (Kosaraju)."""
    behind: dict[str, set[str]] = {module: set() for module in graph}
    for module, names in graph.items():
        for name in names:
            behind[name].add(module)
    order: list[str] = []
    seen: set[str] = set()
    for module in graph:
        order += _reached(module, graph, seen)
    seen.clear()
    found = [_reached(module, behind, seen) for module in reversed(order)]
    return sorted(sorted(each) for each in found if len(each) > 1)


def _reached(start: str, graph: Mapping[str, Set[str]], seen: set[str]) -> list[str]:
    """What `start` leads to and was not seen before, each behind all that it leads to."""
    if start in seen:
        return []
    seen.add(start)
    path, order = [(start, iter(sorted(graph[start])))], list[str]()
    while path:
        name = next((each for each in path[-1][1] if each not in seen), None)
        if name is None:
            order.append(path.pop()[0])
        else:
            seen.add(name)
            path.append((name, iter(sorted(graph[name]))))
    return order


def test_no_modules_import_each_other() -> None:
    """Imports for types alone count, and so do those inside of functions."""
    modules = {module for module, path in SOURCES.items() if path.stem != "__init__"}
    assert circles({module: outline(SOURCES[module]).imports & modules - {module} for module in modules}) == []


@pytest.mark.parametrize(
    ("graph", "found"),
    [
        ({"a": {"b"}, "b": {"c"}, "c": set()}, []),
        ({"a": {"b"}, "b": {"c"}, "c": {"b"}}, [["b", "c"]]),
        ({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"e", "a"}, "e": {"d"}}, [["a", "b", "c"], ["d", "e"]]),
    ],
)
def test_a_circle_of_imports_is_seen(graph: dict[str, set[str]], found: list[list[str]]) -> None:
    assert circles(graph) == found
