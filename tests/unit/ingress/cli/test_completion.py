"""The script of `zonal completion`, and what a shell gets by it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from ingress.cli.commands import cli
from ingress.cli.completion import SHELLS


@pytest.mark.parametrize("shell", SHELLS)
def test_the_script_asks_zonal(shell: str) -> None:
    done = CliRunner().invoke(cli, ["completion", shell])
    assert done.exit_code == 0
    assert f"_ZONAL_COMPLETE={shell}_complete" in done.output


def test_another_shell_is_refused() -> None:
    assert CliRunner().invoke(cli, ["completion", "tcsh"]).exit_code == 2


@pytest.mark.large
@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash on this machine")
def test_bash_completes_a_command_and_an_option(tmp_path: Path) -> None:
    script = tmp_path / "completion"
    script.write_text(CliRunner().invoke(cli, ["completion", "bash"]).output)
    zonal = tmp_path / "zonal"
    zonal.write_text(f"#!{sys.executable}\nfrom zonal.__main__ import main\nmain()\n")
    zonal.chmod(0o755)
    asks = f"""
        source {script}
        ask() {{
            COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=()
            _zonal_completion zonal; echo "${{COMPREPLY[@]}}"
        }}
        ask zonal expl; ask zonal explain --ou
    """
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = subprocess.run(["bash", "-c", asks], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["explain", "--output"], done.stderr
