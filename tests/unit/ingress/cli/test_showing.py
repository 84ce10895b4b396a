"""The options of the commands that show what replicas know."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from ingress.admin.overview.document import EndpointRow
from ingress.cli.commands import cli
from ingress.cli.flags import BadInput
from ingress.findings import Finding, Severity
from tests.unit.ingress.cli.terminal.documents import overview, service
from tests.unit.ingress.cli.terminal.ports import admin_port, closed_url

FINDING = Finding("Ingress", "shop", "web", "HostTaken", "Another has it.", "503", Severity.CLOSED)


def test_options_choose_what_is_shown() -> None:
    rows = (EndpointRow("shop", "cart", "http", "::1", zone="zone-a"), EndpointRow("shop", "cart", "http", "::2"))
    with admin_port(overview(endpoints=rows)) as port:
        given = ["endpoints", "--admin", port.url, "--service", "shop/cart", "--in-zone", "unknown", "-o", "json"]
        result = CliRunner().invoke(cli, given)
    assert (result.exit_code, [row["address"] for row in json.loads(result.output)]) == (0, ["::2"])


@pytest.mark.large
def test_admin_is_repeatable_and_the_environment_may_name_it() -> None:
    with admin_port(overview(services=(service("cart"),))) as one, admin_port(overview()) as other:
        given = ["top", "--once", "--interval", "0.2", "-o", "json", "--filter", "cart", "--sort", "name"]
        result = CliRunner().invoke(cli, given, env={"ZONAL_ADMIN": f"{one.url} {other.url}"})
        assert json.loads(result.output)["replicas"] == 2
        given += ["--admin", one.url, "--admin", one.url]
        assert json.loads(CliRunner().invoke(cli, given).output)["replicas"] == 1


def test_the_exit_status_is_that_of_the_command() -> None:
    with admin_port(overview(findings=(FINDING,))) as port:
        ask = ["findings", "--admin", port.url]
        assert CliRunner().invoke(cli, ask).exit_code == 0
        assert CliRunner().invoke(cli, [*ask, "--severity", "degraded", "--fail-on", "closed"]).exit_code == 1


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["status", "--admin", "127.0.0.1:10254"], "--admin takes the URL"),
        (["routes", "--service", "cart"], "--service takes NAMESPACE/NAME"),
        (["certs", "--admin", closed_url()], "connection refused"),
        (["top", "--admin", closed_url()], "no terminal"),
    ],
)
def test_bad_input_is_told_in_one_line(given: list[str], said: str) -> None:
    result = CliRunner().invoke(cli, given)
    assert isinstance(result.exception, BadInput)
    assert said in str(result.exception)
