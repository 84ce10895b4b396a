"""Test files are run in several processes, each file by one of them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.processes import counts_in, groups_in, status_of

_ROOT = Path(__file__).parents[2]


def ran(place: Path, *options: str, count: int) -> tuple[int, str]:
    """The exit status of processes that run the tests of a folder, and what they say."""
    command = (
        sys.executable,
        "-m",
        "tests.processes",
        f"{count}",
        str(place),
        "--",
        "-p",
        "no:hypothesispytest",
        *options,
    )
    done = subprocess.run(command, cwd=_ROOT, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout


@pytest.mark.large
def test_each_test_runs_once_and_a_failure_is_shown(tmp_path: Path) -> None:
    for number in range(6):
        text = (
            f"def test_one():\n    with open({str(tmp_path / 'ran')!r}, 'a') as file:\n        file.write('{number}')\n"
        )
        (tmp_path / f"test_{number}.py").write_text(text + f"def test_two():\n    assert {number} != 4, 'is four'\n")
    status, said = ran(tmp_path, count=2)
    assert status == 1
    assert sorted((tmp_path / "ran").read_text()) == list("012345")
    assert "is four" in said
    assert said.splitlines()[-1].startswith("11 passed, 1 failed") or "1 failed, 11 passed" in said.splitlines()[-1]


@pytest.mark.large
def test_the_status_is_that_of_pytest(tmp_path: Path) -> None:
    (tmp_path / "test_a.py").write_text("def test_it():\n    pass\n")
    assert ran(tmp_path, "-k", "nothing", count=1)[0] == pytest.ExitCode.NO_TESTS_COLLECTED
    (tmp_path / "test_b.py").write_text("raise ValueError\n")
    assert ran(tmp_path, count=1)[0] == pytest.ExitCode.TESTS_FAILED


@pytest.mark.large
@pytest.mark.parametrize(("seed", "is_alike"), [(None, True), ("7", False)], ids=["as usual", "as asked for"])
def test_names_are_hashed_alike_in_every_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: str | None, *, is_alike: bool
) -> None:
    monkeypatch.delenv("PYTHONHASHSEED", raising=False)
    if seed is not None:
        monkeypatch.setenv("PYTHONHASHSEED", seed)
    path = tmp_path / "test_a.py"
    path.write_text("import os\ndef test_it():\n    assert os.environ['PYTHONHASHSEED'] == '0'\n")
    assert (ran(tmp_path, count=1)[0] == 0) is is_alike


def test_rules_about_sources_stay_together() -> None:
    (rules,) = [group for group in groups_in(["tests/unit"]) if "tests/unit/test_processes.py" in group]
    assert {Path(each).parent.as_posix() for each in rules} == {"tests/unit"}
    assert len(rules) > 5


def test_a_folder_is_taken_before_the_next_one_and_a_file_may_be_named(tmp_path: Path) -> None:
    for name in ("b/test_y.py", "b/test_x.py", "b/other.py", "a/test_z.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    named = [str(tmp_path / name) for name in ("b", "a/test_z.py")]
    assert [Path(path).name for (path,) in groups_in(named)] == ["test_x.py", "test_y.py", "test_z.py"]


@pytest.mark.parametrize(
    ("statuses", "status"), [([0, 0], 0), ([0, 1], 1), ([5, 0], 0), ([5, 2], 2), ([5, 5], 5), ([1, 2], 1)]
)
def test_the_status_is_that_of_the_first_process_that_failed(statuses: list[int], status: int) -> None:
    assert status_of(statuses) == status


def test_the_last_line_is_counted() -> None:
    said = "3 passed\n1 failed, 12 passed, 2 skipped, 4 deselected, 1 xfailed, 1 error in 3.10s\nException\n"
    assert counts_in(said) == {"failed": 1, "passed": 12, "skipped": 2, "deselected": 4, "xfailed": 1, "error": 1}
    assert counts_in("") == {}
