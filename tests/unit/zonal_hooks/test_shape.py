"""The package of hooks stands alone: it imports nothing of the proxy, and has types and tests."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.sources import ROOT, is_within, outline

MODULES = sorted((ROOT / "zonal_hooks").glob("*.py"))
LIBRARIES = {"msgspec", "pytest", "zonal_hooks"}


def test_it_says_that_it_has_types() -> None:
    assert (ROOT / "zonal_hooks" / "py.typed").is_file()


def test_it_imports_nothing_of_the_proxy_and_two_libraries() -> None:
    imported = {(path.stem, name) for path in MODULES for name in outline(path).imports}
    foreign = {
        (module, name)
        for module, name in imported
        if name.partition(".")[0] not in sys.stdlib_module_names
        and not any(is_within(name, library) for library in LIBRARIES)
    }
    assert imported
    assert foreign == set()


def test_every_module_has_a_test_of_its_name() -> None:
    own = Path(__file__).parent
    missing = [
        path.stem for path in MODULES if path.stem != "__init__" and not (own / f"test_{path.stem}.py").is_file()
    ]
    assert missing == []


@pytest.mark.parametrize("what", ["asyncio", "pytest"])
def test_a_hook_costs_no_heavy_import(what: str) -> None:
    """Whoever writes `from zonal_hooks import hook` gets neither an event loop nor pytest."""
    code = f"import sys; import zonal_hooks; print({what!r} in sys.modules)"
    told = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "False"
