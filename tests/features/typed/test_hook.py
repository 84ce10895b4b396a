"""What the hook of the wheel makes: a compiled wheel, a pure one if asked for, and never the one for the other."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest

from balancer.manifest import checked_build
from tests.features.typed.project import project_at
from typed.modules import SUFFIX

_EDITABLE = (
    "from hatchling.build import build_editable as build\n"
    "import os; os.makedirs('dist'); print(build('dist'))"  # what pip calls for `pip install -e .`
)


def _wheel(project: Path, *command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Runs the build, and returns how it ended. Wheels are in `dist`."""
    given = {name: value for name, value in os.environ.items() if name != "ZONAL_PURE"}
    return subprocess.run(
        [sys.executable, *(command or ("-m", "hatchling", "build", "-t", "wheel"))],
        cwd=project,
        env=given | {"SOURCE_DATE_EPOCH": "1700000000"} | environment,
        capture_output=True,
        text=True,
        check=False,
    )


def _made(project: Path) -> list[Path]:
    return sorted((project / "dist").glob("*.whl"))


def _names(wheel: Path) -> set[str]:
    with ZipFile(wheel) as opened:
        return {name for name in opened.namelist() if name.startswith("balancer/")}


def _sbom(wheel: Path) -> dict[str, Any]:
    """The SBOM of a wheel, which stands where PEP 770 says."""
    with ZipFile(wheel) as opened:
        (name,) = (name for name in opened.namelist() if ".dist-info/sboms/" in name)
        document: dict[str, Any] = json.loads(opened.read(name))
        return document


def test_without_a_compiler_no_wheel_is_made_and_the_way_out_is_named(tmp_path: Path) -> None:
    project = project_at(tmp_path / "project")
    ended = _wheel(project, CC="/no/compiler")
    assert ended.returncode == 1
    assert "/no/compiler --version does not run" in ended.stderr
    assert "ZONAL_PURE=1" in ended.stderr
    assert "Traceback" not in ended.stderr
    assert not _made(project)


@pytest.mark.parametrize("value", ["1", "yes"])
def test_the_pure_wheel_is_asked_for_and_needs_no_compiler(tmp_path: Path, value: str) -> None:
    project = project_at(tmp_path / "project")
    assert _wheel(project, CC="/no/compiler", ZONAL_PURE=value).returncode == 0
    (wheel,) = _made(project)
    assert wheel.name.endswith("-py3-none-any.whl")
    assert _names(wheel) == {"balancer/__init__.py", "balancer/manifest.py", "balancer/one.py"}
    assert "components" not in _sbom(wheel)


def test_an_editable_installation_needs_no_compiler(tmp_path: Path) -> None:
    project = project_at(tmp_path / "project")
    ended = _wheel(project, "-c", _EDITABLE, CC="/no/compiler")
    assert ended.returncode == 0, ended.stderr
    (wheel,) = _made(project)
    assert wheel.name.endswith("-py3-none-any.whl")
    assert not _names(wheel)


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
def test_a_wheel_is_compiled_and_two_builds_in_two_places_are_equal(tmp_path: Path) -> None:
    made = []
    for place in ("here", "there"):
        project = project_at(tmp_path / place)
        ended = _wheel(project, ZONAL_PURE="0")
        assert ended.returncode == 0, ended.stderr
        made += _made(project)
    first, second = made
    assert "-py3-none-any" not in first.name
    assert f"balancer/one{SUFFIX}" in _names(first)
    with ZipFile(first) as opened:
        opened.extractall(tmp_path / "installed")
    assert len(checked_build(tmp_path / "installed" / "balancer")) == 12
    assert not [name for name in _names(first) if name.endswith((".pxd", ".c"))]
    assert [each["name"] for each in _sbom(first)["components"]] == ["cython", f"balancer/one{SUFFIX}"]
    assert first.name == second.name
    assert first.read_bytes() == second.read_bytes()
