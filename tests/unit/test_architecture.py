"""The architecture as a test: which way imports go, what the core may touch, and how large things may grow.

Responsible for rules about the sources as text. It must not import what it judges: a broken module is still judged.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PLANES = ("balancer", "ingress")

NEVER_IMPORTS = {
    "balancer": {"ingress"},
    "ingress.sources": {"balancer", "ingress.translation"},
}
"""A package and what nothing in it may import, at any level."""

ONLY_IN = {"kubernetes_asyncio": "ingress.sources.kubernetes"}
"""A library and the one package that may import it."""

CORE = (
    "balancer.accesslines",
    "balancer.affinity",
    "balancer.asking",
    "balancer.backend",
    "balancer.balancers",
    "balancer.budget",
    "balancer.canary",
    "balancer.choosing",
    "balancer.errors",
    "balancer.explaining",
    "balancer.foreseeing",
    "balancer.health",
    "balancer.http1.chunked",
    "balancer.http1.collecting",
    "balancer.http1.consumers",
    "balancer.http1.fields",
    "balancer.http1.framing",
    "balancer.http1.heads",
    "balancer.http1.proxyprotocol",
    "balancer.http1.responses",
    "balancer.http1.target",
    "balancer.live",
    "balancer.loads",
    "balancer.matching",
    "balancer.members",
    "balancer.metrics.definitions",
    "balancer.metrics.textformat",
    "balancer.model",
    "balancer.patterns",
    "balancer.plans",
    "balancer.workers.background",
    "balancer.workers.clienthello",
    "balancer.workers.deltas",
    "balancer.workers.lifecycle",
    "balancer.workers.messages",
    "balancer.workers.reports",
    "balancer.workers.shipping",
    "balancer.proxy.answers",
    "balancer.proxy.retries",
    "balancer.ring",
    "balancer.rotation",
    "balancer.routing",
    "balancer.sessions",
    "balancer.spilling",
    "balancer.telling",
    "balancer.turns",
    "balancer.variables",
    "balancer.zones",
    "ingress.admission",
    "ingress.backend_settings",
    "ingress.endpoint_hints",
    "ingress.evidence",
    "ingress.findings",
    "ingress.holdoff",
    "ingress.inventory",
    "ingress.known_names",
    "ingress.names",
    "ingress.node_status",
    "ingress.objects",
    "ingress.quantities",
    "ingress.settings",
    "ingress.sources.contract",
    "ingress.sources.documents",
    "ingress.sources.events",
    "ingress.sources.kubernetes.backlog",
    "ingress.sources.kubernetes.decoding",
    "ingress.sources.kubernetes.gathering",
    "ingress.sources.kubernetes.lines",
    "ingress.sources.kubernetes.node_lookups",
    "ingress.sources.kubernetes.patience",
    "ingress.sources.kubernetes.reflecting",
    "ingress.sources.kubernetes.replica",
    "ingress.sources.kubernetes.resources",
    "ingress.sources.kubernetes.scope_events",
    "ingress.translation",
    "ingress.values",
    "ingress.writing.addresses",
    "ingress.writing.bucket",
    "ingress.writing.electing",
    "ingress.writing.lease",
    "ingress.writing.mode_notices",
    "ingress.writing.notices",
    "ingress.writing.statuses",
    "ingress.zone_modes",
    "ingress.zone_settings",
    "ingress.zone_values",
)
"""Modules, and packages with all that is in them, that decide and do nothing else."""

IMPURE = {
    "aiohttp",
    "asyncio",
    "kubernetes_asyncio",
    "logging",
    "os",
    "prometheus_client",
    "random",
    "socket",
    "threading",
    "time",
    "uvloop",
}
"""What the core gets as arguments or leaves to the shell."""

EMPTY_NAMES = {"base", "common", "core", "helper", "helpers", "manager", "util", "utils"}
"""Names that say nothing about what is inside."""

OPEN_ENDS = re.compile(r"\b(?:TO" r"DO|FIX" r"ME|X{3})\b")

FILE_LINES = 400
FUNCTION_LINES = 60
MODULE_DOCSTRING_LINES = 8


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


SOURCES = {module_name(path): path for plane in PLANES for path in sorted((ROOT / plane).rglob("*.py"))}
PYTHON_FILES = [*SOURCES.values(), *sorted((ROOT / "tests").rglob("*.py")), *sorted((ROOT / "deploy").rglob("*.py"))]

every_module = pytest.mark.parametrize("module", SOURCES)
every_file = pytest.mark.parametrize("path", PYTHON_FILES, ids=lambda path: str(path.relative_to(ROOT)))


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def imports(tree: ast.Module) -> set[str]:
    """Dotted names of everything imported at any level; `from a import b` may mean a module, so it gives a and a.b."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
            found.update(f"{node.module}.{alias.name}" for alias in node.names)
    return found


def is_within(name: str, package: str) -> bool:
    return name == package or name.startswith(package + ".")


def forbidden_imports(tree: ast.Module, packages: set[str]) -> set[str]:
    return {name for name in imports(tree) for package in packages if is_within(name, package)}


def is_core(module: str) -> bool:
    return any(is_within(module, core) for core in CORE)


def functions(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def line_count(node: ast.stmt) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


def words(name: str) -> set[str]:
    """The words of a snake_case or CamelCase name, in lower case."""
    return {word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)}


def test_both_planes_are_found() -> None:
    assert {module.partition(".")[0] for module in SOURCES} == set(PLANES)


@pytest.mark.parametrize("core", CORE)
def test_every_entry_of_the_core_exists(core: str) -> None:
    assert core in SOURCES


@every_module
def test_imports_go_one_way(module: str) -> None:
    for package, others in NEVER_IMPORTS.items():
        if is_within(module, package):
            assert not forbidden_imports(parsed(SOURCES[module]), others)


@every_module
def test_a_library_with_a_home_stays_there(module: str) -> None:
    for library, home in ONLY_IN.items():
        if not is_within(module, home):
            assert not forbidden_imports(parsed(SOURCES[module]), {library})


@pytest.mark.parametrize("module", [module for module in SOURCES if is_core(module)])
def test_the_core_touches_neither_the_world_nor_the_shell(module: str) -> None:
    tree = parsed(SOURCES[module])
    assert not forbidden_imports(tree, IMPURE)
    assert not {name for name in imports(tree) if name in SOURCES and name not in PLANES and not is_core(name)}


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


@every_file
def test_nothing_is_left_for_later(path: Path) -> None:
    assert OPEN_ENDS.findall(path.read_text(encoding="utf-8")) == []


@every_file
def test_names_say_what_is_inside(path: Path) -> None:
    classes = {node.name for node in ast.walk(parsed(path)) if isinstance(node, ast.ClassDef)}
    names = {*path.relative_to(ROOT).with_suffix("").parts, *classes}
    assert {name for name in names if words(name) & EMPTY_NAMES} == set()


@pytest.mark.parametrize(
    "line",
    [
        "import ingress",
        "import ingress.settings as other",
        "from ingress import settings",
        "from ingress.settings import ClusterSettings",
        "def late():\n    from ingress import settings",
        "if TYPE_CHECKING:\n    import ingress.app",
    ],
)
def test_an_import_is_seen_in_every_spelling(line: str) -> None:
    assert forbidden_imports(ast.parse(line), {"ingress"})


def test_a_name_that_only_begins_alike_is_another_name() -> None:
    assert not forbidden_imports(
        ast.parse("import timeit, ingress_tools\nfrom osmosis import x"), {"time", "os", "ingress"}
    )
