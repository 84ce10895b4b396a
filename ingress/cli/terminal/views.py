"""What `status`, `routes`, `endpoints`, `certs` and `findings` list: rows of all replicas as one list, and as a table.

Replicas of one cluster know the same objects, so equal rows are shown once. Pure: time is an argument.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Final

import msgspec

from ingress.admin.overview.document import CertificateRow, EndpointRow, Overview, ReplicaFacts, RouteRow
from ingress.cli.terminal.tables import Column, Grid, Row, table
from ingress.findings import HARM, Finding, Severity, most_harmful_first

_DAY_SECONDS: Final = 86400

# The harm of a state, the least first. A replica judges by its own requests, so the worst word of any replica counts.
_STATES: Final = ("ready", "draining", "ejected", "fails_checks")


class AdminReply(msgspec.Struct, frozen=True):
    """What one admin port has said. `overview` is None if it did not, and `problem` says why."""

    admin: str
    overview: Overview | None = None
    problem: str = ""


class Wish(msgspec.Struct, frozen=True, kw_only=True):
    """Which rows are wanted. An empty text leaves nothing out.

    `service` is namespace/name. `text` is anywhere in a row. `severity` is that of findings or more harmful.
    """

    namespace: str = ""
    service: str = ""
    host: str = ""
    zone: str = ""
    state: str = ""
    severity: Severity | None = None
    text: str = ""


class CertificateDays(msgspec.Struct, frozen=True):
    """A certificate with the days that it has left, below 0 after its end."""

    namespace: str
    secret: str
    expires_at_epoch_seconds: float
    days_left: float
    hosts: tuple[str, ...]
    host_count: int


def _documents(answers: Iterable[AdminReply]) -> list[Overview]:
    return [answer.overview for answer in answers if answer.overview is not None]


def _contains(row: msgspec.Struct, text: str) -> bool:
    return text in " ".join(str(value) for value in msgspec.structs.astuple(row))


# Routes.


def routes(answers: Sequence[AdminReply], wish: Wish) -> list[RouteRow]:
    """Every path once, in the order of the first replica that knows it."""
    rows = dict.fromkeys(row for document in _documents(answers) for row in document.routes or ())
    return [row for row in rows if _is_wanted_route(row, wish)]


def _is_wanted_route(row: RouteRow, wish: Wish) -> bool:
    return (
        wish.namespace in ("", row.namespace)
        and wish.service in ("", f"{row.namespace}/{row.service}")
        and wish.host in ("", row.host)
        and _contains(row, wish.text)
    )


def routes_table(rows: Sequence[RouteRow]) -> Grid:
    """One line for each path."""
    columns = [Column(name) for name in ("host", "path", "kind", "ingress", "service", "certificate", "features")]
    return table(columns, [Row(_route_cells(row)) for row in rows])


def _route_cells(row: RouteRow) -> tuple[str, ...]:
    owner = f"{row.namespace}/{row.ingress}" if row.ingress else "-"
    features = ",".join((*(("closed",) if row.closed else ()), *row.features))
    return (row.host or "*", row.path, row.kind, owner, row.service or "-", row.certificate or "-", features or "-")


# Endpoints.


def endpoints(answers: Sequence[AdminReply], wish: Wish) -> list[EndpointRow]:
    """Every endpoint once, in its worst state on any replica; `workers` are those of all replicas that say so."""
    known: dict[tuple[str, ...], EndpointRow] = {}
    for row in (row for document in _documents(answers) for row in document.endpoints or ()):
        key = row.namespace, row.service, row.port, row.address
        known[key] = _worse(known[key], row) if key in known else row
    return [row for row in known.values() if _is_wanted_endpoint(row, wish)]


def _worse(one: EndpointRow, other: EndpointRow) -> EndpointRow:
    if one.state == other.state:
        return msgspec.structs.replace(one, workers=one.workers + other.workers)
    return max(one, other, key=lambda row: _STATES.index(row.state) if row.state in _STATES else len(_STATES))


def _is_wanted_endpoint(row: EndpointRow, wish: Wish) -> bool:
    return (
        wish.namespace in ("", row.namespace)
        and wish.service in ("", f"{row.namespace}/{row.service}")
        and wish.zone in ("", row.zone or "unknown")
        and wish.state in ("", row.state)
        and _contains(row, wish.text)
    )


def endpoints_table(rows: Sequence[EndpointRow]) -> Grid:
    """One line for each endpoint."""
    columns = [Column(name) for name in ("service", "port", "address", "zone", "state", "node", "pod")]
    return table(
        columns,
        [
            Row(
                (
                    f"{row.namespace}/{row.service}",
                    row.port,
                    row.address,
                    row.zone or "unknown",
                    f"{row.state} ({row.workers} workers)" if row.workers else row.state,
                    row.node or "-",
                    row.pod or "-",
                )
            )
            for row in rows
        ],
    )


# Certificates.


def certificates(answers: Sequence[AdminReply], wish: Wish, *, now: float) -> list[CertificateDays]:
    """Every certificate once, the first to expire first. `now` is Unix time."""
    known: dict[tuple[str, str], CertificateRow] = {}
    for row in (row for document in _documents(answers) for row in document.certificates or ()):
        known.setdefault((row.namespace, row.secret), row)
    ordered = sorted(known.values(), key=lambda row: (row.expires_at_epoch_seconds, row.namespace, row.secret))
    return [
        _with_days(row, now)
        for row in ordered
        if wish.namespace in ("", row.namespace)
        and (not wish.host or wish.host in row.hosts)
        and _contains(row, wish.text)
    ]


def _with_days(row: CertificateRow, now: float) -> CertificateDays:
    days = (row.expires_at_epoch_seconds - now) / _DAY_SECONDS
    return CertificateDays(
        row.namespace, row.secret, row.expires_at_epoch_seconds, round(days, 2), row.hosts, row.host_count
    )


def certificates_table(rows: Sequence[CertificateDays]) -> Grid:
    """One line for each certificate."""
    columns = (Column("secret"), Column("expires"), Column("days left", is_number=True), Column("hosts"))
    return table(
        columns,
        [
            Row(
                (
                    f"{row.namespace}/{row.secret}",
                    _date(row.expires_at_epoch_seconds),
                    f"{row.days_left:.1f}",
                    _hosts(row),
                )
            )
            for row in rows
        ],
    )


def _date(epoch_seconds: float) -> str:
    try:
        return datetime.fromtimestamp(epoch_seconds, tz=UTC).strftime("%Y-%m-%d %H:%M UTC")
    except (OverflowError, ValueError, OSError):
        return f"{epoch_seconds:.0f}"


def _hosts(row: CertificateDays) -> str:
    more = row.host_count - len(row.hosts)
    return ", ".join(row.hosts) + (f" and {more} more" if more > 0 else "") or "-"


# Findings.


def findings(answers: Sequence[AdminReply], wish: Wish) -> list[Finding]:
    """Every finding once, the most harmful first."""
    limit = HARM[wish.severity] if wish.severity is not None else len(HARM)
    found = most_harmful_first(finding for document in _documents(answers) for finding in document.findings or ())
    return [
        each
        for each in found
        if HARM[each.severity] <= limit and wish.namespace in ("", each.namespace) and _contains(each, wish.text)
    ]


def findings_table(rows: Sequence[Finding]) -> Grid:
    """One line for each finding, what to change, and what happens to requests."""
    columns = [Column(name) for name in ("severity", "object", "reason")]
    return table(
        columns,
        [
            Row((row.severity.value, _object(row), row.reason), tuple(filter(None, (row.message, row.effect))))
            for row in rows
        ],
    )


def _object(finding: Finding) -> str:
    return (
        f"{finding.kind} {finding.namespace}/{finding.name}" if finding.namespace else f"{finding.kind} {finding.name}"
    )


# Replicas.


def status_table(answers: Sequence[AdminReply]) -> Grid:
    """One line for each replica, with what is wrong with it below. Ages count from the replica's own clock."""
    columns = [Column(name) for name in ("replica", "zone", "known by", "version", "ready", "leads")]
    columns += [Column(name, is_number=True) for name in ("generation", "age", "workers", "restarts", "lag ms", "MiB")]
    return table(columns, [_status_row(answer) for answer in answers])


def is_well(answer: AdminReply) -> bool:
    """Whether a replica answers, is ready, and can follow the API server."""
    return (
        answer.overview is not None and not answer.overview.replica.problem and not answer.overview.replica.api_problem
    )


def _status_row(answer: AdminReply) -> Row:
    if answer.overview is None:
        return Row((answer.admin, *["-"] * 3, "no answer", *["-"] * 7), (answer.problem,))
    facts, now = answer.overview.replica, answer.overview.at_epoch_seconds
    return Row(
        (
            facts.pod or answer.admin,
            facts.own_zone or "unknown",
            facts.zone_source,
            facts.version,
            "no" if facts.problem else "yes",
            {None: "-", True: "yes", False: "no"}[facts.leading],
            str(facts.generation),
            _age(now - facts.published_at_epoch_seconds) if facts.published_at_epoch_seconds else "-",
            str(len(facts.workers)),
            str(facts.worker_restarts),
            f"{facts.loop_lag_seconds * 1000:.0f}",
            f"{_memory(facts) / 2**20:.0f}",
        ),
        tuple(f"{what}: {problem}" for what, problem in _problems(facts) if problem),
    )


def _problems(facts: ReplicaFacts) -> tuple[tuple[str, str], ...]:
    return ("not ready", facts.problem), ("API server", facts.api_problem)


def _memory(facts: ReplicaFacts) -> int:
    return facts.memory_bytes + sum(worker.memory_bytes for worker in facts.workers)


def _age(seconds: float) -> str:
    for unit, length in (("d", _DAY_SECONDS), ("h", 3600), ("m", 60)):
        if seconds >= length:
            return f"{seconds / length:.1f} {unit}"
    return f"{max(0.0, seconds):.0f} s"
