"""Decides which Ingress gets a path that two claim, and which canaries belong to it.

Settles claims host by host: rules of one host merge across Ingresses and namespaces, and the oldest claim to the same
place wins. A canary claims nothing; it is attached to a settled claim. Does not know backends or certificates.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from operator import attrgetter

import msgspec

from balancer.model.external_auth import ExternalAuth
from balancer.model.gates import access_rules
from ingress.findings import Findings, Severity, quote
from ingress.objects.names import covering
from ingress.translation.claims import subject_of_owner
from ingress.translation.ingress.hosts.settled import OwnClaims, PlaceClaim, SettledHost

# Every request of a path asks each of its canaries, so their number is bounded. One or two are usual.
CANARIES_MAX = 16


def by_seniority(claims: Iterable[OwnClaims]) -> list[OwnClaims]:
    """The oldest creationTimestamp first, then namespace/name descending, as in ingress-nginx.

    Objects without a timestamp come after those with one and keep the order of their folder.
    """
    named = sorted(claims, key=attrgetter("owner.full_name"), reverse=True)
    return sorted(named, key=attrgetter("created_epoch_seconds", "sequence"))


Listed = frozenset[tuple[str, str]]
"""Namespaces with the hosts that `tls` sections of their Ingresses name."""


def listed_hosts(claims: Iterable[OwnClaims]) -> Listed:
    """What the `tls` sections of `claims` name."""
    return frozenset((each.owner.namespace, claim.host) for each in claims for claim in each.certificates)


def has_listed(listed: Listed, namespace: str, host: str) -> bool:
    """Whether a `tls` section of `namespace` names `host`, or a wildcard that covers it."""
    return any((namespace, cover) in listed for cover in covering(host))


def settle(
    claims: Collection[OwnClaims], findings: Findings, *, listed: Listed | None = None, lends: bool = False
) -> dict[str, SettledHost]:
    """Every claimed host. `claims` come by seniority, so the first claim wins and each loser gets a finding.

    `listed` is what `tls` sections name anywhere, if `claims` are not all. `lends`: a host for which its own namespace
    names no Secret shows the certificate of another namespace with a path there.
    """
    listed = listed_hosts(claims) if listed is None else listed
    hosts: dict[str, SettledHost] = {}
    for each in claims:
        namespace = each.owner.namespace
        for name in each.hosts:
            host = hosts.get(name)
            if host is None:
                host = hosts[name] = SettledHost(holder=namespace, has_tls=has_listed(listed, namespace, name))
            if host.holder == namespace:
                # As in ingress-nginx a `tls` section counts for every host of its Ingress, named there or not.
                host.has_tls |= bool(name and each.certificates)
                host.ciphers = host.ciphers or each.ciphers
            elif each.ciphers:
                _note_unused_ciphers(each, name, host, findings)
        for claim in each.claims:
            host = hosts[claim.host]
            if (winner := host.winner(claim)) is not None:
                _note_loss(claim, winner, findings)
            elif host.holder == namespace or not claim.redirects_beside_tls:
                host.give(claim)
            else:
                own_tls = bool(claim.host and each.certificates) or has_listed(listed, namespace, claim.host)
                host.give(msgspec.structs.replace(claim, redirects_to_https=claim.redirects_to_https or own_tls))
        _claim_certificates(hosts, each, is_own=True)
    for each in claims if lends else ():
        _claim_certificates(hosts, each, is_own=False)
    return hosts


def note_holder(
    claims: OwnClaims,
    name: str,
    host: SettledHost,
    findings: Findings,
    *,
    what: str,
    effect: str,
    severity: Severity,
) -> None:
    """Notes that `claims` want to say `what` holds for a host that another namespace has claimed first."""
    findings.add(
        subject_of_owner(claims.owner),
        reason="Conflict",
        message=f"Namespace {host.holder} has claimed host {quote(name)} first, and alone says its {what}: do that in"
        " an Ingress of that namespace, or use another host.",
        severity=severity,
        effect=effect,
    )


def attach(canaries: Iterable[OwnClaims], hosts: Mapping[str, SettledHost], findings: Findings) -> None:
    """Attaches the canaries, which come by seniority, to the claims with their host, path and kind.

    They create no claims (as in ingress-nginx). Only an object of the same namespace may have canaries, because another
    tenant could otherwise take its requests away.
    """
    for each in canaries:
        for claim in each.claims:
            # The finding of a closed canary says so, and the main route serves.
            if not claim.closed:
                host = hosts.get(claim.host)
                _attach(claim, host, findings)


def note_uncovered_hosts(claims: Iterable[OwnClaims], hosts: Mapping[str, SettledHost], findings: Findings) -> None:
    """Notes each host of a rule that the `tls` of its Ingress does not name, and that has no certificate.

    A TLS section names its hosts apart from the rules (networking/v1 IngressTLS), so the two may differ by mistake.
    Notes as well whose Secrets are not used, because another namespace has the host.
    """
    for each in claims:
        _note_unused_certificates(each, hosts, findings)
        listed = frozenset(claim.host for claim in each.certificates)
        for name in each.hosts if listed else ():
            if listed.isdisjoint(covering(name)) and hosts[name].certificate is None:
                findings.add(
                    subject_of_owner(each.owner),
                    reason="TlsHostMissing",
                    message=_uncovered(name),
                    effect="HTTPS for the host gets the default certificate."
                    + ("" if hosts[name].has_tls else " HTTP is not redirected to HTTPS."),
                    severity=Severity.UNPROTECTED,
                )


def _uncovered(host: str) -> str:
    if not host:
        return "spec.tls names hosts, and a rule has none: give the rule its host, or leave hosts out of spec.tls."
    return f"No hosts of spec.tls name {quote(host)}, the host of a rule: add the host to the section of its Secret."


def _claim_certificates(hosts: Mapping[str, SettledHost], claims: OwnClaims, *, is_own: bool) -> None:
    """Gives the certificates of `claims` to hosts without one, of the own namespace or of others."""
    named = {claim.host: claim for claim in reversed(claims.certificates) if claim.secret_name}
    for name in claims.hosts if named else ():
        claim = next((named[cover] for cover in covering(name) if cover in named), None)
        if claim and hosts[name].certificate is None and (hosts[name].holder == claims.owner.namespace) is is_own:
            hosts[name].certificate = claim


def _note_unused_ciphers(claims: OwnClaims, name: str, host: SettledHost, findings: Findings) -> None:
    effect = "ssl-ciphers of this Ingress has no effect for that host."
    note_holder(claims, name, host, findings, what="ciphers", effect=effect, severity=Severity.DEGRADED)


def _note_unused_certificates(claims: OwnClaims, hosts: Mapping[str, SettledHost], findings: Findings) -> None:
    named = frozenset(claim.host for claim in claims.certificates if claim.secret_name)
    for name in claims.hosts if named else ():
        host = hosts[name]
        if host.holder != claims.owner.namespace and host.certificate is None and not named.isdisjoint(covering(name)):
            effect = "HTTPS for the host gets the default certificate, and the Secret of this Ingress is not used."
            note_holder(claims, name, host, findings, what="certificate", effect=effect, severity=Severity.UNPROTECTED)


def _attach(claim: PlaceClaim, host: SettledHost | None, findings: Findings) -> None:
    report, place = findings.about(subject_of_owner(claim.owner)), claim.place
    main = host.winner(claim) if host is not None else None
    if host is None or main is None:
        report.add(
            reason="CanaryWithoutMain",
            message=f"No other Ingress claims the {place}: a canary needs one with the same host, path and pathType.",
            severity=Severity.CLOSED,
            effect="The canary creates nothing there: without another path that matches, requests get 404.",
        )
        return
    owner, (first, *canaries) = main.owner, main.branches
    if owner.namespace != claim.owner.namespace:
        problem = f"The {place} belongs to {owner.kind} {owner.full_name}, of another namespace."
    elif any(other.branch.owner == claim.owner for other in canaries):
        problem = f"The {place} is there twice."
    elif len(canaries) >= CANARIES_MAX:
        problem = f"The {place} has {CANARIES_MAX} older canaries, and no more are asked."
    elif not _has_same_protections(claim, main):
        problem = f"At the {place} the main Ingress lacks source ranges, users or auth-url of the canary."
    else:
        # The endpoints of a canary are spoken to as those of the main Service.
        branch = msgspec.structs.replace(claim.main, tls=first.tls, http2=first.http2)
        host.give(msgspec.structs.replace(main, branches=(*main.branches, branch)))
        return
    report.add(
        reason="CanaryIgnored",
        message=problem,
        severity=Severity.MISROUTED,
        effect="The canary gets no requests of this path.",
    )


def _has_same_protections(canary: PlaceClaim, main: PlaceClaim) -> bool:
    """Whether the main Ingress has each protection that its canary states, because only those of the main one count.

    The main Ingress may ask another auth service than the canary names.
    """
    stated, held = access_rules(canary.gates), access_rules(main.gates)
    if any(isinstance(rule, ExternalAuth) for rule in stated) > any(isinstance(rule, ExternalAuth) for rule in held):
        return False
    return {rule for rule in stated if not isinstance(rule, ExternalAuth)} <= set(held)


def _note_loss(loser: PlaceClaim, winner: PlaceClaim, findings: Findings) -> None:
    owner = winner.owner
    findings.add(
        subject_of_owner(loser.owner),
        reason="Conflict",
        message=f"The {loser.place} is taken by {owner.kind} {owner.full_name}: change one of them.",
        severity=Severity.MISROUTED,
        effect="The older claim is served.",
    )
