"""Makes the paths of a host regular expressions where one of its Ingresses means one (ingress-nginx: regex mode).

ingress-nginx then searches every path of the host as an expression that is anchored at its start and ignores case. The
first that is found serves: the longest, then the last in the order of bytes, then the oldest. Source:
internal/ingress/controller/controller.go (getBackendServers), location.go and template/template.go. Does not know how
annotations are read.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial

import msgspec

from balancer.matching.regexes import INSTRUCTIONS_MAX, Pattern, PatternError, compile_caseless
from balancer.matching.rewriting import UnknownReference, compile_target
from balancer.model.gates import in_phases
from balancer.model.redirects import RewrittenRedirect
from balancer.model.rewriting import Rewriting
from balancer.model.routes import Owner, PathKind
from ingress.findings import Findings, Report, Severity, quote
from ingress.translation.claims import Claim, subject_of_owner
from ingress.translation.conflicts import SettledClaim, SettledHost
from ingress.translation.containment import contained
from ingress.translation.expression_costs import ExpressionCosts
from ingress.translation.ingress.beginnings import beginning, has_alternatives
from ingress.translation.ingress.path_expressions import OtherMeaning, closing_expression, expression_of
from ingress.translation.narrow_expressions import is_narrow

# nginx ngx_http_rewrite: a target that begins so is a redirect.
_ABSOLUTE = re.compile(r"https?://|\$scheme")
_OWN_AUTHORITY = re.compile(r"(?:https?|\$scheme)://(?:[-._~a-zA-Z0-9]+|\$host)(?::[0-9]+)?(?:/|\Z)")
# A finding names so many paths.
_NAMED_MOST = 3


class _NotCarriedOut(ValueError):
    """An expression or its target cannot be carried out; the message says why."""


def find_expressions(hosts: Mapping[str, SettledHost], findings: Findings) -> None:
    """Gives each host with expressions its `expressions`, in the order in which they are tried."""
    for name, settled in hosts.items():
        if (author := _author(settled)) is not None:
            settled.expressions = _Expressions(settled, findings).in_order()
            _note_neighbours(name, author, settled, findings)


def _author(settled: SettledHost) -> Claim | None:
    """The first claim that makes the paths of its host expressions."""
    claims = (each.claim for each in (*settled.paths.values(), settled.default) if each is not None)
    return next((claim for claim in claims if claim.is_expression or claim.rewriting is not None), None)


class _Expressions:
    """Compiles the claims of one host, the oldest first, and counts what a search for all of them may cost."""

    __slots__ = ("_costs", "_findings", "_settled")

    def __init__(self, settled: SettledHost, findings: Findings) -> None:
        self._settled = settled
        self._findings = findings
        self._costs = ExpressionCosts()

    def in_order(self) -> tuple[SettledClaim, ...]:
        """Every claim to a path with its expression, in the order in which they are tried."""
        paths = [self._compiled(each) for each in self._settled.paths.values()]
        if (default := self._settled.default) is not None and default.claim.rewriting is not None:
            compiled = self._compiled(default)
            claim = msgspec.structs.replace(compiled.claim, expression="", long_expression="")
            self._settled.default = compiled.with_claim(claim)
        return tuple(sorted(paths, key=lambda each: _rank(each.claim), reverse=True))

    def _compiled(self, settled: SettledClaim) -> SettledClaim:
        """The claim with its expression. If it cannot be carried out, whatever it may match is closed."""
        claim = settled.claim
        report = self._findings.about(subject_of_owner(claim.owner))
        make = partial(self._carried_out, claim, report)
        made = contained(make, report, severity=Severity.CLOSED, effect="Requests that the path may match answer 503.")
        if made is None:
            closing = closing_expression(claim.path)
            made = msgspec.structs.replace(claim, expression=closing, long_expression="", rewriting=None, closed=True)
        return settled.with_claim(made)

    def _carried_out(self, claim: Claim, report: Report) -> Claim | None:
        """`claim` with its expression, or None with a finding."""
        try:
            return self._with_expression(claim)
        except (_NotCarriedOut, OtherMeaning, PatternError, UnknownReference) as problem:
            _note_refused(claim, str(problem), report)
            return None

    def _with_expression(self, claim: Claim) -> Claim:
        expression = expression_of(self._searched(claim))
        pattern = compile_caseless(expression)
        rewriting = self._rewriting(claim, expression)
        wide = self._count(claim, expression, pattern, rewriting)
        claim = msgspec.structs.replace(claim, long_expression=closing_expression(claim.path) if wide else "")
        if rewriting is None:
            return msgspec.structs.replace(claim, expression=expression)
        if _ABSOLUTE.match(rewriting.target):
            redirect = _redirect(rewriting.target, pattern.names, searched=rewriting.expression or expression)
            gates = in_phases((redirect, *claim.gates))
            return msgspec.structs.replace(claim, expression=expression, rewriting=None, gates=gates)
        compile_target(rewriting.target, pattern.names)
        return msgspec.structs.replace(claim, expression=expression, rewriting=rewriting)

    def _searched(self, claim: Claim) -> str:
        """The text of the claim's expression. A Prefix path beside an equal Exact path has a final slash."""
        is_beside_exact = (claim.path, PathKind.EXACT) in self._settled.paths
        if claim.is_expression or claim.kind is PathKind.EXACT or not is_beside_exact or claim.path.endswith("/"):
            return claim.path
        return claim.path + "/"

    def _rewriting(self, claim: Claim, expression: str) -> Rewriting | None:
        """The rewriting of the claim with the expression that it searches itself, in RE2's syntax."""
        rewriting = claim.rewriting
        if rewriting is None:
            return None
        if rewriting.expression:
            return msgspec.structs.replace(rewriting, expression=expression_of(rewriting.expression))
        if has_alternatives(claim.path):
            # Only the first alternative is anchored, and nginx rewrites without the anchor.
            return msgspec.structs.replace(rewriting, expression=expression.removeprefix("^"))
        return rewriting

    def _count(self, claim: Claim, expression: str, pattern: Pattern, rewriting: Rewriting | None) -> bool:
        """Whether the expression is only searched for in short paths.

        Raises `_NotCarriedOut` if a search for this and older expressions that begin alike would cost too much.
        """
        instructions = pattern.instructions
        if instructions > INSTRUCTIONS_MAX:
            raise _NotCarriedOut("the expression is too large")
        tenant, text = claim.owner.namespace, beginning(claim.path)
        searched = expression if rewriting is None else rewriting.expression or expression
        if is_narrow(expression) and is_narrow(searched):
            if self._costs.take_narrow(tenant, text, claim.path):
                return False
        elif self._costs.take_wide(tenant, text, instructions):
            return True
        raise _NotCarriedOut(
            "the expressions of its namespace that begin alike on this host are too large together, so that they would"
            " slow other requests"
        )


def _note_refused(claim: Claim, problem: str, report: Report) -> None:
    report.add(
        reason="ExpressionRefused",
        message=f"The {claim.place} cannot be carried out as a regular expression: {problem}.",
        effect=f"Requests that it may match answer 503: those that begin with {quote(beginning(claim.path))}.",
        severity=Severity.CLOSED,
    )


def _redirect(target: str, names: Mapping[str, int], *, searched: str) -> RewrittenRedirect:
    """The redirect to a target with a scheme. Raises `_NotCarriedOut` if a client could choose the host."""
    if not _OWN_AUTHORITY.match(target):
        raise _NotCarriedOut("a request could choose the host to which the target redirects")
    compile_target(target.removeprefix("$scheme"), names)
    return RewrittenRedirect(target, searched)


def _rank(claim: Claim) -> tuple[int, bytes, bool]:
    """What is tried first has the highest rank. ingress-nginx has `/` of its own before any Ingress, as a Prefix."""
    text = claim.path.encode()
    return len(text), text, text == b"/" and claim.kind is PathKind.PREFIX


def _note_neighbours(host: str, author: Claim, settled: SettledHost, findings: Findings) -> None:
    """Tells other Ingresses that their paths are expressions, because they match more than Kubernetes documents."""
    changed: dict[Owner, list[str]] = {}
    for claim in (each.claim for each in settled.paths.values()):
        if claim.owner != author.owner and not claim.is_expression and claim.path != "/":
            changed.setdefault(claim.owner, []).append(claim.path)
    for owner, paths in changed.items():
        more = f" and {len(paths) - _NAMED_MOST} more" if len(paths) > _NAMED_MOST else ""
        listed = ", ".join(map(quote, paths[:_NAMED_MOST]))
        findings.add(
            subject_of_owner(owner),
            reason="RegexHost",
            message=f"{author.owner.kind} {author.owner.full_name} makes every path of host {quote(host)} a regular"
            " expression, as in ingress-nginx: give one of the two another host to avoid that.",
            effect=f"Any path that begins like {listed}{more} matches, in any case, unless a longer expression does.",
            severity=Severity.DEGRADED,
        )
