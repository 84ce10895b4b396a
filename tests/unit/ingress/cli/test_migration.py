"""`zonal check` on the command line: what its options mean, and which go together."""

from __future__ import annotations

from pathlib import Path

import click
import pytest

from ingress.cli.commands import cli
from ingress.cli.flags import BadInput
from ingress.cli.migration import check, migrate
from tests.integration.manifests import Document, ManifestFolder
from tests.unit.ingress.migration.dumped import nginx, settings


def ended(*arguments: str) -> int:
    with pytest.raises(SystemExit) as found:
        cli.main(["check", *arguments], standalone_mode=False)
    return int(str(found.value.code))


def folder(place: Path, *documents: Document) -> str:
    ManifestFolder(place).write("all.yaml", *documents)
    return str(place)


@pytest.mark.parametrize("command", [check, migrate], ids=lambda command: str(command.name))
def test_every_option_has_its_variable(command: click.Command) -> None:
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            variables = [parameter.envvar] if isinstance(parameter.envvar, str) else list(parameter.envvar or ())
            assert variables[0].startswith("ZONAL_")
            assert parameter.help


def test_a_folder_of_ingresses_that_work_is_a_success(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert ended(folder(tmp_path, nginx("web"), settings(keep_alive="60"))) == 0
    out = capsys.readouterr().out
    assert "ConfigMap ingress-nginx/ingress-nginx-controller (all.yaml): works" in out
    assert out.endswith("1 of 1 Ingress works as they are, 0 differ, 0 need you.\n")


def test_a_lost_protection_of_the_configmap_fails_and_is_in_the_summary(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = folder(tmp_path, nginx("web"), settings(server_snippet="location /x { deny all; }"))
    assert ended(given) == 1
    said = (
        "1 of 1 Ingress works as they are, 0 differ, 0 need you. The ConfigMap is unprotected (1 key not carried out)."
    )
    assert capsys.readouterr().out.endswith(f"{said}\n")


@pytest.mark.parametrize(
    ("fail_on", "status"),
    [("works-differently", 1), ("degraded", 0), ("unprotected", 0), ("misrouted", 0), ("closed", 0), ("never", 0)],
)
def test_fail_on_says_which_verdict_fails(tmp_path: Path, fail_on: str, status: int) -> None:
    assert ended(folder(tmp_path, nginx("web", affinity="cookie")), "--fail-on", fail_on) == status


def test_the_class_and_the_configmap_may_be_others(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    inner = nginx("web")
    inner["spec"]["ingressClassName"] = "inner"
    given = folder(tmp_path, inner, settings(http_snippet="x"))
    assert ended(given, "--ingress-class", "inner", "--configmap", "other/settings") == 0
    assert "ConfigMap other/settings: not found" in capsys.readouterr().out


def test_what_cannot_be_checked_is_one_line(tmp_path: Path) -> None:
    for arguments in ([str(tmp_path)], [], ["--from", "traefik", "."], [".", "--kubeconfig", "x"]):
        with pytest.raises((BadInput, click.ClickException)):
            cli.main(["check", *arguments], standalone_mode=False)


def test_manifests_are_moved_into_a_new_folder(tmp_path: Path) -> None:
    given, out = folder(tmp_path / "old", nginx("web")), tmp_path / "new"
    cli.main(["migrate", given, "-o", str(out), "--to-class", "inner", "--suffix", "inner"], standalone_mode=False)
    assert "web-inner" in (out / "all.yaml").read_text()
    with pytest.raises(BadInput, match="not empty"):
        cli.main(["migrate", given, "-o", str(out)], standalone_mode=False)
    with pytest.raises(BadInput, match="--suffix"):
        cli.main(["migrate", given, "-o", str(tmp_path / "other"), "--suffix", "No"], standalone_mode=False)


@pytest.mark.parametrize("target", ["ingress", "gateway"])
def test_a_diff_needs_no_folder(target: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = folder(tmp_path / "old", nginx("web"))
    cli.main(["migrate", given, "--diff", "--to", target], standalone_mode=False)
    assert "+kind: " in capsys.readouterr().out
    assert [each.name for each in tmp_path.iterdir()] == ["old"]
