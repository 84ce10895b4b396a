"""Makes the paths of a host regular expressions where one of its Ingresses means one (ingress-nginx: regex mode).

ingress-nginx then searches every path of the host as an expression that is anchored at its start and ignores case. The
first that is found serves: the longest, then the last in the order of bytes, then the oldest. Source:
internal/ingress/controller/controller.go (getBackendServers), location.go and template/template.go. Here that holds for
the paths of each namespace: those of others keep their meaning and their place (`expression_order.py`). Does not know
how annotations are read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from functools import partial

import msgspec

from balancer.matching.regexes import INSTRUCTIONS_MAX
from balancer.model.gates import in_phases
from balancer.model.rewriting import Rewriting
from balancer.model.routes import Owner, PathKind
from ingress.findings import Findings, Report, Severity, quote
from ingress.translation.claims import subject_of_owner
from ingress.translation.containment import contained
from ingress.translation.expression_costs import ExpressionCosts
from ingress.translation.ingress.hosts.expression_order import in_order
from ingress.translation.ingress.hosts.expression_reading import ExpressionReading, Readings
from ingress.translation.ingress.hosts.settled import PlaceClaim, SettledHost
from ingress.translation.ingress.path_expressions import closing_expression, literal_expression

# Of all expressions of a namespace. To read so many takes a translation less than a second, once. A thousand paths that
# people write have 40,000.
_CHARACTERS_MOST = 256 * 1024
# A finding names so many paths.
_NAMED_MOST = 3
_TOO_LONG_TOGETHER = f"all expressions of its namespace have more than {_CHARACTERS_MOST:,} characters"
_TOO_LARGE_TOGETHER = (
    "the expressions of its namespace that begin alike on this host are too large together, so that they would slow"
    " other requests"
)


def find_expressions(hosts: Mapping[str, SettledHost], readings: Readings, findings: Findings) -> None:
    """Gives each host with expressions its `expressions`, in the order in which they are tried.

    `readings` remembers what the last translation read.
    """
    characters = Counter[str]()
    for name, settled in hosts.items():
        if authors := _authors(settled):
            settled.expressions = _Expressions(settled, authors, readings, characters, findings).in_order()
            for namespace, author in authors.items():
                _note_neighbours(name, namespace, author, settled, findings)


def _authors(settled: SettledHost) -> dict[str, PlaceClaim]:
    """By namespace the first claim that makes the paths of the namespace expressions."""
    claims = (*settled.paths.values(), *(() if settled.default is None else (settled.default,)))
    authors: dict[str, PlaceClaim] = {}
    for claim in claims:
        if claim.is_expression or claim.rewriting is not None:
            authors.setdefault(claim.owner.namespace, claim)
    return authors


class _Expressions:
    """Compiles the claims of one host, the oldest first, and counts what a search for all of them may cost."""

    __slots__ = ("_authors", "_characters", "_costs", "_findings", "_readings", "_settled")

    def __init__(
        self,
        settled: SettledHost,
        authors: Collection[str],
        readings: Readings,
        characters: Counter[str],
        findings: Findings,
    ) -> None:
        """`authors` are the namespaces whose paths are expressions.

        `characters` says how long the expressions of each namespace are together, and is counted on.
        """
        self._authors = authors
        self._readings = readings
        self._settled = settled
        self._characters = characters
        self._findings = findings
        self._costs = ExpressionCosts()

    def in_order(self) -> tuple[PlaceClaim, ...]:
        """Every claim to a path with its expression, in the order in which they are tried."""
        paths = [self._compiled(each) for each in self._settled.paths.values()]
        if (default := self._settled.default) is not None and default.rewriting is not None:
            self._settled.default = msgspec.structs.replace(self._compiled(default), expression="", long_expression="")
        return in_order(paths, self._authors)

    def _compiled(self, claim: PlaceClaim) -> PlaceClaim:
        """The claim with its expression. If it cannot be carried out, whatever it may match is closed."""
        if claim.owner.namespace not in self._authors:
            return self._literal(claim)
        report = self._findings.about(subject_of_owner(claim.owner))
        make = partial(self._carried_out, claim, report)
        made = contained(make, report, severity=Severity.CLOSED, effect="Requests that the path may match answer 503.")
        return made or _closed(claim, closing_expression(claim.path))

    def _carried_out(self, claim: PlaceClaim, report: Report) -> PlaceClaim:
        """`claim` with its expression, or closed with a finding."""
        reading = self._read(claim)
        if reading.problem:
            _note_refused(claim, reading.problem, reading.beginning, report)
            return _closed(claim, reading.closing)
        is_wide = self._takes(claim, reading)
        if is_wide is None:
            _note_refused(claim, _TOO_LARGE_TOGETHER, reading.beginning, report)
            return _closed(claim, reading.closing)
        return msgspec.structs.replace(
            claim,
            expression=reading.expression,
            long_expression=reading.closing if is_wide else "",
            rewriting=reading.rewriting,
            gates=claim.gates if reading.redirect is None else in_phases((reading.redirect, *claim.gates)),
        )

    def _literal(self, claim: PlaceClaim) -> PlaceClaim:
        """The claim with an expression that matches what Kubernetes says of its path, and no more."""
        has_shorter = claim.path.endswith("/") and (claim.path[:-1], PathKind.PREFIX) in self._settled.paths
        return msgspec.structs.replace(
            claim, expression=literal_expression(claim.path, claim.kind, has_shorter=has_shorter)
        )

    def _read(self, claim: PlaceClaim) -> ExpressionReading:
        namespace, searched = claim.owner.namespace, self._searched(claim)
        rewriting = claim.rewriting if isinstance(claim.rewriting, Rewriting) else None
        self._characters[namespace] += len(searched) + (len(rewriting.expression) if rewriting else 0)
        if self._characters[namespace] > _CHARACTERS_MOST:
            return self._readings.refused(namespace, claim.path, _TOO_LONG_TOGETHER)
        reading = self._readings.of(namespace, claim.path, searched, rewriting)
        if reading.instructions > INSTRUCTIONS_MAX:
            return msgspec.structs.replace(reading, problem="the expression is too large")
        return reading

    def _searched(self, claim: PlaceClaim) -> str:
        """The text of the claim's expression. A Prefix path beside an equal Exact path has a final slash."""
        is_beside_exact = (claim.path, PathKind.EXACT) in self._settled.paths
        if claim.is_expression or claim.kind is PathKind.EXACT or not is_beside_exact or claim.path.endswith("/"):
            return claim.path
        return claim.path + "/"

    def _takes(self, claim: PlaceClaim, reading: ExpressionReading) -> bool | None:
        """Whether the expression is only searched for in short paths. None: its namespace has no room for it."""
        tenant = claim.owner.namespace
        if reading.is_narrow:
            return False if self._costs.take_narrow(tenant, reading.beginning, claim.path) else None
        return True if self._costs.take_wide(tenant, reading.beginning, reading.instructions) else None


def _closed(claim: PlaceClaim, closing: str) -> PlaceClaim:
    return msgspec.structs.replace(claim, expression=closing, long_expression="", rewriting=None, closed=True)


def _note_refused(claim: PlaceClaim, problem: str, begins: str, report: Report) -> None:
    report.add(
        reason="ExpressionRefused",
        message=f"The {claim.place} cannot be carried out as a regular expression ({problem}): write it as RE2 has it,"
        " or as other paths.",
        effect=f"Requests that it may match answer 503: those that begin with {quote(begins)}.",
        severity=Severity.CLOSED,
    )


def _note_neighbours(host: str, namespace: str, author: PlaceClaim, settled: SettledHost, findings: Findings) -> None:
    """Tells other Ingresses of a namespace that their paths are expressions, because they match more than Kubernetes
    documents.
    """
    changed: dict[Owner, list[str]] = {}
    for claim in settled.paths.values():
        if claim.owner == author.owner or claim.owner.namespace != namespace:
            continue
        if not claim.is_expression and claim.path != "/":
            changed.setdefault(claim.owner, []).append(claim.path)
    for owner, paths in changed.items():
        more = f" and {len(paths) - _NAMED_MOST} more" if len(paths) > _NAMED_MOST else ""
        listed = ", ".join(map(quote, paths[:_NAMED_MOST]))
        findings.add(
            subject_of_owner(owner),
            reason="RegexHost",
            message=f"{author.owner.kind} {author.owner.full_name} makes every path of its namespace at host"
            f" {quote(host)} a regular expression, as in ingress-nginx: give one of them another host to avoid that.",
            effect=f"Any path that begins like {listed}{more} matches, in any case, unless a longer expression does.",
            severity=Severity.DEGRADED,
        )
