"""Rows of several replicas as one list, filtered, and as a table."""

from __future__ import annotations

from typing import Any

import pytest

from ingress.admin.overview.document import CertificateRow, EndpointRow, RouteRow, WorkerRow
from ingress.cli.terminal import views
from ingress.cli.terminal.tables import lines
from ingress.cli.terminal.views import AdminReply, Wish
from ingress.findings import Finding, Severity
from tests.unit.ingress.cli.terminal.documents import overview

NOW, DAY = 1_800_000_000.0, 86400.0

CART = RouteRow("shop.test", "/", "Prefix", "shop", "web", "cart", "shop/cart:80", certificate="shop/tls")
PAY = RouteRow("pay.test", "/pay", "Exact", "bank", "pay", "till", closed=True, features=("canary",))
READY = EndpointRow("shop", "cart", "http", "10.0.0.1:80", zone="zone-a", node="node-1", pod="cart-1")
EJECTED = EndpointRow("shop", "cart", "http", "10.0.0.1:80", zone="zone-a", state="ejected", workers=2)
OTHER = EndpointRow("bank", "till", "http", "10.0.0.2:80")
CLOSED = Finding("Ingress", "shop", "web", "HostTaken", "Another has it.", "503", Severity.CLOSED)
MINOR = Finding("IngressClass", "", "zonal", "Odd", "Is odd.", "", Severity.COSMETIC)


def answers(part: str, *rows: Any) -> list[AdminReply]:
    """A replica for each of `rows`, and one that does not answer."""
    found = [AdminReply(f"http://{number}", overview(1.0, **{part: each})) for number, each in enumerate(rows)]
    return [*found, AdminReply("http://gone", problem="connection refused")]


def test_replicas_of_one_cluster_show_each_route_once() -> None:
    given = answers("routes", (CART,), (CART, PAY))
    assert views.routes(given, Wish()) == [CART, PAY]
    assert list(lines(views.routes_table([CART, PAY]))) == [
        "HOST       PATH  KIND    INGRESS   SERVICE  CERTIFICATE  FEATURES",
        "shop.test  /     Prefix  shop/web  cart     shop/tls     -",
        "pay.test   /pay  Exact   bank/pay  till     -            closed,canary",
    ]


@pytest.mark.parametrize(
    "wish",
    [
        Wish(namespace="bank"),
        Wish(service="bank/till"),
        Wish(host="pay.test"),
        Wish(text="/pay"),
        Wish(namespace="bank", text="canary"),
    ],
)
def test_routes_are_filtered(wish: Wish) -> None:
    assert views.routes(answers("routes", (CART, PAY)), wish) == [PAY]


def test_an_endpoint_is_as_sick_as_any_replica_says() -> None:
    given = answers("endpoints", (READY, OTHER), (EJECTED,), (EJECTED,))
    (found, other) = views.endpoints(given, Wish())
    assert (found.state, found.workers, other) == ("ejected", 4, OTHER)
    assert "ejected (4 workers)" in "\n".join(lines(views.endpoints_table([found])))


def test_a_state_of_a_newer_version_is_shown_as_it_is() -> None:
    newer = EndpointRow("shop", "cart", "http", "10.0.0.1:80", state="resting")
    assert views.endpoints(answers("endpoints", (EJECTED,), (newer,)), Wish()) == [newer]


@pytest.mark.parametrize(
    "wish", [Wish(service="bank/till"), Wish(zone="unknown"), Wish(state="ready", namespace="bank"), Wish(text="0.2")]
)
def test_endpoints_are_filtered(wish: Wish) -> None:
    assert views.endpoints(answers("endpoints", (EJECTED, OTHER)), wish) == [OTHER]


def test_certificates_are_sorted_by_their_end_and_say_how_many_days_are_left() -> None:
    late = CertificateRow("shop", "late", NOW + 90 * DAY, ("a.test", "b.test"), 7)
    gone = CertificateRow("shop", "gone", NOW - DAY / 2)
    found = views.certificates(answers("certificates", (late, gone), (late,)), Wish(), now=NOW)
    assert [(each.secret, each.days_left) for each in found] == [("gone", -0.5), ("late", 90.0)]
    assert list(lines(views.certificates_table(found))) == [
        "SECRET     EXPIRES               DAYS LEFT  HOSTS",
        "shop/gone  2027-01-14 20:00 UTC       -0.5  -",
        "shop/late  2027-04-15 08:00 UTC       90.0  a.test, b.test and 5 more",
    ]
    assert views.certificates(answers("certificates", (late, gone)), Wish(host="b.test"), now=NOW) == found[1:]


def test_a_date_beyond_the_calendar_is_a_number() -> None:
    odd = CertificateRow("shop", "odd", 1e18)
    (_, line) = lines(views.certificates_table(views.certificates(answers("certificates", (odd,)), Wish(), now=NOW)))
    assert line.split()[1] == "1000000000000000000"


def test_findings_are_those_as_harmful_as_asked_for_or_more() -> None:
    given = answers("findings", (MINOR, CLOSED), (CLOSED,))
    assert views.findings(given, Wish()) == [CLOSED, MINOR]
    assert views.findings(given, Wish(severity=Severity.DEGRADED)) == [CLOSED]
    assert views.findings(given, Wish(namespace="shop")) == [CLOSED]
    assert list(lines(views.findings_table([CLOSED, MINOR]))) == [
        "SEVERITY  OBJECT              REASON",
        "closed    Ingress shop/web    HostTaken",
        "    Another has it.",
        "    503",
        "cosmetic  IngressClass zonal  Odd",
        "    Is odd.",
    ]


def test_a_replica_is_well_if_it_answers_is_ready_and_follows_the_api_server() -> None:
    well = AdminReply("http://a", overview(facts={"own_zone": "zone-a", "zone_source": "node", "leading": True}))
    unready = AdminReply("http://b", overview(facts={"problem": "no worker"}))
    away = AdminReply("http://c", overview(facts={"api_problem": "connection refused"}))
    silent = AdminReply("http://d", problem="timed out")
    assert [views.is_well(each) for each in (well, unready, away, silent)] == [True, False, False, False]
    text = list(lines(views.status_table([well, unready, away, silent])))
    assert text[1].split()[:6] == ["http://a", "zone-a", "node", "1.2.3", "yes", "yes"]
    assert [line.strip() for line in text if line.startswith("    ")] == [
        "not ready: no worker",
        "API server: connection refused",
        "timed out",
    ]


def test_the_memory_of_a_replica_is_that_of_all_its_processes() -> None:
    workers = tuple(WorkerRow(number, memory_bytes=50 * 2**20) for number in (0, 1))
    facts = {"memory_bytes": 100 * 2**20, "workers": workers, "published_at_epoch_seconds": 40.0, "pod": "zonal-0"}
    (_, line) = lines(views.status_table([AdminReply("http://a", overview(at=7240.0, facts=facts))]))
    assert line.split()[-6:] == ["2.0", "h", "2", "0", "0", "200"]
