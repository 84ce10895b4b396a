"""Which build runs: what a process says of itself, and that `ZONAL_PURE` takes the sources beside compiled modules."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import pytest

import balancer
from balancer.manifest import NAME
from balancer.runtime import deadlines
from balancer.runtime.build import COMPILED, PLAIN, build, build_told, is_checkout

ASK = "from balancer.runtime.build import build; print(build())"


def test_a_process_says_what_it_has_loaded() -> None:
    assert build() == (PLAIN if str(deadlines.__file__).endswith(".py") else COMPILED)


@pytest.mark.large
@pytest.mark.parametrize("value", ["1", "yes"])
def test_sources_are_taken_where_a_binary_stands_beside_one(tmp_path: Path, value: str) -> None:
    """The binary here is none: who takes it fails."""
    package = Path(balancer.__file__).parent
    for entry in package.iterdir():
        if entry.name not in ("runtime", "__pycache__", NAME) and not entry.name.endswith(".so"):
            _link(entry, tmp_path)
    for entry in (package / "runtime").iterdir():
        if not entry.name.endswith(tuple(EXTENSION_SUFFIXES)):
            _link(entry, tmp_path / "balancer" / "runtime")
    (tmp_path / "balancer" / "runtime" / f"deadlines{EXTENSION_SUFFIXES[0]}").write_bytes(b"no binary")
    assert _asked(tmp_path, ZONAL_PURE=value).stdout.strip() == PLAIN
    for off in ("0", ""):
        assert "of no build" in _asked(tmp_path, ZONAL_PURE=off).stderr


def test_a_build_is_told_with_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(balancer, "BUILD", "")
    assert (build(), build_told()) == (PLAIN, "plain")
    monkeypatch.setattr(balancer, "BUILD", "0123abcd")
    assert (build(), build_told()) == (COMPILED, "compiled 0123abcd")


def test_a_checkout_has_its_types_beside_its_sources() -> None:
    assert is_checkout() == Path(deadlines.__file__).with_name("deadlines.pxd").exists()


def _link(entry: Path, folder: Path) -> None:
    place = folder if folder.name == "runtime" else folder / "balancer"
    place.mkdir(parents=True, exist_ok=True)
    (place / entry.name).symlink_to(entry)


def _asked(folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    surroundings = os.environ | {"PYTHONPATH": str(folder)} | environment
    return subprocess.run(
        [sys.executable, "-c", ASK], cwd=folder, env=surroundings, capture_output=True, text=True, check=False
    )
