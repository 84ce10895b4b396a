"""The commands of docs/migrate.md do what the page says: every `zonal check`, `migrate` and `rehearse` in it runs."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from ingress.cli.commands import cli
from tests.integration.manifests import endpoint_slice, service
from tests.unit.ingress.migration.dumped import PlacedEndpoint, nginx, settings
from tests.unit.ingress.migration.rehearsal.logged import line

PAGE = Path(__file__).parents[2] / "docs" / "migrate.md"
RUNS = ("check", "migrate", "rehearse")
# What the page runs on something that a test does not have here; others have tests of their own.
NOT_HERE = ("--kubeconfig", "explain")


def commands() -> list[str]:
    """The commands of all consoles of the page, in order."""
    consoles = re.findall(r"```console\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    lines = [each.removeprefix("$ ") for console in consoles for each in console.splitlines() if each.startswith("$ ")]
    return [each.partition("  #")[0].strip() for each in lines]


def zonal_commands() -> list[str]:
    return [each for each in commands() if each.startswith("zonal ") and not any(word in each for word in NOT_HERE)]


def test_the_page_has_commands_of_every_kind() -> None:
    assert {each.split()[1] for each in zonal_commands()} == set(RUNS)


def test_every_command_of_the_page_ends_well(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the order of the page, in one folder, with a dump, manifests and a log as the page names them."""
    monkeypatch.chdir(tmp_path)
    placed = endpoint_slice(PlacedEndpoint("cart", "zone-a"))
    placed["endpoints"][0]["addresses"] = ["10.0.0.1"]
    documents = [nginx("web"), settings(keep_alive="60"), service("cart"), placed]
    text = yaml.safe_dump_all(documents)
    Path("dump.yaml").write_text(text)
    Path("manifests").mkdir()
    Path("manifests/all.yaml").write_text(text)
    Path("access.log").write_text(line())
    for command in zonal_commands():
        words, _, target = command.partition(" > ")
        result = CliRunner().invoke(cli, shlex.split(words)[1:])
        assert result.exit_code == 0, f"{command}: {result.output}"
        if target:
            Path(target).write_text(result.stdout)
