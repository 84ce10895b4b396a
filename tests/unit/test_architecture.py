"""The architecture as a test: which way imports go, what the core may touch, and how large things may grow.

Responsible for rules about the sources as text. It must not import what it judges: a broken module is still judged.
A rule that holds for every file is one test that names each file that breaks it, because thousands of tests cost more
than what they check.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.sources import PLANES, PYTHON_FILES, ROOT, SOURCES, TESTS, outline, relative

EMPTY_NAMES = {"base", "common", "core", "helper", "helpers", "manager", "util", "utils"}
"""Names that say nothing about what is inside."""

OPEN_WORDS = ("TO" + "DO", "FIX" + "ME", "X" * 3)
OPEN_ENDS = re.compile(rf"\b(?:{'|'.join(OPEN_WORDS)})\b")

SOURCE_LINES = 380
TEST_LINES = 400
FUNCTION_LINES = 60
MODULE_DOCSTRING_LINES = 8


def words(name: str) -> set[str]:
    """The words of a snake_case or CamelCase name, in lower case."""
    return {word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)}


def test_both_planes_are_found() -> None:
    assert {module.partition(".")[0] for module in SOURCES} == set(PLANES)


def places_of_a_test(module: str) -> tuple[Path, ...]:
    """Where a module's own test may be, below `tests`; the first is the usual place."""
    package, _, name = module.rpartition(".")
    mirror = Path(*package.split("."), f"test_{name}.py")
    return Path("unit") / mirror, Path("integration") / mirror, Path("integration") / mirror.name


def test_every_module_has_a_test_of_the_same_name() -> None:
    judged = [m for m, p in SOURCES.items() if p.stem not in ("__init__", "__main__") and not outline(p).only_says]
    missing = {
        module: f"there is no tests/{places[0]}"
        for module, places in ((module, places_of_a_test(module)) for module in judged)
        if not any((ROOT / "tests" / place).is_file() for place in places)
    }
    assert judged
    assert missing == {}


def test_every_module_says_briefly_what_it_is_responsible_for() -> None:
    docstrings = {module: outline(path).docstring for module, path in SOURCES.items()}
    lines = {module: len(docstring.splitlines()) for module, docstring in docstrings.items()}
    assert {module: count for module, count in lines.items() if not 1 <= count <= MODULE_DOCSTRING_LINES} == {}


CHOOSES_SOURCES = "balancer/__init__.py"
"""Decides which files its modules come from, so it must do so before any of them. It offers no name to others."""


def test_packages_re_export_nothing() -> None:
    packages = [p for p in SOURCES.values() if p.stem == "__init__" and relative(p) != CHOOSES_SOURCES]
    assert packages
    assert [relative(path) for path in packages if outline(path).body_length != 1] == []


def test_files_stay_small() -> None:
    lines = {relative(path): len(path.read_text(encoding="utf-8").splitlines()) for path in PYTHON_FILES}
    most = {path: TEST_LINES if path.startswith("tests/") else SOURCE_LINES for path in lines}
    assert {path: count for path, count in lines.items() if count > most[path]} == {}


@pytest.mark.large
def test_functions_stay_small() -> None:
    """Reads the syntax tree of every test, which no other rule does."""
    lines = {
        f"{relative(path)}:{line} {name}": count
        for path in PYTHON_FILES
        for name, line, count in outline(path).functions
    }
    assert {function: count for function, count in lines.items() if count > FUNCTION_LINES} == {}


def test_a_class_name_means_one_thing_in_both_planes() -> None:
    """Private names as well: a reader who searches for a name finds one class."""
    places: dict[str, list[str]] = {}
    for module, path in SOURCES.items():
        for each in outline(path).classes:
            places.setdefault(each.name, []).append(f"{module}:{each.line}")
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


def test_no_test_replaces_what_is_private_to_a_module() -> None:
    """A time or a bound that a test needs to be another one is an argument."""
    texts = {path: path.read_text(encoding="utf-8") for path in TESTS}
    last_words = {
        (relative(path), name, name.rpartition(".")[2])
        for path, text in texts.items()
        if "setattr" in text
        for name in patched_names(ast.parse(text))
    }
    assert last_words
    assert {(path, name) for path, name, last in last_words if last.startswith("_")} == set()


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


def test_nothing_is_left_for_later() -> None:
    texts = {relative(path): path.read_text(encoding="utf-8") for path in PYTHON_FILES}
    # To look for a word is a tenth of the time of a search, and no file has any.
    found = {path: OPEN_ENDS.findall(text) for path, text in texts.items() if any(word in text for word in OPEN_WORDS)}
    assert texts
    assert {path: ends for path, ends in found.items() if ends} == {}


def test_a_docstring_names_its_thing() -> None:
    """A reader comes from anywhere, so nothing before the docstring can be what a pronoun stands for."""
    riddles = re.compile(r'^ *"""(?:It|They|Those|That of|The same)\b.*', re.MULTILINE)
    found = {module: riddles.findall(path.read_text(encoding="utf-8")) for module, path in SOURCES.items()}
    assert {module: lines for module, lines in found.items() if lines} == {}


@pytest.mark.large  # as the rule about functions
def test_names_say_what_is_inside() -> None:
    names = {
        (relative(path), name)
        for path in PYTHON_FILES
        for name in (*path.relative_to(ROOT).with_suffix("").parts, *(each.name for each in outline(path).classes))
    }
    assert {(path, name) for path, name in names if words(name) & EMPTY_NAMES} == set()
