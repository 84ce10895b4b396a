"""Gives hosts their further names: aliases, and the name with or without `www.` that redirects.

Runs when the hosts of all rules are settled, because a name that a rule has is never taken away.
Source: ingress-nginx v1.15.1, createServers in controller.go and BuildRedirects.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from balancer.model.gates import BlockedClients, GateRule
from balancer.model.redirects import NameRedirect
from balancer.model.routes import PathKind
from ingress.findings import Findings, Severity, quote
from ingress.objects.names import SUBDOMAIN, covering, is_host
from ingress.translation.claims import CertificateClaim, subject_of_owner
from ingress.translation.ingress.hosts.conflicts import Listed, has_listed, note_holder
from ingress.translation.ingress.hosts.settled import OwnClaims, PlaceClaim, SettledHost

_WWW = "www."
# Each alias has all paths of its host, so their product is bounded. No host in use comes near that.
_PATHS_MOST = 20_000
# A finding names this many examples, so that it stays one line.
_NAMED_MOST = 3


def add_other_names(
    hosts: dict[str, SettledHost], claims: Iterable[OwnClaims], findings: Findings, *, listed: Listed
) -> None:
    """Adds the further names that `claims` ask for, which come by seniority. `listed` as in `settle`.

    A redirect between the names with and without `www.` wins against an alias, as in ingress-nginx. A host gets names
    from the namespace alone that claimed it first.
    """
    known = tuple(claims)
    rules = frozenset(hosts)
    for each in known:
        if each.twin_status:
            for name in each.hosts:
                _add_twin(hosts, name, each, rules=rules, findings=findings)
    owners: dict[str, OwnClaims] = {}
    for each in known:
        _add_aliases(hosts, each, owners, listed=listed, findings=findings)


def served_as(name: str, hosts: Mapping[str, SettledHost]) -> SettledHost:
    """The host whose paths the host `name` has: that of which it is an alias, or itself."""
    settled = hosts[name]
    return settled if settled.alias_of is None else hosts[settled.alias_of]


def twin_of(name: str) -> str | None:
    """The name with `www.` for one without, and the reverse; None if `name` has no such twin."""
    twin = name.removeprefix(_WWW) if name.startswith(_WWW) else _WWW + name
    return twin if SUBDOMAIN.fullmatch(name) and SUBDOMAIN.fullmatch(twin) else None


def _add_twin(
    hosts: dict[str, SettledHost], name: str, claims: OwnClaims, *, rules: frozenset[str], findings: Findings
) -> None:
    twin = twin_of(name)
    own = next((claim for claim in claims.claims if claim.host == name), None)
    if own is None or twin in hosts.keys() - rules:
        return
    if hosts[name].holder != claims.owner.namespace:
        effect = "from-to-www-redirect redirects nothing there."
        _note_holder(claims, name, hosts[name], effect, findings)
        return
    report = findings.about(subject_of_owner(claims.owner))
    if twin is None:
        message = f"Host {quote(name)} has no other name with or without www., which from-to-www-redirect needs."
        report.add(reason="NotRedirected", message=message, effect="Nothing is redirected.", severity=Severity.COSMETIC)
    elif twin in rules:
        message = f"Host {quote(twin)} has an Ingress, so from-to-www-redirect does not redirect it to {quote(name)}."
        report.add(
            reason="NotRedirected", message=message, effect="That Ingress is served.", severity=Severity.COSMETIC
        )
    else:
        redirect = PlaceClaim(
            owner=claims.owner,
            host=twin,
            path="/",
            kind=PathKind.PREFIX,
            branches=own.branches,
            is_default=True,
            gates=(*_blocking(own), NameRedirect(name, claims.twin_status)),
            closed=own.closed,
        )
        hosts[twin] = SettledHost(holder=claims.owner.namespace, has_tls=False)
        hosts[twin].default = redirect
        hosts[twin].certificate = _certificate(twin, hosts[name], claims)


def _add_aliases(
    hosts: dict[str, SettledHost],
    claims: OwnClaims,
    owners: dict[str, OwnClaims],
    *,
    listed: Listed,
    findings: Findings,
) -> None:
    """Adds the aliases of one object to each of its hosts. `owners` are the objects whose aliases the hosts have."""
    if not claims.aliases:
        return
    names = [alias for alias in claims.aliases if is_host(alias)]
    if len(names) < len(claims.aliases):
        _note_expressions(claims, findings)
    for host in claims.hosts if names else ():
        if hosts[host].holder != claims.owner.namespace:
            effect = "The names of this Ingress are not served."
            _note_holder(claims, host, hosts[host], effect, findings)
            continue
        if (older := owners.setdefault(host, claims)) is not claims:
            _note_older(host, claims, older, findings)
            continue
        fitting = _PATHS_MOST // max(len(hosts[host].paths), 1)
        if len(names) > fitting:
            _note_too_many(host, claims, fitting, findings)
        for alias in names[:fitting]:
            if alias in hosts:
                _note_taken(alias, host, claims, hosts[alias], findings)
                continue
            namespace = claims.owner.namespace
            has_tls = has_listed(listed, namespace, alias)
            hosts[alias] = SettledHost(holder=namespace, has_tls=has_tls, alias_of=host)
            hosts[alias].certificate = _certificate(alias, hosts[host], claims)


def _note_holder(claims: OwnClaims, name: str, host: SettledHost, effect: str, findings: Findings) -> None:
    note_holder(claims, name, host, findings, what="other names", effect=effect, severity=Severity.MISROUTED)


def _certificate(name: str, host: SettledHost, claims: OwnClaims) -> CertificateClaim | None:
    """What `tls` names for `name`, else the certificate of the host, which may be for several names."""
    named = {claim.host: claim for claim in reversed(claims.certificates) if claim.secret_name}
    found = next((named[cover] for cover in covering(name) if cover in named), host.certificate)
    return msgspec.structs.replace(found, host=name) if found is not None else None


def _blocking(claim: PlaceClaim) -> tuple[GateRule, ...]:
    """The gates that come before every redirect: clients that the operator blocks."""
    return tuple(rule for rule in claim.gates if isinstance(rule, BlockedClients))


def _note_expressions(claims: OwnClaims, findings: Findings) -> None:
    odd = [alias for alias in claims.aliases if not is_host(alias)]
    more = f" and {len(odd) - _NAMED_MOST} more" if len(odd) > _NAMED_MOST else ""
    findings.add(
        subject_of_owner(claims.owner),
        reason="NotSupported",
        message=f"server-alias has names that are no host names: {', '.join(map(quote, odd[:_NAMED_MOST]))}{more}.",
        effect="Requests for names that they match go to other Ingresses, or get 404: write the names one by one.",
        severity=Severity.MISROUTED,
    )


def _note_too_many(host: str, claims: OwnClaims, fitting: int, findings: Findings) -> None:
    findings.add(
        subject_of_owner(claims.owner),
        reason="NotSupported",
        message=f"Host {quote(host)} has so many paths that only {fitting} names of server-alias can have them all:"
        " list fewer names.",
        effect="The other names of the list are not served.",
        severity=Severity.MISROUTED,
    )


def _note_older(host: str, claims: OwnClaims, older: OwnClaims, findings: Findings) -> None:
    findings.add(
        subject_of_owner(claims.owner),
        reason="Conflict",
        message=f"Host {quote(host)} has the server-alias of the older {older.owner.kind} {older.owner.full_name}.",
        effect="The names of this Ingress are not served: list them in the older one.",
        severity=Severity.MISROUTED,
    )


def _note_taken(alias: str, host: str, claims: OwnClaims, settled: SettledHost, findings: Findings) -> None:
    if host in {alias, settled.alias_of} or alias in claims.hosts:
        return
    findings.add(
        subject_of_owner(claims.owner),
        reason="Conflict",
        message=f"The name {quote(alias)} of server-alias is taken by a rule, a redirect or an alias of another host:"
        " remove it from one of them.",
        effect=f"Requests for the name do not get the paths of host {quote(host)}.",
        severity=Severity.MISROUTED,
    )
