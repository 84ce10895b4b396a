"""Runs `zonal top` and the commands that list what admin ports know: asks, prints, and decides the exit status.

Does not know flags.
"""

from __future__ import annotations

import json
import shutil
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any, Final

import msgspec
import yaml

from ingress.cli.terminal import views
from ingress.cli.terminal.asking import ask_all
from ingress.cli.terminal.fleet import fleet_flows_table, fleet_notes, fleet_view, replicas_table
from ingress.cli.terminal.lookout import CannotShow, Lookout, TopOptions, told_problem
from ingress.cli.terminal.ranking import chosen, flows_table, headline, services_table, sick_zones_table, totals
from ingress.cli.terminal.rates import TrafficRates
from ingress.cli.terminal.tables import Grid, fitted, lines
from ingress.cli.terminal.views import AdminReply, Wish
from ingress.findings import HARM, Severity


class ViewOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Whom to ask, what is wanted, and for whom: `output` is text, json or yaml.

    `fail_on`: the exit status is 1 if a finding is this or more harmful. `fail_within_days`: if a certificate expires.
    """

    admins: tuple[str, ...]
    wish: Wish = Wish()
    output: str = "text"
    fail_on: Severity | None = None
    fail_within_days: float | None = None


def show_status(options: ViewOptions) -> int:
    """Prints a line for each replica. Returns 1 if one is not well, 0 otherwise."""
    answers = ask_all(options.admins, ("zones",))
    rows = [{"admin": each.admin, **_plain_replica(each)} for each in answers]
    _print(rows, views.status_table(answers), options.output)
    return 0 if all(map(views.is_well, answers)) else 1


def _plain_replica(answer: AdminReply) -> dict[str, Any]:
    if answer.overview is None:
        return {"answers": False, "problem": answer.problem}
    return {"answers": True, **msgspec.to_builtins(answer.overview.replica)}


def show_fleet(options: ViewOptions) -> int:
    """Prints all replicas and sums of their flows. Returns 1 if one does not hear another one, or did not answer."""
    answers = _answers(options, "fleet")
    found = fleet_view(answers)
    if options.output != "text":
        _print(msgspec.to_builtins(found), Grid((), ()), options.output)
    else:
        print(*lines(replicas_table(found)), "", *lines(fleet_flows_table(found)), *fleet_notes(found), sep="\n")
    return 0 if found.is_well and _are_all(answers) else 1


def show_routes(options: ViewOptions) -> int:
    """Prints the paths. Returns 1 if there is none, as grep does, or if a replica did not answer."""
    answers = _answers(options, "routes")
    rows = views.routes(answers, options.wish)
    _print(msgspec.to_builtins(rows), views.routes_table(rows), options.output, none="No path matches.")
    return 0 if rows and _are_all(answers) else 1


def show_endpoints(options: ViewOptions) -> int:
    """Prints the endpoints. Returns 1 if there is none, as grep does, or if a replica did not answer."""
    answers = _answers(options, "endpoints")
    rows = views.endpoints(answers, options.wish)
    none = "No endpoint matches. Endpoints that are neither ready nor draining are left out."
    _print(msgspec.to_builtins(rows), views.endpoints_table(rows), options.output, none=none)
    return 0 if rows and _are_all(answers) else 1


def show_certificates(options: ViewOptions) -> int:
    """Prints the certificates. Returns 1 if one expires within the days, or if a replica did not answer."""
    answers = _answers(options, "certificates")
    rows = views.certificates(answers, options.wish, now=time.time())
    _print(msgspec.to_builtins(rows), views.certificates_table(rows), options.output, none="No certificate matches.")
    limit = options.fail_within_days
    expiring = limit is not None and any(row.days_left < limit for row in rows)
    return 1 if expiring or not _are_all(answers) else 0


def show_findings(options: ViewOptions) -> int:
    """Prints the findings. Returns 1 if one is as harmful as `fail_on`, or if a replica did not answer."""
    answers = _answers(options, "findings")
    rows = views.findings(answers, options.wish)
    _print(msgspec.to_builtins(rows), views.findings_table(rows), options.output, none="No finding matches.")
    limit = HARM[options.fail_on] if options.fail_on is not None else -1
    return 1 if any(HARM[row.severity] <= limit for row in rows) or not _are_all(answers) else 0


def show_top(options: TopOptions) -> int:
    """Shows the traffic once, or on the whole terminal until Ctrl-C. Raises `CannotShow`."""
    watch = Lookout(options)
    if options.once:
        watch.look()
        time.sleep(options.interval_seconds)
        found = watch.look()
        _print_top(found, options)
        return 0 if not watch.problems else 1
    return _show_live(watch, options)


def _print_top(found: TrafficRates, options: TopOptions) -> None:
    shown = chosen(found, options.choice)
    if options.output == "text":
        services = services_table(shown.services)
        if sys.stdout.isatty():
            services = fitted(services, shutil.get_terminal_size().columns)
        print(headline(found), *lines(flows_table(shown.flows)), "", *lines(services), sep="\n")
        if (sick := sick_zones_table(shown.services)).rows:
            print("", *lines(sick), sep="\n")
        return
    plain = {"totals": msgspec.to_builtins(totals(found)), **msgspec.to_builtins(shown)}
    print(_ENCODERS[options.output](plain))


def _show_live(watch: Lookout, options: TopOptions) -> int:
    if options.output != "text":
        raise CannotShow(f"-o {options.output} goes with --once")
    if not sys.stdout.isatty():
        raise CannotShow("standard output is no terminal: use --once")
    try:
        from ingress.cli.terminal.live import run_live
    except ImportError:
        raise CannotShow("a live view needs rich (pip install rich): install it, or use --once") from None
    return run_live(watch, options)


def _answers(options: ViewOptions, part: str) -> list[AdminReply]:
    """What the replicas say. Those that say nothing are complained about. Raises `CannotShow` if none answers."""
    answers = ask_all(options.admins, (part,))
    silent = [answer for answer in answers if answer.overview is None]
    if len(silent) == len(answers):
        raise CannotShow(told_problem(answers[0]))
    for answer in silent:
        print(f"zonal: {told_problem(answer)}", file=sys.stderr)
    return answers


def _are_all(answers: Sequence[AdminReply]) -> bool:
    return all(answer.overview is not None for answer in answers)


def _print(plain: Any, shown: Grid, output: str, *, none: str = "") -> None:
    """Prints a table, or what `output` asks for. `none` is what people read in the place of a table without rows."""
    if output != "text":
        print(_ENCODERS[output](plain))
        return
    print("\n".join(lines(shown)) if shown.rows or not none else none)


def _as_json(plain: Any) -> str:
    # Every character beyond ASCII is escaped: a terminal may obey some of those that JSON allows.
    return json.dumps(plain, indent=2)


def _as_yaml(plain: Any) -> str:
    return yaml.safe_dump(plain, sort_keys=False).rstrip("\n")


_ENCODERS: Final[dict[str, Callable[[Any], str]]] = {"json": _as_json, "yaml": _as_yaml}
