"""The sources of both planes and of the tests as text and as syntax trees, for the tests of the architecture.

It must not import what it reads: a broken module is still judged.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
PLANES = ("balancer", "ingress")


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


SOURCES = {module_name(path): path for plane in PLANES for path in sorted((ROOT / plane).rglob("*.py"))}
TESTS = sorted((ROOT / "tests").rglob("*.py"))
PYTHON_FILES = [
    *SOURCES.values(),
    *TESTS,
    *(
        path
        for folder in ("deploy", "tools", "typed", "zonal", "zonal_hooks")
        for path in sorted((ROOT / folder).rglob("*.py"))
    ),
]


def relative(path: Path) -> str:
    return str(path.relative_to(ROOT))


@dataclass(frozen=True, slots=True)
class ClassOutline:
    """What rules ask about a class: its first line, its bases as text, its members, and its attributes.

    Attributes are the names in `__slots__`, and those that methods set on `self`.
    """

    name: str
    line: int
    bases: tuple[str, ...]
    members: frozenset[str]
    attributes: frozenset[str]


@dataclass(frozen=True, slots=True)
class Outline:
    """What rules ask about many files. The trees of all files would be millions of objects, so none is kept."""

    docstring: str
    body_length: int
    functions: tuple[tuple[str, int, int], ...]
    """The name, the first line and the number of lines of each, at any level."""
    classes: tuple[ClassOutline, ...]
    """At any level."""
    sets_several: tuple[int, ...]
    """The lines of statements that set an attribute and something else; of tests, none are looked for."""
    imports: frozenset[str]
    """See `imports`."""
    only_says: bool
    """Whether nothing happens: there are types and what others promise, and no function has a body."""


@cache
def outline(path: Path) -> Outline:
    tree = ast.parse(path.read_text(encoding="utf-8"), filename=str(path))
    nodes = list(statements(tree))
    functions = [node for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    bodies = (statement for function in functions for statement in function.body)
    is_test = path.is_relative_to(ROOT / "tests")
    return Outline(
        docstring=ast.get_docstring(tree) or "",
        body_length=len(tree.body),
        functions=tuple((node.name, node.lineno, line_count(node)) for node in functions),
        classes=tuple(class_outline(node) for node in nodes if isinstance(node, ast.ClassDef)),
        sets_several=() if is_test else tuple(node.lineno for node in nodes if sets_several(node)),
        imports=frozenset(_imports(nodes)),
        only_says=any(isinstance(node, ast.ClassDef) for node in tree.body)
        and all(isinstance(item, ast.Expr) and isinstance(item.value, ast.Constant) for item in bodies),
    )


def class_outline(node: ast.ClassDef) -> ClassOutline:
    """The outline of a class in a tree."""
    return ClassOutline(
        name=node.name,
        line=node.lineno,
        bases=tuple(map(ast.unparse, node.bases)),
        members=frozenset(name for each in node.body if (name := getattr(each, "name", ""))),
        attributes=frozenset(_attributes(node)),
    )


def _attributes(node: ast.ClassDef) -> Iterator[str]:
    for statement in node.body:
        if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == "__slots__":
            said = ast.literal_eval(statement.value)
            yield from (said,) if isinstance(said, str) else said
        elif isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from _set_on_self(statement)


def _set_on_self(function: ast.AST) -> Iterator[str]:
    for statement in statements(function):
        for each in targets_of(statement):
            if isinstance(each, ast.Attribute) and isinstance(each.value, ast.Name) and each.value.id == "self":
                yield each.attr


def targets_of(statement: ast.stmt) -> list[ast.expr]:
    """What a statement gives a value, each target by itself. An expression sets names at most."""
    match statement:
        case ast.Assign(targets=targets):
            return [each for target in targets for each in _single(target)]
        case ast.AnnAssign(target=target) | ast.AugAssign(target=target) | ast.For(target=target):
            return _single(target)
        case ast.AsyncFor(target=target):
            return _single(target)
        case ast.With(items=items) | ast.AsyncWith(items=items):
            return [each for item in items if item.optional_vars is not None for each in _single(item.optional_vars)]
    return []


def sets_several(node: ast.stmt) -> bool:
    """Whether one statement sets an attribute and something else."""
    if not isinstance(node, ast.Assign):
        return False
    targets = targets_of(node)
    is_tuple = any(isinstance(target, ast.Tuple | ast.List) for target in node.targets)
    return (is_tuple or len(targets) > 1) and any(isinstance(each, ast.Attribute) for each in targets)


def _single(target: ast.expr) -> list[ast.expr]:
    if isinstance(target, ast.Tuple | ast.List):
        return [each for element in target.elts for each in _single(element)]
    return [target.value if isinstance(target, ast.Starred) else target]


def statements(tree: ast.AST) -> Iterator[ast.stmt]:
    """All statements at any level. An expression has none in it, so none is looked into."""
    for block in ("body", "handlers", "orelse", "finalbody", "cases"):
        for node in getattr(tree, block, ()):
            if isinstance(node, ast.stmt):
                yield node
            yield from statements(node)


def line_count(node: ast.stmt) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


def imports(tree: ast.Module) -> set[str]:
    """Dotted names of everything imported at any level; `from a import b` may mean a module, so it gives a and a.b."""
    return set(_imports(statements(tree)))


def _imports(nodes: Iterable[ast.stmt]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


@cache
def calls_in(path: Path) -> tuple[ast.Call, ...]:
    """All calls of a file, at any level."""
    return tuple(node for node in ast.walk(parsed(path)) if isinstance(node, ast.Call))


def is_within(name: str, package: str) -> bool:
    return name == package or name.startswith(package + ".")
