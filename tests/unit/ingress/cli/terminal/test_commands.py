"""What the commands print for admin ports on loopback, and with which status they end."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import pytest
import yaml

from ingress.admin.overview.document import CertificateRow, EndpointRow, FleetPart, FleetReplica, RouteRow
from ingress.cli.terminal import commands
from ingress.cli.terminal.commands import ViewOptions
from ingress.cli.terminal.lookout import CannotShow, TopOptions
from ingress.cli.terminal.ranking import Choice
from ingress.cli.terminal.views import Wish
from ingress.findings import Finding, Severity
from tests.unit.ingress.cli.terminal.documents import flow, overview, service
from tests.unit.ingress.cli.terminal.ports import admin_port, closed_url

HOSTILE = "\x1b]0;owned\x07<script>\u202e"
FINDING = Finding("Ingress", "shop", "web", "HostTaken", "Another has it.", "503", Severity.CLOSED)


def test_status_is_0_only_if_every_replica_is_well(capsys: pytest.CaptureFixture[str]) -> None:
    with admin_port(overview(facts={"pod": "zonal-0", "own_zone": "zone-a"})) as port:
        assert commands.show_status(ViewOptions(admins=(port.url,))) == 0
        assert "zonal-0" in capsys.readouterr().out
        gone = closed_url()
        assert commands.show_status(ViewOptions(admins=(port.url, gone), output="json")) == 1
        rows = json.loads(capsys.readouterr().out)
    assert [row["answers"] for row in rows] == [True, False]
    assert rows[0]["own_zone"] == "zone-a"
    assert rows[1] == {"admin": gone, "answers": False, "problem": "connection refused"}


def test_routes_and_endpoints_end_with_1_if_nothing_matches(capsys: pytest.CaptureFixture[str]) -> None:
    rows: dict[str, Any] = {
        "routes": (RouteRow("a.test", "/", "Prefix"),),
        "endpoints": (EndpointRow("shop", "cart", "http", "::1"),),
    }
    with admin_port(overview(**rows)) as port:
        for show in (commands.show_routes, commands.show_endpoints):
            assert show(ViewOptions(admins=(port.url,), output="yaml")) == 0
            assert len(yaml.safe_load(capsys.readouterr().out)) == 1
            assert show(ViewOptions(admins=(port.url,), wish=Wish(text="nothing"))) == 1
            (said,) = capsys.readouterr().out.splitlines()
            assert said.startswith("No ")


def test_the_fleet_is_well_if_everybody_hears_everybody(capsys: pytest.CaptureFixture[str]) -> None:
    own = FleetReplica("zonal-0", "zone-a", own=True)
    well = FleetPart(replicas=(own, FleetReplica("zonal-1", "zone-b", age_seconds=0.4)))
    deaf = FleetPart(replicas=(own, FleetReplica("zonal-1", "zone-b", state="silent", age_seconds=20.0)))
    for part, status in ((well, 0), (deaf, 1)):
        with admin_port(overview(fleet=part)) as port:
            assert commands.show_fleet(ViewOptions(admins=(port.url,))) == status
            assert ("zonal-0 does not hear zonal-1" in capsys.readouterr().out) is bool(status)
            assert commands.show_fleet(ViewOptions(admins=(port.url, closed_url()), output="json")) == 1
            assert len(json.loads(capsys.readouterr().out)["replicas"]) == 2


def test_nothing_wrong_is_said_in_words(capsys: pytest.CaptureFixture[str]) -> None:
    with admin_port(overview(findings=(), certificates=())) as port:
        assert commands.show_findings(ViewOptions(admins=(port.url,))) == 0
        assert commands.show_certificates(ViewOptions(admins=(port.url,))) == 0
        assert capsys.readouterr().out == "No finding matches.\nNo certificate matches.\n"
        assert commands.show_findings(ViewOptions(admins=(port.url,), output="json")) == 0
        assert capsys.readouterr().out == "[]\n"


def test_certificates_end_with_1_if_one_expires_within_the_days() -> None:
    row = CertificateRow("shop", "tls", time.time() + 10 * 86400)
    with admin_port(overview(certificates=(row,))) as port:
        given = (port.url,)
        assert commands.show_certificates(ViewOptions(admins=given)) == 0
        assert commands.show_certificates(ViewOptions(admins=given, fail_within_days=9)) == 0
        assert commands.show_certificates(ViewOptions(admins=given, fail_within_days=11)) == 1


def test_findings_end_with_1_if_one_is_as_harmful_as_asked(capsys: pytest.CaptureFixture[str]) -> None:
    with admin_port(overview(findings=(FINDING,))) as port:
        given = (port.url,)
        assert commands.show_findings(ViewOptions(admins=given)) == 0
        assert commands.show_findings(ViewOptions(admins=given, fail_on=Severity.COSMETIC)) == 1
        assert commands.show_findings(ViewOptions(admins=given, output="json", fail_on=Severity.CLOSED)) == 1
    *_, last = capsys.readouterr().out.split("\n[")
    assert json.loads(f"[{last}")[0]["reason"] == "HostTaken"


@pytest.mark.parametrize(
    "show", [commands.show_routes, commands.show_endpoints, commands.show_certificates, commands.show_findings]
)
def test_a_replica_that_does_not_answer_is_told_and_makes_the_status_1(
    show: Callable[[ViewOptions], int], capsys: pytest.CaptureFixture[str]
) -> None:
    gone = closed_url()
    parts: dict[str, Any] = {"routes": (RouteRow("a", "/", "Prefix"),), "endpoints": (EndpointRow("a", "b", "c", "d"),)}
    with admin_port(overview(**parts, certificates=(), findings=())) as port:
        assert show(ViewOptions(admins=(gone, port.url))) == 1
    said = f"zonal: --admin {gone}: connection refused: start zonal there, or use kubectl zonal for a cluster\n"
    assert capsys.readouterr().err == said
    with pytest.raises(CannotShow, match="connection refused"):
        show(ViewOptions(admins=(gone,)))


def test_top_once_shows_the_rates_of_two_replicas(capsys: pytest.CaptureFixture[str]) -> None:
    one = [overview(at, flows=(flow("zone-a", int(at)),), services=(service("cart", int(at)),)) for at in (10.0, 20.0)]
    other = [
        overview(at, flows=(flow("zone-a", 3 * int(at)),), services=(service("cart", 0, 3 * int(at)),))
        for at in (10.0, 12.0)
    ]
    with admin_port(*one, *one) as a, admin_port(*other, *other) as b:
        options = TopOptions(admins=(a.url, b.url), once=True, interval_seconds=0.01)
        assert commands.show_top(options) == 0
        text = capsys.readouterr().out
        assert text.startswith("2 replicas · 4.0 req/s · 25.0% in own zone")
        assert "shop/cart" in text
    with admin_port(*one) as a:
        options = TopOptions(admins=(a.url,), once=True, interval_seconds=0.01, output="json")
        commands.show_top(options)
    document = json.loads(capsys.readouterr().out)
    assert document["totals"]["requests_per_second"] == 1.0
    assert [each["name"] for each in document["services"]] == ["cart"]
    assert document["replicas"] == document["counted"] == 1


@pytest.mark.parametrize(("output", "said"), [("json", "--once"), ("text", "no terminal")])
def test_a_live_view_needs_a_terminal(output: str, said: str) -> None:
    with pytest.raises(CannotShow, match=said):
        commands.show_top(TopOptions(admins=("http://127.0.0.1:1",), output=output))


@pytest.mark.parametrize("output", ["text", "json", "yaml"])
def test_hostile_names_are_text_in_every_output(output: str, capsys: pytest.CaptureFixture[str]) -> None:
    document = overview(
        routes=(RouteRow(HOSTILE, HOSTILE, "Prefix", HOSTILE, HOSTILE, HOSTILE, features=(HOSTILE,)),),
        endpoints=(EndpointRow(HOSTILE, HOSTILE, HOSTILE, HOSTILE, pod=HOSTILE, state=HOSTILE),),
        certificates=(CertificateRow(HOSTILE, HOSTILE, 1.0, (HOSTILE,), 1),),
        findings=(Finding(HOSTILE, HOSTILE, HOSTILE, HOSTILE, HOSTILE, HOSTILE, Severity.CLOSED),),
        services=(service(HOSTILE),),
        facts={"pod": HOSTILE, "version": HOSTILE, "problem": HOSTILE},
    )
    with admin_port(document) as port:
        given = ViewOptions(admins=(port.url,), output=output)
        commands.show_status(given)
        commands.show_routes(given)
        commands.show_endpoints(given)
        commands.show_certificates(given)
        commands.show_findings(given)
        commands.show_top(
            TopOptions(admins=(port.url,), output=output, once=True, interval_seconds=0.01, choice=Choice())
        )
    assert [char for char in capsys.readouterr().out if not char.isprintable() and char != "\n"] == []
