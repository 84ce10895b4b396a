"""Tests on an installed wheel: they are those of the checkout, and what they import is compiled."""

from __future__ import annotations

import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from tests.features.typed.project import project_at
from typed.trial import Refused, trial

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")

_HOOKS = Path(__file__).parents[3] / "zonal_hooks"
_TEST = """
import balancer.one
def test_one():
    assert balancer.one.__file__.endswith(".so")
"""
_ONLY_WITH_SOURCES = """
import os
def test_one(): pass
assert os.path.exists("balancer/one.py"), "no source"
"""
_ONLY_THERE = """
import os
if not os.path.exists("balancer/one.py"):
    def test_two(): pass
"""


@pytest.fixture
def python(tmp_path: Path) -> str:
    """The Python of an environment that has the packages of this one, but not the checkout."""
    place = tmp_path / "environment"
    subprocess.run((sys.executable, "-m", "venv", "--without-pip", str(place)), check=True)
    (site,) = place.glob("lib/*/site-packages")
    (site / "packages.pth").write_text(sysconfig.get_path("purelib"))
    (site / "zonal_hooks").symlink_to(_HOOKS)  # whose fixture pytest finds by what is installed
    return str(place / "bin" / "python")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project whose package says of itself that it is compiled."""
    project = project_at(tmp_path / "project")
    (project / "tests").mkdir()
    (project / "balancer" / "__init__.py").write_text("BUILD = '0123'\n")
    return project


def test_it_runs_the_tests_where_the_sources_are_not(project: Path, python: str) -> None:
    (project / "tests" / "test_one.py").write_text(_TEST)
    assert trial(project, python, ["-p", "no:cacheprovider", "tests"]) == 0
    there = project / "build" / "trial" / "project"
    assert (there / "tests").is_dir()
    assert [path.name for path in (there / "balancer").iterdir()] == ["one.pxd"]


def test_a_failing_test_fails_it(project: Path, python: str) -> None:
    (project / "tests" / "test_one.py").write_text("def test_one():\n    assert False\n")
    assert trial(project, python, ["-p", "no:cacheprovider", "tests"]) == 1


def test_other_tests_than_those_of_the_checkout_are_refused(project: Path, python: str) -> None:
    (project / "tests" / "test_one.py").write_text(_TEST + _ONLY_THERE)
    with pytest.raises(Refused, match=r"(?s)not those of the checkout.*\+tests/test_one\.py::test_two"):
        trial(project, python, ["-p", "no:cacheprovider", "tests"])


def test_tests_that_cannot_be_read_are_told(project: Path, python: str) -> None:
    (project / "tests" / "test_one.py").write_text(_ONLY_WITH_SOURCES)
    with pytest.raises(Refused, match="no source"):
        trial(project, python, ["-p", "no:cacheprovider", "tests"])


def test_an_installation_that_is_not_compiled_is_refused(project: Path, python: str) -> None:
    (project / "balancer" / "__init__.py").write_text("BUILD = ''\n")
    with pytest.raises(Refused, match="not compiled"):
        trial(project, python, ["tests"])
