"""Compiled modules are those of one build for this Python, or a process refuses to start."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import pytest

import balancer
from balancer.manifest import NAME, WrongBuild, build_id, checked_build, manifest_of

SUFFIX = EXTENSION_SUFFIXES[0]
ONE, TWO = f"one{SUFFIX}", f"deep/two{SUFFIX}"


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A package with two compiled modules and their list."""
    (tmp_path / "deep").mkdir()
    files = {name: tmp_path / name for name in (ONE, "one.py", TWO, "deep/two.py")}
    for name, path in files.items():
        path.write_text(f"of {name}")
    (tmp_path / "plain.py").touch()
    (tmp_path / NAME).write_text(manifest_of(files))
    return tmp_path


def refused(package: Path) -> str:
    with pytest.raises(WrongBuild) as refusal:
        checked_build(package)
    assert "\n" not in str(refusal.value)
    assert "ZONAL_PURE=1" in str(refusal.value)
    return str(refusal.value)


def test_a_build_has_one_name_that_all_its_modules_decide(package: Path) -> None:
    name = checked_build(package)
    assert name == build_id((package / NAME).read_text())
    assert len(name) == 12
    assert name != build_id(manifest_of({ONE: package / ONE}))


def test_the_list_is_one_that_b2sum_checks(package: Path) -> None:
    subprocess.run(["b2sum", "--check", "--quiet", NAME], cwd=package, check=True)


def test_a_package_without_compiled_modules_is_no_build(package: Path) -> None:
    for name in (ONE, TWO, NAME):
        (package / name).unlink()
    assert checked_build(package) == ""


def test_a_module_of_another_build_is_refused(package: Path) -> None:
    (package / TWO).write_text("of another build")
    assert refused(package).startswith(f"{TWO}: changed")


def test_a_source_that_its_binary_was_not_made_of_is_refused(package: Path) -> None:
    (package / "deep" / "two.py").write_text("later")
    assert refused(package).startswith("deep/two.py: changed")


@pytest.mark.parametrize("name", [ONE, "one.py"])
def test_a_missing_module_is_refused(package: Path, name: str) -> None:
    (package / name).unlink()
    assert refused(package).startswith(f"{name}: missing")


def test_foreign_modules_are_refused(package: Path) -> None:
    (package / f"plain{SUFFIX}").touch()
    (package / "deep" / "x.so").touch()
    assert refused(package).startswith("deep/x.so and 1 more: compiled, but of no build")


def test_compiled_modules_without_a_list_are_refused(package: Path) -> None:
    (package / NAME).unlink()
    assert refused(package).startswith(f"{TWO} and 1 more: compiled, but of no build")


def test_a_build_for_another_python_is_refused(tmp_path: Path) -> None:
    (tmp_path / "one.cpython-27m-x86_64-linux-gnu.so").touch()
    files = {path.name: path for path in tmp_path.iterdir()}
    (tmp_path / NAME).write_text(manifest_of(files))
    assert refused(tmp_path).startswith("one.cpython-27m-x86_64-linux-gnu.so: compiled for another Python")


def test_a_list_that_is_none_is_refused(package: Path) -> None:
    (package / NAME).write_text((package / NAME).read_text() + "\n")
    assert refused(package).startswith(f"{NAME}: changed")


def _version(folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """How `zonal --version` ends with the packages of that folder."""
    given = {**os.environ, "PYTHONPATH": str(folder), "PYTHONSAFEPATH": "1", "ZONAL_PURE": "", **environment}
    command = [sys.executable, "-m", "ingress", "--version"]
    return subprocess.run(command, cwd=folder, env=given, capture_output=True, text=True, check=False)


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """Both packages, of links to their files, and a foreign binary among them."""
    root = Path(balancer.__file__).parents[1]
    for package in ("balancer", "ingress"):
        for folder, folders, names in os.walk(root / package):
            folders[:] = [name for name in folders if name != "__pycache__"]
            place = tmp_path / Path(folder).relative_to(root)
            place.mkdir()
            for name in names:
                if not name.endswith(".so") and name != NAME:
                    (place / name).symlink_to(Path(folder, name))
    (tmp_path / "balancer" / "proxy" / f"serving{SUFFIX}").touch()
    return tmp_path


@pytest.mark.large
def test_a_process_that_would_run_a_mixture_ends_with_one_line(installed: Path) -> None:
    ended = _version(installed)
    assert ended.returncode == 1
    assert ended.stdout == ""
    assert ended.stderr.startswith(f"zonal: proxy/serving{SUFFIX}: compiled, but of no build")
    assert ended.stderr.count("\n") == 1


@pytest.mark.large
def test_its_plain_source_still_runs(installed: Path) -> None:
    ended = _version(installed, ZONAL_PURE="1")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.endswith("(plain)\n")
