"""The sources of both planes and of the tests as text and as syntax trees, for the tests of the architecture.

It must not import what it reads: a broken module is still judged.
"""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
PLANES = ("balancer", "ingress")


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


SOURCES = {module_name(path): path for plane in PLANES for path in sorted((ROOT / plane).rglob("*.py"))}
TESTS = sorted((ROOT / "tests").rglob("*.py"))
PYTHON_FILES = [*SOURCES.values(), *TESTS, *sorted((ROOT / "deploy").rglob("*.py"))]


def relative(path: Path) -> str:
    return str(path.relative_to(ROOT))


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def is_within(name: str, package: str) -> bool:
    return name == package or name.startswith(package + ".")
