"""`python -m typed.trial PYTHON ARGUMENTS`: runs pytest on an installed wheel, where the sources are not.

Makes the wheel for this platform, installs it into the environment of `PYTHON`, and copies tests and pages without
the sources of both packages. The tests there must be the same as those of the checkout.
"""

from __future__ import annotations

import difflib
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from typed.compiling import CannotBuild
from typed.installed import ROOT, install, made_wheel
from typed.modules import types_below
from typed.tree import copy_folder

_PACKAGES = ("balancer", "ingress", "zonal", "zonal_hooks")
_NAMES = ("-o", "addopts=", "--collect-only", "-q")
_SHOWN = 40


class Refused(Exception):
    """The wheel cannot be tried. The message is for the user."""


def main() -> int:
    python, *arguments = sys.argv[1:]
    try:
        return trial(ROOT, os.path.abspath(python), arguments)  # not resolved: a link makes an environment
    except (CannotBuild, Refused) as error:
        print(f"typed.trial: {error}", file=sys.stderr)
        return 1


def trial(root: Path, python: str, arguments: Sequence[str]) -> int:
    """Tries the wheel of the project at `root`. Returns the exit status of pytest.

    Raises `CannotBuild`, or `Refused` as `tried` does.
    """
    install(made_wheel(root, root / "build" / "trial" / "dist"), Path(python))
    return tried(root, python, arguments)


def tried(root: Path, python: str, arguments: Sequence[str]) -> int:
    """Tries what is installed in the environment of `python`. Returns the exit status of pytest.

    Raises `Refused` if the installation is not compiled, or its tests are not those of `root` or cannot be read.
    """
    project = root / "build" / "trial" / "project"
    copy_folder(root, project, leaves_out=_PACKAGES)
    _copy_types(root, project)
    build = _said((python, "-c", "import balancer; print(balancer.BUILD)"), project).strip()
    if not build:
        raise Refused("the installation is not compiled")
    ours, theirs = _tests(sys.executable, arguments, root), _tests(python, arguments, project)
    if ours != theirs:
        lines = list(difflib.unified_diff(ours, theirs, "checkout", "wheel", lineterm=""))
        raise Refused("\n".join(("the tests are not those of the checkout", *lines[:_SHOWN])))
    print(f"the same {len(ours)} tests as on the sources, on the wheel (compiled {build}):", flush=True)
    command = (python, "-m", "pytest", *arguments)
    return subprocess.run(command, cwd=project, env=_environment(), check=False).returncode


def _copy_types(root: Path, project: Path) -> None:
    """Copies the types alone, which no wheel has: tests compare them with structs in memory. They make no package."""
    for types in types_below(root):
        place = project / types
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(root / types, place)


def _tests(python: str, arguments: Sequence[str], folder: Path) -> list[str]:
    """The names of the tests that these arguments mean in that folder."""
    return [line for line in _said((python, "-m", "pytest", *arguments, *_NAMES), folder).splitlines() if "::" in line]


def _said(command: Sequence[str], folder: Path) -> str:
    done = subprocess.run(command, cwd=folder, env=_environment(), stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise Refused(f"in {folder}: {shlex.join(command)}\n{done.stdout}")
    return done.stdout


def _environment() -> dict[str, str]:
    """Only what is installed counts."""
    return {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "ZONAL_PURE")}


if __name__ == "__main__":
    sys.exit(main())
