"""The manual page: everything that the help says, in a form that man prints."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from ingress.cli.commands import cli
from ingress.cli.manual import manual


def leaves(command: click.Command, path: str) -> dict[str, click.Command]:
    if not isinstance(command, click.Group):
        return {path: command}
    return {
        name: each for key, below in command.commands.items() for name, each in leaves(below, f"{path} {key}").items()
    }


def test_every_command_and_option_is_on_the_page() -> None:
    page = "\n".join(manual(cli, "1.2.3")).replace("\\-", "-")
    for name, command in leaves(cli, "zonal").items():
        assert f'.SH "{name.upper()}"' in page
        for param in command.params:
            if isinstance(param, click.Option) and not param.hidden:
                assert param.opts[0] in page, f"{name} {param.opts[0]}"
    assert '"zonal 1.2.3"' in page


def test_no_text_of_an_option_becomes_a_request_of_roff() -> None:
    @click.command("odd", help=".SH no\n\n'br \\n[x]")
    def odd() -> None: ...

    lines = list(manual(click.Group("zonal", commands={"odd": odd}), "1"))
    assert "\\&.SH no" in lines
    assert "\\(aqbr \\en[x]" in lines


@pytest.mark.skipif(shutil.which("groff") is None, reason="no groff on this machine")
def test_groff_has_nothing_to_warn_of(tmp_path: Path) -> None:
    done = CliRunner().invoke(cli, ["man"])
    assert done.exit_code == 0
    place = tmp_path / "zonal.1"
    place.write_text(done.output)
    shown = subprocess.run(["groff", "-man", "-ww", "-Tascii", str(place)], capture_output=True, text=True, check=True)
    assert shown.stderr == ""
    text = re.sub(r"\x1b\[[0-9;]*m|.\x08", "", shown.stdout)
    assert "ZONAL EXPLAIN" in text
    assert "--expect-zone" in text
