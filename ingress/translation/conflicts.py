"""Who gets a path that two Ingresses claim, and which canaries belong to it.

Responsible for seniority and for settling claims host by host: rules of one host merge across Ingresses and
namespaces, and the oldest claim to the same thing wins. A canary claims nothing: it is attached to what has been
settled. It must not know backends or certificates.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

import msgspec

from balancer.model import PathKind
from ingress.findings import Findings, quote
from ingress.objects import Ingress, ServiceReference, subject_of
from ingress.translation.annotations import IngressOptions
from ingress.translation.ingresses import IngressClaims, PathClaim, TlsClaim

# Each is asked for every request of its path, so their number is bounded; one or two are usual.
CANARIES_MAX = 16

_Place = tuple[str, PathKind]
_Attached = tuple[ServiceReference, "Candidate"]


class Candidate(msgspec.Struct, frozen=True):
    """An accepted Ingress with what it claims and how it wants it served."""

    ingress: Ingress
    claims: IngressClaims
    options: IngressOptions


class SettledHost:
    """A host and the winner of each of its paths, of its default and of its certificate, with the canaries of these."""

    __slots__ = ("canaries", "certificate", "default", "default_canaries", "has_tls", "paths")

    def __init__(self, *, has_tls: bool) -> None:
        self.has_tls = has_tls
        self.paths: dict[_Place, tuple[PathClaim, Candidate]] = {}
        self.canaries: dict[_Place, list[_Attached]] = {}
        self.default_canaries: list[_Attached] = []
        self.default: tuple[ServiceReference, Candidate] | None = None
        self.certificate: tuple[TlsClaim, Candidate] | None = None


def by_seniority(ingresses: Iterable[Ingress]) -> list[Ingress]:
    """Oldest creationTimestamp first, then namespace/name descending as ingress-nginx does.

    Objects without a timestamp come after those with one and keep the order of their folder.
    """
    named = sorted(ingresses, key=lambda item: f"{item.metadata.namespace}/{item.metadata.name}", reverse=True)
    return sorted(named, key=_age)


def settle(candidates: Iterable[Candidate], findings: Findings) -> dict[str, SettledHost]:
    """Every claimed host; `candidates` come by seniority, so the first claim wins and each loser gets a finding."""
    known = list(candidates)
    listed = frozenset(claim.host for candidate in known for claim in candidate.claims.tls)
    hosts: dict[str, SettledHost] = {}
    for candidate in known:
        for name in candidate.claims.hosts:
            if name not in hosts:
                hosts[name] = SettledHost(has_tls=not listed.isdisjoint(covering(name)))
        _claim_paths(hosts, candidate, findings=findings)
        _claim_defaults(hosts, candidate, findings=findings)
        _claim_certificates(hosts, candidate)
    return hosts


def attach(canaries: Iterable[Candidate], hosts: dict[str, SettledHost], findings: Findings) -> None:
    """Give the canaries, which come by seniority, to the claims with their host, path and kind.

    They create none (ingress-nginx). Only an Ingress of the same namespace may have canaries there: another tenant
    could take its requests away otherwise.
    """
    for candidate in canaries:
        if candidate.options.closed:
            continue  # its finding has said so; the main Ingress serves
        for claim in candidate.claims.paths:
            settled, key = hosts.get(claim.host), (claim.path, claim.kind)
            winner = settled.paths.get(key) if settled is not None else None
            attached = settled.canaries.setdefault(key, []) if settled is not None else []
            place = f"{claim.kind.value} path {quote(claim.host + claim.path)}"
            main = winner[1] if winner is not None else None
            _attach((claim.service, candidate), main, attached, place=place, findings=findings)
        if candidate.claims.default is not None and candidate.ingress.spec.rules:
            for name in candidate.claims.hosts:
                settled = hosts.get(name)
                main = settled.default[1] if settled is not None and settled.default is not None else None
                attached = settled.default_canaries if settled is not None else []
                entry, place = (candidate.claims.default, candidate), f"default of host {quote(name)}"
                _attach(entry, main, attached, place=place, findings=findings)


def covering(host: str) -> tuple[str, ...]:
    """The names in a TLS section or certificate that cover a host: itself, then a wildcard for its first label.

    RFC 9525 section 6.3: the wildcard stands for one whole label.
    """
    _, dot, parent = host.partition(".")
    return (host, "*." + parent) if dot else (host,)


def _age(ingress: Ingress) -> tuple[bool, float, int]:
    try:
        created = datetime.fromisoformat(ingress.metadata.creation_timestamp)
        # A timestamp without an offset is UTC, wherever this process runs.
        return False, created.replace(tzinfo=created.tzinfo or UTC).timestamp(), 0
    except (ValueError, OverflowError):
        return True, 0.0, ingress.metadata.sequence


def _claim_paths(hosts: dict[str, SettledHost], candidate: Candidate, *, findings: Findings) -> None:
    for claim in candidate.claims.paths:
        _, winner = hosts[claim.host].paths.setdefault((claim.path, claim.kind), (claim, candidate))
        if hosts[claim.host].paths[claim.path, claim.kind][0] is not claim:
            place = f"{claim.kind.value} path {quote(claim.host + claim.path)}"
            _note_loss(candidate, winner, place=place, findings=findings)


def _claim_defaults(hosts: dict[str, SettledHost], candidate: Candidate, *, findings: Findings) -> None:
    if candidate.claims.default is None:
        return
    for name in candidate.claims.hosts:
        settled = hosts[name]
        if settled.default is None:
            settled.default = candidate.claims.default, candidate
        else:
            _note_loss(candidate, settled.default[1], place=f"default of host {quote(name)}", findings=findings)


def _claim_certificates(hosts: dict[str, SettledHost], candidate: Candidate) -> None:
    claims = {claim.host: claim for claim in reversed(candidate.claims.tls) if claim.secret_name}
    for name in candidate.claims.hosts:
        claim = next((claims[cover] for cover in covering(name) if cover in claims), None)
        if claim and hosts[name].certificate is None:
            hosts[name].certificate = claim, candidate


def _attach(
    entry: _Attached, main: Candidate | None, attached: list[_Attached], *, place: str, findings: Findings
) -> None:
    _, candidate = entry
    report = findings.about(subject_of(candidate.ingress))
    if main is None:
        report.add(
            reason="CanaryWithoutMain",
            message=f"No other Ingress claims the {place}: a canary needs one with the same host, path and pathType.",
            effect="The canary creates nothing there: without another path that matches, requests get 404.",
        )
        return
    owner = main.ingress.metadata
    if owner.namespace != candidate.ingress.metadata.namespace:
        problem = f"The {place} belongs to Ingress {owner.namespace}/{owner.name}, of another namespace."
    elif any(other is candidate for _, other in attached):
        problem = f"The {place} is there twice."
    elif len(attached) >= CANARIES_MAX:
        problem = f"The {place} has {CANARIES_MAX} older canaries, and no more are asked."
    else:
        attached.append(entry)
        return
    report.add(reason="CanaryIgnored", message=problem, effect="The canary gets no requests of it.")


def _note_loss(loser: Candidate, winner: Candidate, *, place: str, findings: Findings) -> None:
    owner = winner.ingress.metadata
    findings.add(
        subject_of(loser.ingress),
        reason="Conflict",
        message=f"The {place} is taken by Ingress {owner.namespace}/{owner.name}: change one of them.",
        effect="The older claim is served.",
    )
