"""The command line: every option also as a variable, flags before variables, and clear words for what cannot work."""

from __future__ import annotations

import re
import shlex
from typing import Any

import click
import pytest
from click.testing import CliRunner

from ingress.cli.commands import cli, demo, run
from ingress.cli.explaining import explain
from ingress.cli.flags import BadInput
from ingress.settings.options import RunOptions
from tools.places import DOCS


def given(*arguments: str) -> dict[str, Any]:
    """What `zonal run` understands of these arguments."""
    with run.make_context("run", list(arguments)) as context:
        return context.params


@pytest.mark.parametrize("command", [run, demo, explain], ids=lambda command: str(command.name))
def test_every_option_has_its_variable(command: click.Command) -> None:
    for parameter in command.params:
        if isinstance(parameter, click.Argument):
            continue
        assert isinstance(parameter, click.Option)
        (flag,) = (name for name in parameter.opts if name.startswith("--"))
        variables = [parameter.envvar] if isinstance(parameter.envvar, str) else list(parameter.envvar or ())
        assert variables[0] == "ZONAL_" + flag.removeprefix("--").replace("-", "_").upper()
        assert parameter.help


def test_a_variable_fills_what_no_flag_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ZONAL_HTTP_PORT", "81")
    monkeypatch.setenv("ZONAL_ZONE", "zone-b")
    monkeypatch.setenv("ZONAL_ALLOW_LOCAL_ENDPOINTS", "true")
    monkeypatch.setenv("NODE_NAME", "node-1")
    monkeypatch.setenv("POD_ZONE", "zone-c")
    assert given()["http_port"] == 81
    assert given("--http-port", "82")["http_port"] == 82
    assert (given()["zone"], given()["node_name"], given()["pod_zone"]) == ("zone-b", "node-1", "zone-c")
    assert given()["allow_local_endpoints"] is True
    assert given("--allow-local-endpoints=false")["allow_local_endpoints"] is False


@pytest.mark.parametrize(
    ("arguments", "value"),
    [
        ((), False),
        (("--debug-remote",), True),
        (("--debug-remote=true",), True),
        (("--debug-remote=false",), False),
        (("--no-debug-remote",), False),
        (("--debug-remote", "--zone", "a"), True),
    ],
)
def test_a_switch_is_a_flag_or_has_a_value_after_an_equals_sign(arguments: tuple[str, ...], value: bool) -> None:
    assert given(*arguments)["debug_remote"] is value


def test_namespaces_may_be_several() -> None:
    assert given("--watch-namespace", "a", "--watch-namespace", "b")["watch_namespace"] == ("a", "b")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "--source"),
        (["--source", "kubernetes"], "kubernetes"),
        (["--source", ".", "--workers", "65"], "--workers takes auto or a number up to 64"),
        (["--source", ".", "--workers", "few"], "--workers"),
        (["--source", ".", "--workers", "²"], "--workers"),
        (["--source", ".", "--configmap", "zonal"], "--configmap"),
        (["--source", ".", "--default-ssl-certificate", "/name"], "--default-ssl-certificate"),
        (["--source", ".", "--default-backend-service", "a/b/c"], "--default-backend-service"),
        (["--source", ".", "--publish-status-address", "lb_1"], "--publish-status-address"),
        (["--source", ".", "--publish-status-address", ","], "--publish-status-address"),
        (["--source", ".", "--http-port", "81", "--https-port", "81"], "--http-port and --https-port are both 81"),
        (["--source", ".", "--webhook-port", "9443"], "--webhook-port 9443 needs a cluster"),
    ],
)
def test_what_cannot_work_is_said_in_one_line(arguments: list[str], words: str) -> None:
    with pytest.raises(BadInput, match=re.escape(words)) as refused:
        cli.main(["run", *arguments], standalone_mode=False)
    assert "\n" not in str(refused.value)


def test_help_names_every_command_and_variable() -> None:
    ended = CliRunner().invoke(cli, ["run", "--help"])
    assert ended.exit_code == 0
    assert "ZONAL_SHUTDOWN_GRACE_PERIOD" in ended.output
    assert {"run", "demo", "explain"} <= set(cli.commands)


@pytest.mark.parametrize("command", [run, explain], ids=lambda command: str(command.name))
def test_every_option_is_in_a_section_of_the_help_text(command: click.Command) -> None:
    *_, rest = CliRunner().invoke(cli, [str(command.name), "--help"]).output.partition("\nOptions:\n")
    (line,) = (line for line in rest.splitlines() if line.startswith("  -"))
    assert "--help" in line


def workers(monkeypatch: pytest.MonkeyPatch, *arguments: str, cpus: int = 4, can_have_workers: bool = True) -> int:
    """How many worker processes `zonal run` would have on such a machine."""
    told: list[RunOptions] = []
    monkeypatch.setattr("ingress.cli.cpus.usable_cpus", lambda: cpus)
    monkeypatch.setattr("balancer.workers.spawning.can_have_workers", lambda: can_have_workers)
    monkeypatch.setattr("ingress.cli.running.run_app", told.append)
    cli.main(["run", "--source", ".", *arguments], standalone_mode=False)
    (options,) = told
    return options.workers


@pytest.mark.parametrize(("cpus", "count"), [(1, 1), (4, 4), (5, 4), (96, 4)])
def test_there_is_a_worker_for_each_cpu_but_not_more_than_four(
    monkeypatch: pytest.MonkeyPatch, cpus: int, count: int
) -> None:
    assert workers(monkeypatch, cpus=cpus) == workers(monkeypatch, "--workers", "auto", cpus=cpus) == count


@pytest.mark.parametrize("count", [0, 1, 64])
def test_there_are_as_many_workers_as_were_asked_for(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    assert workers(monkeypatch, "--workers", str(count)) == count


def test_where_there_can_be_no_workers_this_process_serves(monkeypatch: pytest.MonkeyPatch) -> None:
    assert workers(monkeypatch, can_have_workers=False) == 0
    assert workers(monkeypatch, "--workers", "0", can_have_workers=False) == 0
    with pytest.raises(BadInput, match="--workers 2: worker processes need"):
        workers(monkeypatch, "--workers", "2", can_have_workers=False)


def runs_on_pages() -> list[str]:
    """The arguments of every `zonal run` that the pages tell people to type, without what they leave out (`…`)."""
    texts = [page.read_text(encoding="utf-8").replace("\\\n", " ") for page in sorted(DOCS.glob("*.md"))]
    return [
        line.replace("…", "")
        for text in texts
        for line in re.findall(r"^(?:\$ )?(?:\.venv/bin/)?zonal run (.*)$", text, re.MULTILINE)
    ]


@pytest.mark.parametrize("arguments", runs_on_pages())
def test_what_a_page_tells_to_run_is_taken(monkeypatch: pytest.MonkeyPatch, arguments: str) -> None:
    told: list[RunOptions] = []
    monkeypatch.setattr("ingress.cli.running.run_app", told.append)
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    cli.main(["run", *shlex.split(arguments)], standalone_mode=False)
    assert len(told) == 1
