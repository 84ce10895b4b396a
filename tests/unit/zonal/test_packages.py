"""Packages of other distributions under our names."""

from __future__ import annotations

import base64
import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from zonal.packages import PACKAGES, foreign_package

ROOT = Path(__file__).parents[3]
NOBODY = "x = 1\n"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A folder with our packages as an installer leaves them, which hold nothing but their first modules."""
    shutil.copytree(ROOT / "zonal", tmp_path / "zonal", ignore=shutil.ignore_patterns("__pycache__"))
    info = tmp_path / "zonal_ingress-0.1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: zonal-ingress\nVersion: 0.1.0\n")
    lines = []
    for name in PACKAGES:
        first = tmp_path / name / "__init__.py"
        first.parent.mkdir()
        first.write_text(f'"""{name} of ours."""\n')
        digest = base64.urlsafe_b64encode(hashlib.sha256(first.read_bytes()).digest()).rstrip(b"=").decode()
        lines.append(f"{name}/__init__.py,sha256={digest},{first.stat().st_size}\n")
    (tmp_path / "ingress" / "__main__.py").write_text("def main(): print('served')\n")
    (info / "RECORD").write_text("".join(lines))
    return tmp_path


def started(home: Path, *more: Path) -> subprocess.CompletedProcess[str]:
    """`zonal`, where only these folders are on the path."""
    path = [*map(str, more), str(home)]
    code = f"import sys; sys.path[:0] = {path!r}; from zonal.__main__ import main; main()"
    return subprocess.run([sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=False)


def test_the_packages_of_the_checkout_are_ours() -> None:
    assert foreign_package() == ""


def test_what_was_installed_starts(home: Path) -> None:
    assert started(home).stdout == "served\n"


@pytest.mark.large
@pytest.mark.parametrize("name", PACKAGES)
def test_a_package_that_another_distribution_has_replaced_is_refused_with_one_line(home: Path, name: str) -> None:
    (home / name / "__init__.py").write_text(NOBODY)
    other = home / "other-1.0.dist-info"
    other.mkdir()
    (other / "METADATA").write_text("Metadata-Version: 2.1\nName: other\nVersion: 1.0\n")
    (other / "RECORD").write_text(f"{name}/__init__.py,,\n")
    done = started(home)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.count("\n") == 1 and f"{name!r} (also of other)" in done.stderr


@pytest.mark.large
@pytest.mark.parametrize("name", PACKAGES)
def test_a_package_that_went_with_another_distribution_is_missed(home: Path, name: str) -> None:
    (home / name / "__init__.py").unlink()
    assert f"zonal: the package {name!r} in {home} is not that of zonal-ingress" in started(home).stderr


def test_a_package_that_comes_first_on_the_path_is_refused(
    home: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / "balancer").mkdir()
    (elsewhere / "balancer" / "__init__.py").write_text(NOBODY)
    done = started(home, elsewhere)
    assert done.returncode == 1 and f"is found in {elsewhere / 'balancer' / '__init__.py'}" in done.stderr
