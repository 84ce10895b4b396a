"""The architecture as a test: which way imports go, what the core may touch, and how large things may grow.

Responsible for rules about the sources as text. It must not import what it judges: a broken module is still judged.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.sources import PLANES, ROOT, SOURCES, TESTS, every_file, every_module, parsed

EMPTY_NAMES = {"base", "common", "core", "helper", "helpers", "manager", "util", "utils"}
"""Names that say nothing about what is inside."""

OPEN_ENDS = re.compile(r"\b(?:TO" r"DO|FIX" r"ME|X{3})\b")

STILL_REPLACED = {"_IDLE_GRACE_SECONDS", "_LINGER_SECONDS"}
"""Private constants of connections and workers that tests replace although they should be arguments."""

FILE_LINES = 400
FUNCTION_LINES = 60
MODULE_DOCSTRING_LINES = 8


def functions(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def line_count(node: ast.stmt) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


def words(name: str) -> set[str]:
    """The words of a snake_case or CamelCase name, in lower case."""
    return {word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)}


def test_both_planes_are_found() -> None:
    assert {module.partition(".")[0] for module in SOURCES} == set(PLANES)


def only_says(module: str) -> bool:
    """Whether nothing happens in a module: it is types and what others promise, and no function of it has a body."""
    tree = parsed(SOURCES[module])
    functions = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    bodies = (statement for function in functions for statement in function.body)
    return any(isinstance(node, ast.ClassDef) for node in tree.body) and all(
        isinstance(item, ast.Expr) and isinstance(item.value, ast.Constant) for item in bodies
    )


@pytest.mark.parametrize(
    "module", [m for m, p in SOURCES.items() if p.stem not in ("__init__", "__main__") and not only_says(m)]
)
def test_every_module_has_a_test_of_the_same_name(module: str) -> None:
    package, _, name = module.rpartition(".")
    mirror = Path(*package.split("."), f"test_{name}.py")
    places = (Path("unit") / mirror, Path("integration") / mirror, Path("integration") / mirror.name)
    assert [place for place in places if (ROOT / "tests" / place).is_file()], f"there is no tests/{places[0]}"


@every_module
def test_every_module_says_briefly_what_it_is_responsible_for(module: str) -> None:
    docstring = ast.get_docstring(parsed(SOURCES[module]))
    assert docstring
    assert len(docstring.splitlines()) <= MODULE_DOCSTRING_LINES


@pytest.mark.parametrize("module", [m for m, p in SOURCES.items() if p.stem == "__init__"])
def test_packages_re_export_nothing(module: str) -> None:
    assert len(parsed(SOURCES[module]).body) == 1


@every_file
def test_files_and_functions_stay_small(path: Path) -> None:
    file_lines = len(path.read_text(encoding="utf-8").splitlines())
    assert file_lines <= FILE_LINES
    assert {function.name for function in functions(parsed(path)) if line_count(function) > FUNCTION_LINES} == set()


def test_a_class_name_means_one_thing_in_both_planes() -> None:
    """Private names as well: a reader who searches for a name finds one class."""
    places: dict[str, list[str]] = {}
    for module, path in SOURCES.items():
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.ClassDef):
                places.setdefault(node.name, []).append(f"{module}:{node.lineno}")
    assert places
    assert {name: found for name, found in places.items() if len(found) > 1} == {}


def patched_names(tree: ast.Module) -> set[str]:
    """Dotted names of what `monkeypatch.setattr` replaces in modules of ours, in either of its spellings."""
    names = {alias.asname or alias.name.rpartition(".")[2]: alias.name for alias in every_import(tree)}
    found = set()
    for call in ast.walk(tree):
        if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "setattr"):
            continue
        match call.args[:2]:
            case [ast.Constant(value=str(name)), *_]:
                found.add(name)
            case [ast.Name(id=module), ast.Constant(value=str(name))]:
                found.add(f"{names.get(module, module)}.{name}")
    return {name for name in found if name.partition(".")[0] in PLANES}


def every_import(tree: ast.Module) -> Iterator[ast.alias]:
    """What is imported, under its whole name."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from node.names
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (ast.alias(f"{node.module}.{each.name}", each.asname or each.name) for each in node.names)


@pytest.mark.parametrize("path", TESTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_test_replaces_what_is_private_to_a_module(path: Path) -> None:
    """A time or a bound that a test needs to be another one is an argument."""
    private = {name for name in patched_names(parsed(path)) if name.rpartition(".")[2].startswith("_")}
    assert {name for name in private if name.rpartition(".")[2] not in STILL_REPLACED} == set()


@pytest.mark.parametrize(
    "lines",
    [
        'monkeypatch.setattr("ingress.demo.child._X", 1)',
        'from ingress.demo import child\nmonkeypatch.setattr(child, "_X", 1)',
        'import ingress.demo.child as child\nmonkeypatch.setattr(child, "_X", 1)',
    ],
)
def test_a_replaced_name_is_seen_in_every_spelling(lines: str) -> None:
    assert patched_names(ast.parse(lines)) == {"ingress.demo.child._X"}


@every_file
def test_nothing_is_left_for_later(path: Path) -> None:
    assert OPEN_ENDS.findall(path.read_text(encoding="utf-8")) == []


@every_file
def test_names_say_what_is_inside(path: Path) -> None:
    classes = {node.name for node in ast.walk(parsed(path)) if isinstance(node, ast.ClassDef)}
    names = {*path.relative_to(ROOT).with_suffix("").parts, *classes}
    assert {name for name in names if words(name) & EMPTY_NAMES} == set()
