"""Tests on an installed wheel: they are those of the checkout, and what they import is compiled."""

from __future__ import annotations

import shutil
import subprocess
import sys
import sysconfig
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.features.typed.project import project_at
from typed.trial import Refused, trial, tried

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")

# Each of some twenty runs of pytest would import what the tests here do not need.
_NOT_NEEDED = ("cacheprovider", "xdist", "xdist.looponfail", "hypothesispytest", "aiohttp", "zonal_hooks")
_ARGUMENTS = [*chain.from_iterable(("-p", f"no:{name}") for name in _NOT_NEEDED), "tests"]
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


class Tried(NamedTuple):
    """A project whose package says of itself that it is compiled, and the Python that has its wheel."""

    project: Path
    python: str
    site: Path

    def write(self, test: str) -> None:
        """The one test of the project."""
        (self.project / "tests" / "test_one.py").write_text(test)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Tried:
    """The wheel is made and installed once: what is tried here are the tests."""
    place = tmp_path_factory.mktemp("trial")
    project = project_at(place / "project")
    (project / "tests").mkdir()
    (project / "balancer" / "__init__.py").write_text("BUILD = '0123'\n")
    python, site = _environment(place / "environment")
    found = Tried(project, python, site)
    found.write(_TEST)
    assert trial(project, python, _ARGUMENTS) == 0
    return found


def _environment(place: Path) -> tuple[str, Path]:
    """The Python of an environment that has the packages of this one, but not the checkout, and where it has them."""
    subprocess.run((sys.executable, "-m", "venv", "--without-pip", str(place)), check=True)
    (site,) = place.glob("lib/*/site-packages")
    (site / "packages.pth").write_text(sysconfig.get_path("purelib"))
    return str(place / "bin" / "python"), site


def test_it_runs_the_tests_where_the_sources_are_not(made: Tried) -> None:
    there = made.project / "build" / "trial" / "project"
    assert (there / "tests").is_dir()
    assert [path.name for path in (there / "balancer").iterdir()] == ["one.pxd"]


def test_a_failing_test_fails_it(made: Tried) -> None:
    made.write("def test_one():\n    assert False\n")
    assert tried(made.project, made.python, _ARGUMENTS) == 1


def test_other_tests_than_those_of_the_checkout_are_refused(made: Tried) -> None:
    made.write(_TEST + _ONLY_THERE)
    with pytest.raises(Refused, match=r"(?s)not those of the checkout.*\+tests/test_one\.py::test_two"):
        tried(made.project, made.python, _ARGUMENTS)


def test_tests_that_cannot_be_read_are_told(made: Tried) -> None:
    made.write(_ONLY_WITH_SOURCES)
    with pytest.raises(Refused, match="no source"):
        tried(made.project, made.python, _ARGUMENTS)


def test_an_installation_that_is_not_compiled_is_refused(made: Tried) -> None:
    package = made.site / "balancer" / "__init__.py"
    compiled = package.read_text()
    package.write_text("BUILD = ''\n")
    try:
        with pytest.raises(Refused, match="not compiled"):
            tried(made.project, made.python, _ARGUMENTS)
    finally:
        package.write_text(compiled)
