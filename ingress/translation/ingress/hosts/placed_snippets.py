"""Gives every path what the snippets of its levels say: those of the ConfigMap, of its host and of its Ingress.

Closes a path where nginx would mix a snippet with something else in a way that zonal does not know. Runs when paths and
redirects to a final slash are settled. Source: ingress-nginx v1.15.1, rootfs/etc/nginx/template/nginx.tmpl.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from balancer.errors import ErrorKind
from balancer.model.gates import in_phases
from balancer.model.routes import Branch, Owner, PathKind, ServiceName
from ingress.findings import Findings, Severity, quote
from ingress.settings.snippets.levels import Level
from ingress.settings.table.snippets import ClusterLevels
from ingress.translation.claims import BranchClaim, subject_of_owner
from ingress.translation.ingress.hosts.settled import Elsewhere, OwnClaims, PlaceClaim, SettledHost
from ingress.translation.ingress.snippet_meanings import CannotPlace, Levels, meaning_of

_EFFECT = "The path answers 503."
_NO_EFFECT = "The server-snippet of this Ingress has no effect for that host, in ingress-nginx neither."
_APART = "The server-snippet of this Ingress holds for the paths of its namespace alone."
_NOBODY = Owner("", "", "")


def place_snippets(
    hosts: Mapping[str, SettledHost], claims: Iterable[OwnClaims], cluster: ClusterLevels, findings: Findings
) -> None:
    """Carries out the snippets of every host. `claims` come by seniority."""
    servers = _server_levels(claims, findings)
    for name, settled in hosts.items():
        if settled.alias_of is not None or _is_twin(settled):
            continue
        own = servers.get(name, _NO_SNIPPETS)
        asking = (*settled.paths.values(), *(() if settled.default is None else (settled.default,)))
        if cluster.says_nothing and own is _NO_SNIPPETS and all(each.snippet.is_empty for each in asking):
            continue
        has_root = any(each.app_root is not None for each in asking)
        _place(settled, _HostLevels(cluster, own, has_root), findings)


class _ServerSnippets(msgspec.Struct, frozen=True):
    """What server-snippets say for a host: for all of it, or for the paths of single namespaces."""

    whole: Level | None = None
    apart: Mapping[str, Level] = {}


_NO_SNIPPETS = _ServerSnippets()


class _HostLevels:
    """What holds on one host around the snippets of its Ingresses, made once for all paths of a namespace."""

    __slots__ = ("_cluster", "_made", "_redirects_root", "_server")

    def __init__(self, cluster: ClusterLevels, server: _ServerSnippets, redirects_root: bool) -> None:
        """`redirects_root`: an app-root redirects the path / of the host."""
        self._cluster = cluster
        self._server = server
        self._redirects_root = redirects_root
        self._made: dict[Level | None, Levels] = {}

    def around(self, namespace: str) -> Levels:
        """What holds around the snippet of an Ingress of `namespace`."""
        said, cluster = self._server, self._cluster
        own = said.apart.get(namespace) if said.whole is None else said.whole
        found = self._made.get(own)
        if found is None:
            found = self._made[own] = Levels(
                cluster.http,
                cluster.server if own is None else own.followed_by(cluster.server),
                cluster.location,
                redirects_root=self._redirects_root,
                underscores=cluster.underscores,
            )
        return found


def _server_levels(claims: Iterable[OwnClaims], findings: Findings) -> dict[str, _ServerSnippets]:
    """What the oldest snippet of each host says.

    Who has claimed a host first may say something for all of it. Without such a snippet that of another namespace holds
    for the paths of that namespace.
    """
    first: dict[str, str] = {}
    said: dict[str, list[OwnClaims]] = {}
    for each in claims:
        for name in each.hosts:
            first.setdefault(name, each.owner.namespace)
            if each.server_snippet is not None:
                said.setdefault(name, []).append(each)
    return {name: _server(name, asking, first[name], findings) for name, asking in said.items()}


def _server(name: str, asking: list[OwnClaims], first: str, findings: Findings) -> _ServerSnippets:
    """What holds on the host `name`, which the namespace `first` has claimed first. `asking` have snippets, by age."""
    whole = next((each.server_snippet for each in asking if each.owner.namespace == first), None)
    apart: dict[str, Level] = {}
    for each in asking:
        snippet, namespace = each.server_snippet or Level(), each.owner.namespace
        counts = whole if whole is not None else apart.setdefault(namespace, snippet)
        if counts != snippet:
            _note(each, f"An older Ingress has the server-snippet of host {quote(name)}.", _NO_EFFECT, findings)
        elif whole is None:
            _note(each, f"An older Ingress of another namespace has host {quote(name)}.", _APART, findings)
    return _ServerSnippets(whole, apart)


def _note(claim: OwnClaims, message: str, effect: str, findings: Findings) -> None:
    findings.add(
        subject_of_owner(claim.owner), reason="Conflict", message=message, severity=Severity.DEGRADED, effect=effect
    )


def _is_twin(settled: SettledHost) -> bool:
    """Whether the host only redirects to its other name; ingress-nginx has no snippets there."""
    return not settled.paths and settled.default is not None and settled.default.is_redirected


def _place(settled: SettledHost, levels: _HostLevels, findings: Findings) -> None:
    changed = {id(each): _placed(each, levels, findings) for each in settled.paths.values()}
    settled.paths = {place: changed[id(each)] for place, each in settled.paths.items()}
    if settled.expressions is not None:
        settled.expressions = tuple(
            changed[id(each)] if id(each) in changed else _placed(each, levels, findings)
            for each in settled.expressions
        )
    if settled.default is not None:
        settled.default = _placed(settled.default, levels, findings)
    else:
        settled.elsewhere = _elsewhere(levels.around(_NOBODY.namespace))


def _placed(claim: PlaceClaim, levels: _HostLevels, findings: Findings) -> PlaceClaim:
    if claim.closed:
        return claim
    try:
        meaning = meaning_of(claim, levels.around(claim.owner.namespace))
    except CannotPlace as problem:
        findings.add(
            subject_of_owner(claim.owner),
            reason="ClosedByAnnotation",
            message=f"A snippet does not fit the {claim.place}: {problem}.",
            effect=_EFFECT,
            severity=Severity.CLOSED,
        )
        return msgspec.structs.replace(claim, closed=True)
    return msgspec.structs.replace(
        claim,
        gates=in_phases((*claim.gates, *meaning.gates)),
        response_rules=(*claim.response_rules, *meaning.response_rules),
    )


def _elsewhere(levels: Levels) -> Elsewhere | None:
    """What requests get that no path of the host matches: only what holds for the whole host."""
    branch = BranchClaim(Branch(None, _NOBODY, ServiceName("", ""), error=ErrorKind.NO_ROUTE), None)
    nowhere = PlaceClaim(owner=_NOBODY, host="", path="/", kind=PathKind.PREFIX, branches=(branch,))
    try:
        found = meaning_of(nowhere, levels)
    except CannotPlace:
        return None  # closed where a path matches; here nothing is served
    return Elsewhere(found.gates, found.response_rules) if found.gates or found.response_rules else None
