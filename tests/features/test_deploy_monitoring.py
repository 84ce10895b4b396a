"""Dashboards and alerts ask for what zonal writes, and are in the chart as they are in their folders."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import ssl
import subprocess
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
import yaml
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.errors import ErrorCodes
from h2.events import PingAckReceived

from ingress.findings import Severity
from tests.fakes.apiserver.faults import Fault
from tests.fakes.stopwatch import Stopwatch
from tests.features.cluster.certificates import certified
from tests.features.cluster.documents import node
from tests.features.cluster.stage import HOST, Stage, staged
from tests.features.deploying import promql
from tests.features.deploying.finding import of_kind, only
from tests.features.deploying.rendering import ROOT, chart, values
from tests.integration.manifests import endpoint_slice, ingress, path, rule, service
from tests.integration.running import Zonal, running
from tests.integration.scraping import PATIENCE_SECONDS, PROMETHEUS, answered, prometheus, rules_of
from tests.integration.shop import shop
from tests.integration.wire import get
from tools.boards.panels import Board, Panel, panels_of
from tools.boards.writing import ALERTS, BOARDS, DASHBOARDS, files

PROMTOOL = shutil.which("promtool")
MONITORING = (ROOT / "docs" / "monitoring.md").read_text()
RUNBOOK = (ROOT / "docs" / "runbook.md").read_text()
ALERT_TESTS = (ALERTS.with_name("tests.yaml"), ALERTS.with_name("tests-of-days.yaml"))

_RESETS = 2_000
"""More than one connection may ask for and give up at once."""

SILENT = {"zonal_spans_dropped_total", "zonal_zone_failure_ratio"}
"""Counted only where spans are lost, and where endpoints answer with failures. The slow test has neither."""


TROUBLES = {
    *("ZonalServiceWithoutEndpoints", "ZonalZoneEmpty", "ZonalFindingsClosed", "ZonalApiServerAway"),
    *("ZonalServiceErrors", "ZonalZoneWithoutReplica", "ZonalDryRunForgotten"),
}
"""The alerts for which the scene of the slow test gives a reason."""


def rules() -> list[dict[str, Any]]:
    (group,) = yaml.safe_load(ALERTS.read_text())["groups"]
    return list(group["rules"])


def alerts() -> list[dict[str, Any]]:
    return [each for each in rules() if "alert" in each]


PANELS = [(board, panel) for board in BOARDS for panel in panels_of(board)]
QUERIES = [(board, query.promql) for board, panel in PANELS for query in panel.queries]


@pytest.mark.parametrize("place", files(), ids=lambda place: str(place.relative_to(ROOT)))
def test_every_file_is_what_its_description_says(place: Path) -> None:
    assert place.read_text() == files()[place], "run: make docs"


def test_no_dashboard_is_left_that_nobody_describes() -> None:
    assert {each.name for each in DASHBOARDS.iterdir()} == {place.name for place in files() if place.suffix == ".json"}


@pytest.mark.parametrize("query", [promql for _, promql in QUERIES] + [each["expr"] for each in rules()])
def test_a_query_reads_metrics_and_labels_that_there_are(query: str) -> None:
    assert promql.problems(query) == []


def test_a_query_of_something_else_is_noticed() -> None:
    asked = 'sum by (node, le) (rate(zonal_request_total{zone="a"}[1m])) / zonal_endpoints{pod=~"b"}'
    assert promql.problems(asked) == [
        "no such sample: zonal_request_total",
        "zonal_endpoints has no label pod",
        "no sample has the label node",
        "no sample has the label le",
    ]


@pytest.mark.parametrize("board", BOARDS, ids=lambda board: board.uid)
def test_variables_are_those_that_queries_use(board: Board) -> None:
    used = {name for query in _all_queries(board) for name in re.findall(r"\$(\w+)", query)} - {"__rate_interval"}
    assert used == {variable.name for variable in board.variables}
    assert [found for each in board.variables if (found := promql.problems(each.metric))] == []


def _all_queries(board: Board) -> list[str]:
    return [each.metric for each in board.variables] + [
        query.promql for panel in panels_of(board) for query in panel.queries
    ]


@pytest.mark.parametrize("panel", [panel for _, panel in PANELS], ids=lambda panel: panel.title)
def test_legends_name_labels_of_their_query(panel: Panel) -> None:
    for query in panel.queries:
        named = set(re.findall(r"{{(\w+)}}", query.legend))
        assert named <= promql.labels(query.promql)


@pytest.mark.parametrize("board", BOARDS, ids=lambda board: board.uid)
def test_no_two_panels_lie_on_each_other(board: Board) -> None:
    made = json.loads((DASHBOARDS / f"{board.uid.removeprefix('zonal-')}.json").read_text())
    ids = Counter(panel["id"] for panel in made["panels"])
    assert max(ids.values()) == 1
    places = [panel["gridPos"] for panel in made["panels"]]
    assert [(one, other) for one, other in combinations(places, 2) if _overlap(one, other)] == []
    assert max(place["x"] + place["w"] for place in places) <= 24


def _overlap(one: dict[str, int], other: dict[str, int]) -> bool:
    return all(
        one[start] < other[start] + other[size] and other[start] < one[start] + one[size]
        for start, size in (("x", "w"), ("y", "h"))
    )


@pytest.mark.parametrize("alert", alerts(), ids=lambda alert: alert["alert"])
def test_every_alert_leads_to_its_section_of_the_runbook(alert: dict[str, Any]) -> None:
    assert alert["annotations"]["runbook_url"] == f"docs/runbook.md#{alert['alert'].lower()}"
    assert f"\n## {alert['alert']}\n" in RUNBOOK
    assert alert["labels"]["severity"] in ("warning", "critical")


def test_the_runbook_has_no_section_of_an_alert_that_is_gone() -> None:
    assert re.findall(r"^## (Zonal\w+)$", RUNBOOK, re.MULTILINE) == [each["alert"] for each in alerts()]


def test_every_severity_of_findings_has_an_alert_or_a_reason_to_have_none() -> None:
    alerting = {name for each in alerts() for name in re.findall(r'severity="(\w+)"', each["expr"])}
    excused = set(re.findall(r"^\| `(\w+)` \| [A-Z]", MONITORING, re.MULTILINE))
    assert alerting | excused == {severity.value for severity in Severity}
    assert alerting & excused == set()


@pytest.mark.parametrize("alert", [each["alert"] for each in alerts()])
def test_every_alert_has_a_test_in_which_it_fires_and_one_in_which_it_is_quiet(alert: str) -> None:
    tests = [each for path in ALERT_TESTS for each in yaml.safe_load(path.read_text())["tests"]]
    cases = [case for each in tests for case in each["alert_rule_test"]]
    assert {bool(case["exp_alerts"]) for case in cases if case["alertname"] == alert} == {True, False}


@pytest.mark.skipif(PROMTOOL is None, reason="no promtool on the PATH")
@pytest.mark.parametrize(
    "arguments", [("check", "rules", ALERTS), ("test", "rules", *ALERT_TESTS)], ids=["check", "test"]
)
def test_promtool_finds_the_alerts_right(arguments: tuple[str | Path, ...]) -> None:
    assert PROMTOOL is not None
    done = subprocess.run((PROMTOOL, *arguments), capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_chart_carries_the_alerts_with_the_limits_and_the_runbook_of_its_values() -> None:
    given = values("monitored")["alerts"]
    made = only(chart("monitored"), "PrometheusRule")
    spec = yaml.safe_load(ALERTS.read_text().replace("docs/runbook.md", given["runbook"]))
    limits = {"zonal:cost_limit_dollars": given["costLimitDollars"], "zonal:slow_seconds": given["slowSeconds"]}
    for each in spec["groups"][0]["rules"]:
        if each.get("record") in limits:
            each["expr"] = f"vector({limits[each['record']]})"
    assert made["spec"] == spec
    assert given["labels"].items() <= made["metadata"]["labels"].items()


def test_the_chart_carries_every_dashboard_where_the_sidecar_of_grafana_finds_it() -> None:
    given = values("monitored")["dashboards"]
    found = [
        each
        for each in of_kind(chart("monitored"), "ConfigMap")
        if given["label"] in each["metadata"].get("labels", ())
    ]
    assert [each["metadata"]["labels"][given["label"]] for each in found] == [given["labelValue"]] * len(BOARDS)
    assert [each["metadata"]["annotations"] for each in found] == [given["annotations"]] * len(BOARDS)
    carried = {name: json.loads(text) for each in found for name, text in each["data"].items()}
    assert carried == {f"zonal-{each.name}": json.loads(each.read_text()) for each in DASHBOARDS.iterdir()}


def test_a_chart_without_them_has_none_of_them() -> None:
    assert of_kind(chart("everything"), "PrometheusRule") == []
    assert len(of_kind(chart("everything"), "ConfigMap")) == 1


# With a real Prometheus.


@asynccontextmanager
async def scene(place: Path) -> AsyncIterator[tuple[Stage, Zonal]]:
    """A replica in zone-a with something to show in every panel: dry runs, spills, retries, ejections, a finding."""
    async with AsyncExitStack() as stack:
        stage = await stack.enter_async_context(staged(place))
        await stage.shop("zone-a", "zone-b", zone_aware_routing="true", zone_policy="adaptive")
        stage.put(node("node-1", zone="zone-a"), certified("tls", "tls.test"))
        await _one_more(stage, "rehearsing", "zone-b", **{"zonal-ingress.io/zone-dry-run": "true"})
        await _one_more(stage, "away", "zone-b", **{"zonal-ingress.io/zone-policy": "prefer-zone"})
        flaky, _ = await _one_more(stage, "flaky", "zone-a", "zone-a")
        await flaky.stop()
        stage.put(ingress("lost", rule("lost.test", path("/", "missing"))), service("gone"))
        stage.put(ingress("gone", rule("gone.test", path("/", "gone"))))
        stage.put(
            ingress("tls", rule("tls.test", path("/", "cart")), tls=[{"hosts": ["tls.test"], "secretName": "tls"}])
        )
        stage.server.faults.add(Fault(resource="nodes", status=503))
        zonal = await stage.ready("--workers=2", "--zone=zone-a", "--node-name=node-1")
        yield stage, zonal


async def _one_more(stage: Stage, name: str, *zones: str, **annotations: str) -> list[Any]:
    started = [await stage.endpoint(name, zone=zone) for zone in zones]
    document = service(name)
    document["metadata"]["annotations"] = annotations
    stage.put(document, *map(endpoint_slice, started))
    stage.put(ingress(name, rule(f"{name}.test", path("/", name))))
    return started


async def _ask_all(zonal: Zonal) -> None:
    for host in (HOST, "rehearsing.test", "away.test", "flaky.test", "gone.test", "lost.test", "nowhere.test"):
        await get(zonal.http_port, host, "/")


async def _taken(client: H2Connection, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Sends what waits, and returns when zonal has taken it: it answers a PING behind it."""
    client.ping(b"until-it")
    writer.write(client.data_to_send())
    while not any(isinstance(event, PingAckReceived) for event in client.receive_data(await reader.read(65_536))):
        writer.write(client.data_to_send())


async def _flood(zonal: Zonal) -> None:
    """A client breaks off a request that is under way, then so many that its connection is closed as a flood."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.set_alpn_protocols(["h2"])
    reader, writer = await asyncio.open_connection("127.0.0.1", zonal.https_port, ssl=context, server_hostname=HOST)
    client = H2Connection(H2Configuration(client_side=True))
    client.initiate_connection()
    head = [(":method", "POST"), (":scheme", "https"), (":authority", HOST), (":path", "/")]
    client.send_headers(1, head)
    await _taken(client, reader, writer)
    client.reset_stream(1, ErrorCodes.CANCEL)
    await _taken(client, reader, writer)
    for stream in range(3, 2 * _RESETS, 2):
        client.send_headers(stream, head)
        client.reset_stream(stream, ErrorCodes.CANCEL)
    writer.write(client.data_to_send())
    with suppress(ConnectionError):  # of what was sent, the last is not read
        while await reader.read(65_536):
            pass
    writer.close()


def _asked(board: Board, query: str) -> list[str]:
    """The query with each choice of variables that may have an answer."""
    plain = query.replace("$__rate_interval", "1m").replace("$namespace", "shop").replace("$instance", ".*")
    services = ("cart", "rehearsing", "flaky", "gone") if "$service" in plain else ("",)
    return [plain.replace("$service", each) for each in services]


@pytest.mark.slow
@pytest.mark.skipif(PROMETHEUS is None, reason="no prometheus on this machine")
async def test_every_panel_and_every_rule_is_answered_by_a_real_prometheus(tmp_path: Path) -> None:
    async with scene(tmp_path) as (_, zonal), prometheus(tmp_path, zonal.admin_port, rules=ALERTS) as port:
        silent = [_asked(board, query) for board, query in QUERIES if not any(each in query for each in SILENT)]
        await _flood(zonal)
        watch = Stopwatch()
        judged: list[Any] = []
        while silent or _stirring(judged) != TROUBLES:
            assert watch.within(PATIENCE_SECONDS), (silent, judged)
            await _ask_all(zonal)
            silent = [each for each in silent if not [one for one in each if await answered(port, one)]]
            judged = await rules_of(port)
        assert {each["name"]: each["health"] for each in judged if each["health"] != "ok"} == {}


def _stirring(judged: list[Any]) -> set[str]:
    """The alerts that fire, or will if things stay as they are."""
    return {each["name"] for each in judged if each["type"] == "alerting" and each["state"] != "inactive"}


def _of_panel(title: str) -> str:
    """The query of a panel of the fleet, over the last seconds."""
    panel = next(panel for panel in panels_of(BOARDS[0]) if panel.title == title)
    return panel.queries[0].promql.replace("$__rate_interval", "5s")


async def _figures(port: int, title: str, label: str = "") -> dict[str, float]:
    """What a panel shows that is not zero, by a label."""
    found = await answered(port, _of_panel(title))
    return {each["metric"].get(label, ""): float(each["value"][1]) for each in found if float(each["value"][1])}


@pytest.mark.slow
@pytest.mark.skipif(PROMETHEUS is None, reason="no prometheus on this machine")
async def test_the_fleet_shows_a_zone_that_is_lost_and_comes_back(tmp_path: Path) -> None:
    """The phases of the demo: without zones, with zones, without the endpoints of the own zone, and with them again."""
    async with (
        shop(tmp_path, zone_aware_routing="false") as opened,
        running(opened.place, "--zone", "zone-a") as zonal,
        prometheus(tmp_path, zonal.admin_port) as port,
    ):

        async def becomes(share: float, reason: str) -> None:
            watch = Stopwatch()
            while True:
                for _ in range(6):
                    await get(zonal.http_port, HOST, "/")
                shown = (await _figures(port, "Stays in its zone")).get("", 0.0)
                reasons = {*await _figures(port, "Picks/s by reason", "reason")}
                if shown == pytest.approx(share, abs=0.03) and reasons == {reason}:
                    return
                assert watch.within(PATIENCE_SECONDS), (share, reason, shown, reasons)

        await becomes(1 / 6, "off")  # one of six endpoints
        opened.write_settings(zone_aware_routing="true")
        await becomes(1.0, "zone_local")
        assert {*await _figures(port, "Requests/s by zone of the endpoint", "to_zone")} == {"zone-a"}
        others = [endpoint for endpoint in opened.endpoints if endpoint.zone != "zone-a"]
        opened.folder.write("cart.yaml", service("cart"), *map(endpoint_slice, others))
        await becomes(0.0, "zone_empty")
        assert (await _figures(port, "Cost in 30 days"))[""] > 0
        opened.folder.write("cart.yaml", service("cart"), *map(endpoint_slice, opened.endpoints))
        await becomes(1.0, "zone_local")
        assert (await _figures(port, "Saved in 30 days"))[""] > 0
