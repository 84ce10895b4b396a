"""What docs/hooks.md tells a newcomer to do works as it stands there."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from tests.features.pages.shop import serving_shop, steps_of
from tests.unit.sources import ROOT

PAGE = (ROOT / "docs" / "hooks.md").read_text(encoding="utf-8")
FILES = re.findall(r"Save (?:this|its test) as `([\w.]+)`.*?```python\n(.*?)```", PAGE, flags=re.DOTALL)
STEPS = steps_of(ROOT / "docs" / "hooks.md")
PROGRAMS = {"zonal": ["-m", "ingress"], "python": []}
TRIALS = [step for step in STEPS if step[0].split()[0] in PROGRAMS]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The files that the page says to save, in the folder that it says to make beside the checkout."""
    made = tmp_path / "first-hook"
    made.mkdir()
    for name, text in FILES:
        (made / name).write_text(text)
    return made


def test_the_page_has_a_hook_its_test_and_commands() -> None:
    assert [name for name, _ in FILES] == ["tenant.py", "test_tenant.py"]
    assert len(TRIALS) == 3
    assert len(STEPS) == 9


@pytest.mark.parametrize(("command", "output"), TRIALS)
def test_a_command_says_what_the_page_says(folder: Path, command: str, output: str) -> None:
    program, *arguments = shlex.split(command)
    if "pytest" in arguments and not entry_points(group="pytest11", name="zonal_hooks"):
        arguments += ["-p", "zonal_hooks.plugin"]  # in a checkout that was installed before there was an entry point
    done = subprocess.run(
        [sys.executable, *PROGRAMS[program], *arguments],
        cwd=folder,
        env={"PYTHONPATH": str(ROOT), "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert output.strip() in done.stdout.replace(str(folder), ""), done.stderr


@pytest.mark.skipif(shutil.which("curl") is None or shutil.which("bash") is None, reason="no curl or bash here")
def test_the_hook_runs_as_the_page_says(folder: Path) -> None:
    checkout = folder.parent / "checkout"
    with serving_shop(checkout, "--hooks", str(folder / "tenant.py")) as shop:
        shop.follows(step for step in STEPS if step not in TRIALS)
    assert not (checkout / "deploy" / "examples" / "shop" / "hooked.yaml").exists()
