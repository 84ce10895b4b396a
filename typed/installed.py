"""`python -m typed.installed`: makes the wheel for this platform and installs it into a folder, which is printed.

With that folder first in PYTHONPATH, the Python of a development environment runs what people install.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from typed.compiling import CannotBuild

ROOT = Path(__file__).parents[1]


def main() -> int:
    place = ROOT / "build" / "installed"
    try:
        print(installed(made_wheel(ROOT, place / "dist"), place / "site"))
    except CannotBuild as error:
        print(f"typed.installed: {error}", file=sys.stderr)
        return 1
    return 0


def made_wheel(root: Path, folder: Path) -> Path:
    """The compiled wheel of the project at `root`, made in `folder`, which is emptied first. Raises `CannotBuild`."""
    shutil.rmtree(folder, ignore_errors=True)
    environment = {name: value for name, value in os.environ.items() if name != "ZONAL_PURE"}
    _run((sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)), root, environment)
    (wheel,) = folder.glob("*.whl")
    return wheel


def installed(wheel: Path, folder: Path) -> Path:
    """Puts the files of a wheel into `folder`, and nothing else. Returns the folder."""
    shutil.rmtree(folder, ignore_errors=True)
    _run((*_PIP, "--target", str(folder), str(wheel)), ROOT, dict(os.environ))
    return folder


def install(wheel: Path, python: Path) -> None:
    """Puts a wheel into the environment of that Python, in the place of another one, and no other package."""
    _run((*_PIP[:3], "--python", str(python), *_PIP[3:], "--force-reinstall", str(wheel)), ROOT, dict(os.environ))


_PIP = (sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--disable-pip-version-check")


def _run(command: tuple[str, ...], folder: Path, environment: dict[str, str]) -> None:
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise CannotBuild(done.stderr.strip())


if __name__ == "__main__":
    sys.exit(main())
