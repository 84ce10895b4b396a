"""Decides which hosts have TLS that passes to endpoints unread, and where it goes (`ssl-passthrough`).

Source: ingress-nginx v1.15.1, getConfiguration and createServers in controller.go. The oldest Ingress of a host decides
whether it passes, and the Service of the path `/` gets it. Runs before redirects are added to paths.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import chain

import msgspec

from balancer.model.gates import PassedTls
from balancer.model.routes import Branch, Owner, PathKind
from ingress.findings import Findings, Severity, quote
from ingress.translation.claims import RelayClaim, subject_of_owner
from ingress.translation.ingress.hosts.settled import OwnClaims, PlaceClaim, SettledHost


def pass_hosts(hosts: Mapping[str, SettledHost], claims: Iterable[OwnClaims], findings: Findings) -> None:
    """Notes at each host that an Ingress of `claims`, which come by seniority, wants to pass, where it passes to.

    Where a host cannot pass, the paths of the Ingresses that want it are closed.
    """
    claims = tuple(claims)
    asking = {each.owner: each for each in claims if each.passing.passes}
    if not asking:
        return
    oldest: dict[str, OwnClaims] = {}
    for each in claims:
        for name in each.hosts:
            oldest.setdefault(name, each)
    for name in dict.fromkeys(chain.from_iterable(each.hosts for each in asking.values())):
        root = _root(hosts[name])
        problem = _problem(name, oldest[name], root)
        if problem or root is None:
            _close(name, hosts[name], asking, problem, findings)
        else:
            is_closed = asking[root.owner].passing.is_closed if root.owner in asking else False
            hosts[name].passed_to = _relay(root, is_closed=is_closed or oldest[name].passing.is_closed)
            _turn_away(hosts[name])
            _note_unreached(name, hosts[name], root, findings)


def _root(host: SettledHost) -> PlaceClaim | None:
    """The claim to the path `/`, or None."""
    if host.expressions is not None:
        return next((each for each in host.expressions if each.path == "/"), host.default)
    return host.paths.get(("/", PathKind.PREFIX)) or host.paths.get(("/", PathKind.EXACT)) or host.default


def _problem(name: str, oldest: OwnClaims, root: PlaceClaim | None) -> str:
    """Why the TLS of a host cannot pass; empty if it can."""
    if not name:
        return "TLS passes by the name that a client asks for, and a rule has no host: give the rule a host."
    if not oldest.passing.passes:
        return f"The oldest Ingress of host {quote(name)}, {oldest.owner.full_name}, does not want TLS to pass."
    if root is None:
        return f'TLS of host {quote(name)} passes to the Service of the path "/", and there is none: add the path.'
    if root.owner.namespace != oldest.owner.namespace:
        return f"The path / of host {quote(name)} belongs to {root.owner.full_name}, of another namespace."
    return ""


def _relay(root: PlaceClaim, *, is_closed: bool) -> RelayClaim:
    """Where the connections of a host go. The branch is spoken to in what the client says."""
    main = root.main
    bare = msgspec.structs.replace(main, branch=Branch(None, root.owner, main.branch.service), tls=None, http2=False)
    return RelayClaim(
        root.host,
        root.owner,
        (bare,),
        connect_seconds=root.policy.connect_timeout_seconds,
        tries=root.policy.tries,
        closed=root.closed or is_closed,
    )


def _turn_away(host: SettledHost) -> None:
    """Requests for the host whose TLS has ended here do not belong here."""

    host.change(lambda claim: msgspec.structs.replace(claim, gates=(PassedTls(), *claim.gates)))


def _close(name: str, host: SettledHost, asking: Mapping[Owner, OwnClaims], problem: str, findings: Findings) -> None:
    for each in asking.values():
        if name in each.hosts:
            findings.add(
                subject_of_owner(each.owner),
                reason="TlsNotPassed",
                message=f"ssl-passthrough: {problem}",
                effect=f"The paths of the Ingress at host {quote(name)} answer 503.",
                severity=Severity.CLOSED,
            )
    host.change(lambda claim: msgspec.structs.replace(claim, closed=True) if claim.owner in asking else claim)


def _note_unreached(name: str, host: SettledHost, root: PlaceClaim, findings: Findings) -> None:
    others = {claim.owner for claim in host.paths.values() if claim.path != "/"}
    for owner in sorted(others, key=lambda each: each.full_name):
        findings.add(
            subject_of_owner(owner),
            reason="PathBesidePassedTls",
            message=f"TLS of host {quote(name)} passes to the Service {root.main.branch.service.full_name},"
            f" as {root.owner.full_name} says with ssl-passthrough: give other paths"
            " another host.",
            effect="Other paths of the host get requests over plain HTTP alone.",
            severity=Severity.MISROUTED,
        )
