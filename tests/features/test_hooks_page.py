"""What docs/hooks.md tells a newcomer to do works as it stands there."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from tests.unit.sources import ROOT

PAGE = (ROOT / "docs" / "hooks.md").read_text(encoding="utf-8")
FILES = re.findall(r"Save (?:this|its test) as `([\w.]+)`.*?```python\n(.*?)```", PAGE, flags=re.DOTALL)
CONSOLE = re.findall(r"```console\n(.*?)```", PAGE, flags=re.DOTALL)
STEPS = [step for block in CONSOLE for step in re.findall(r"^\$ (.*?)\n((?:(?!\$ ).*\n)*)", block, flags=re.MULTILINE)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The files that the page says to save."""
    for name, text in FILES:
        (tmp_path / name).write_text(text)
    return tmp_path


def test_the_page_has_a_hook_its_test_and_commands() -> None:
    assert [name for name, _ in FILES] == ["tenant.py", "test_tenant.py"]
    assert len(STEPS) == 3


@pytest.mark.parametrize(("command", "output"), STEPS)
def test_a_command_says_what_the_page_says(folder: Path, command: str, output: str) -> None:
    program, *arguments = shlex.split(command)
    module = {"zonal": ["-m", "ingress"], "python": []}[program]
    if "pytest" in arguments and not entry_points(group="pytest11", name="zonal_hooks"):
        arguments += ["-p", "zonal_hooks.plugin"]  # in a checkout that was installed before there was an entry point
    done = subprocess.run(
        [sys.executable, *module, *arguments],
        cwd=folder,
        env={"PYTHONPATH": str(ROOT), "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert output.strip() in done.stdout.replace(str(folder), ""), done.stderr
