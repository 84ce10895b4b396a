"""`zonal savings` on the command line, and the commands of its page."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from ingress.cli.commands import cli
from ingress.cli.flags import BadInput
from tests.fakes.prometheus import prometheus
from tests.unit.ingress.migration.savings.test_command import NGINX, PAGE, dump
from tests.unit.sources import ROOT

CONSOLES = re.findall(r"```console\n(.*?)```", (ROOT / "docs" / "savings.md").read_text(encoding="utf-8"), re.DOTALL)
STEPS = [
    step for console in CONSOLES for step in re.findall(r"^\$ (zonal .*)\n((?:(?!\$ ).*\n)*)", console, re.MULTILINE)
]


@pytest.mark.parametrize(
    "arguments",
    [
        ("--prometheus", "ftp://x"),
        ("--source", "x"),
        ("--source", "x", "--prometheus", "http://x", "--metrics", "y"),
        ("--header", "nonsense", "--prometheus", "http://127.0.0.1:9"),
    ],
)
def test_what_does_not_go_together_is_refused(arguments: tuple[str, ...]) -> None:
    with pytest.raises(BadInput):
        cli.main(["savings", *arguments], standalone_mode=False)


def test_the_commands_of_the_page_say_what_it_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (dump(tmp_path) / "all.yaml").rename(tmp_path / "dump.yaml")
    (tmp_path / "pod-1.txt").write_text(PAGE)
    monkeypatch.chdir(tmp_path)
    assert len(STEPS) == 3
    with prometheus(NGINX) as server:
        for command, output in STEPS:
            words = shlex.split(command.replace("http://127.0.0.1:9090", server.url))
            result = CliRunner().invoke(cli, words[1:])
            assert result.exit_code == 0, result.output
            assert output in result.output


def test_metrics_that_nobody_has_are_named(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"cannot read .*pod-1\.txt: No such file"):
        cli.main(
            ["savings", "--source", str(tmp_path), "--metrics", str(tmp_path / "pod-1.txt"), "--hours", "24"],
            standalone_mode=False,
        )
