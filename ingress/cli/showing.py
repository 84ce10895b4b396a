"""The commands that show what running replicas know: `top`, `status`, `routes`, `endpoints`, `certs` and `findings`.

Reads their options. Does not know how anything is asked or shown.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from ingress.cli.flags import BadInput, Command, finish, option, reference, section, switch

if TYPE_CHECKING:
    from ingress.cli.terminal.commands import ViewOptions
    from ingress.findings import Severity

_ADMIN = "URL of an admin port (repeatable: the replicas are added up)."
_SEVERITIES = ("closed", "misrouted", "unprotected", "degraded", "cosmetic")
_ORDERS = ("requests", "errors", "remote", "p99", "bytes", "cost", "name")
_STATES = ("ready", "draining", "ejected", "fails_checks")

_admin = option("--admin", multiple=True, default=("http://127.0.0.1:10254",), help=_ADMIN, metavar="URL")
_output = option("--output", "-o", type=click.Choice(["text", "json", "yaml"]), default="text", help="For whom.")
_namespace = option("--namespace", "-n", default="", help="Only of this namespace.")
_text = option("--filter", "text", default="", help="Only rows that contain this text.", metavar="TEXT")
_service = option("--service", help="Only of this Service.", metavar="NS/NAME")


@click.command(cls=Command)
@section("Whom to ask", _admin)
@section(
    "What is shown",
    option("--sort", type=click.Choice(_ORDERS), default="requests", help="The Services with most of this first."),
    _namespace,
    option("--filter", "text", default="", help="Only Services whose NS/NAME contains this.", metavar="TEXT"),
    option("--limit", type=click.IntRange(min=0), default=0, help="So many Services at most; 0: all."),
    option("--interval", type=click.FloatRange(min=0.2, max=3600), default=1.0, help="Seconds that rates are of."),
    switch("--once", help="Print the rates of one interval and end."),
    _output,
)
def top(**given: Any) -> None:
    """Watch the traffic: from which zone to which, of which Service, and what it costs."""
    from ingress.cli.terminal.commands import show_top
    from ingress.cli.terminal.lookout import TopOptions
    from ingress.cli.terminal.ranking import Choice, Order

    choice = Choice(order=Order(given["sort"]), namespace=given["namespace"], text=given["text"], limit=given["limit"])
    options = TopOptions(
        admins=_admins(given),
        choice=choice,
        output=given["output"],
        interval_seconds=given["interval"],
        once=given["once"],
    )
    _end(show_top, options)


@click.command(cls=Command)
@section("Whom to ask", _admin)
@section("Answer", _output)
def status(**given: Any) -> None:
    """Show each replica: zone, version, generation, workers, leader. Exit 1 unless all are well."""
    from ingress.cli.terminal.commands import show_status

    _end(show_status, _view(given))


@click.command(cls=Command)
@section("Whom to ask", _admin)
@section("What is shown", _namespace, _service, option("--host", default="", help="Only of this host."), _text)
@section("Answer", _output)
def routes(**given: Any) -> None:
    """Show hosts and paths with their Ingress, Service and certificate. Exit 1 if there is none."""
    from ingress.cli.terminal.commands import show_routes

    _end(show_routes, _view(given))


@click.command(cls=Command)
@section("Whom to ask", _admin)
@section(
    "What is shown",
    _namespace,
    _service,
    option("--in-zone", "zone", default="", help="Only in this zone, or `unknown`.", metavar="ZONE"),
    option("--state", type=click.Choice(_STATES), help="Only in this state."),
    _text,
)
@section("Answer", _output)
def endpoints(**given: Any) -> None:
    """Show endpoints with zone, node, pod and state. Exit 1 if there is none."""
    from ingress.cli.terminal.commands import show_endpoints

    _end(show_endpoints, _view(given))


@click.command(cls=Command)
@section("Whom to ask", _admin)
@section("What is shown", _namespace, option("--host", default="", help="Only that of this host."), _text)
@section(
    "Answer",
    _output,
    option("--fail-within", type=float, help="Exit 1 if a certificate expires within so many days.", metavar="DAYS"),
)
def certs(**given: Any) -> None:
    """Show certificates in use, the first to expire first."""
    from ingress.cli.terminal.commands import show_certificates

    _end(show_certificates, _view(given))


@click.command(cls=Command)
@section("Whom to ask", _admin)
@section(
    "What is shown",
    _namespace,
    option("--severity", type=click.Choice(_SEVERITIES), help="Only those as harmful as this, or more."),
    _text,
)
@section(
    "Answer",
    _output,
    option("--fail-on", type=click.Choice(_SEVERITIES), help="Exit 1 if a finding is this or more harmful."),
)
def findings(**given: Any) -> None:
    """Show what is wrong with objects of the cluster, the most harmful first."""
    from ingress.cli.terminal.commands import show_findings

    _end(show_findings, _view(given))


@click.command(cls=Command)
@section("Whom to ask", _admin)
@section("Answer", _output)
def fleet(**given: Any) -> None:
    """Show all replicas, as one of them knows the others. Exit 1 unless each hears every other one."""
    from ingress.cli.terminal.commands import show_fleet

    _end(show_fleet, _view(given))


COMMANDS = (top, status, fleet, routes, endpoints, certs, findings)


def _end(show: Callable[[Any], int], options: object) -> None:
    from ingress.cli.terminal.lookout import CannotShow

    finish(show, options, refusal=CannotShow)


def _view(given: dict[str, Any]) -> ViewOptions:
    from ingress.cli.terminal.commands import ViewOptions
    from ingress.cli.terminal.views import Wish

    wish = Wish(
        namespace=given.get("namespace") or "",
        service=reference("--service", given.get("service")) or "",
        host=given.get("host") or "",
        zone=given.get("zone") or "",
        state=given.get("state") or "",
        severity=_severity(given.get("severity")),
        text=given.get("text") or "",
    )
    return ViewOptions(
        admins=_admins(given),
        wish=wish,
        output=given["output"],
        fail_on=_severity(given.get("fail_on")),
        fail_within_days=given.get("fail_within"),
    )


def _severity(given: str | None) -> Severity | None:
    from ingress.findings import Severity

    return Severity(given) if given else None


def _admins(given: dict[str, Any]) -> tuple[str, ...]:
    from ingress.cli.terminal.asking import is_admin_url

    admins = tuple(dict.fromkeys(given["admin"]))
    if not all(map(is_admin_url, admins)):
        raise BadInput("--admin takes the URL of an admin port, such as http://127.0.0.1:10254")
    return admins
