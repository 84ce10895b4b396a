"""The wheel for this platform, installed: into a folder, and into an environment."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from balancer.manifest import checked_build
from tests.features.typed.project import project_at
from typed.compiling import CannotBuild
from typed.installed import install, installed, made_wheel

needs_compiler = pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")


@needs_compiler
def test_what_is_installed_is_the_build_that_the_wheel_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ZONAL_PURE", "1")
    wheel = made_wheel(project_at(tmp_path / "project"), tmp_path / "dist")
    build = checked_build(installed(wheel, tmp_path / "site") / "balancer")
    assert build
    (tmp_path / "site" / "left.py").touch()
    assert checked_build(installed(wheel, tmp_path / "site") / "balancer") == build
    assert not (tmp_path / "site" / "left.py").exists()

    subprocess.run((sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "bare")), check=True)
    python = tmp_path / "bare" / "bin" / "python"
    install(wheel, python)
    place = "import importlib.util as u; print(u.find_spec('balancer').origin)"
    said = subprocess.run((python, "-c", place), cwd=tmp_path, stdout=subprocess.PIPE, text=True, check=True).stdout
    assert checked_build(Path(said.strip()).parent) == build


def test_without_a_compiler_it_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "/no/compiler")
    with pytest.raises(CannotBuild, match="/no/compiler --version does not run"):
        made_wheel(project_at(tmp_path / "project"), tmp_path / "dist")
