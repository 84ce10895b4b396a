"""Remembers how hosts were settled, so that one changed Ingress of thousands settles only hosts that it may concern.

Those are its own, and those of every Ingress that shares a name with them, step by step. What reaches further makes all
hosts be settled: another set of names, other certificates, and regular expressions, whose bounds a namespace shares.
"""

from __future__ import annotations

from collections.abc import Sequence

from ingress.findings import Findings
from ingress.settings.table.snippets import ClusterLevels
from ingress.translation.claims import HostClaim, subject_of_owner
from ingress.translation.ingress.hosts.conflicts import listed_hosts
from ingress.translation.ingress.hosts.expression_reading import Readings
from ingress.translation.ingress.hosts.other_names import twin_of
from ingress.translation.ingress.hosts.settled import OwnClaims
from ingress.translation.ingress.hosts.settling import settled_hosts
from ingress.translation.memory import FindingNotes, Notes, repeat

_TOGETHER_MOST = 256  # of Ingresses that are settled apart from the others


class Settlement:
    """The hosts of the last translation, what they were settled from, and the findings of that."""

    __slots__ = ("_canaries", "_hosts", "_lends", "_main", "_notes", "_snippets")

    def __init__(self, *, lends: bool = False) -> None:
        """`lends` as in `settle`."""
        self._lends = lends
        self._main: tuple[OwnClaims, ...] = ()
        self._canaries: tuple[OwnClaims, ...] = ()
        self._snippets = ClusterLevels()
        self._hosts: tuple[HostClaim, ...] = ()
        self._notes: Notes = ()

    def hosts(
        self,
        main: Sequence[OwnClaims],
        canaries: Sequence[OwnClaims],
        readings: Readings,
        snippets: ClusterLevels,
        findings: Findings,
    ) -> tuple[HostClaim, ...]:
        """As `settled_hosts`."""
        changed = self._changed(main, canaries) if snippets == self._snippets else None
        if changed is None or not self._settle_some(changed, main, canaries, readings, snippets):
            notes = FindingNotes()
            self._hosts = settled_hosts(main, canaries, readings, snippets, notes, lends=self._lends)
            self._notes = notes.notes
        self._main = tuple(main)
        self._canaries = tuple(canaries)
        self._snippets = snippets
        repeat(self._notes, findings)
        return self._hosts

    def _changed(self, main: Sequence[OwnClaims], canaries: Sequence[OwnClaims]) -> list[OwnClaims] | None:
        """The claims that are others than before in the same place. None: they may concern more than their hosts."""
        if len(main) != len(self._main) or len(canaries) != len(self._canaries):
            return None
        before, now = (*self._main, *self._canaries), (*main, *canaries)
        pairs = [(was, each) for was, each in zip(before, now, strict=True) if was is not each]
        if len(pairs) > _TOGETHER_MOST or any(_frame(was) != _frame(each) for was, each in pairs):
            return None
        if any(_is_of_expressions(was) for was, _ in pairs):
            return None
        return [each for _, each in pairs]

    def _settle_some(
        self,
        changed: list[OwnClaims],
        main: Sequence[OwnClaims],
        canaries: Sequence[OwnClaims],
        readings: Readings,
        snippets: ClusterLevels,
    ) -> bool:
        """Settles the hosts that the changed claims may concern. False, without effect, if more have to be."""
        if not changed:
            return True
        names = _together(changed, (*main, *canaries))
        own = [each for each in main if _touches(each, names)]
        tried = [each for each in canaries if _touches(each, names)]
        if len(own) + len(tried) > _TOGETHER_MOST or any(map(_is_of_expressions, (*own, *tried))):
            return False
        notes = FindingNotes()
        hosts = settled_hosts(own, tried, readings, snippets, notes, listed=listed_hosts(main), lends=self._lends)
        made = {host.name: host for host in hosts}
        if made.keys() != {host.name for host in self._hosts if host.name in names}:
            return False
        subjects = {subject_of_owner(each.owner) for each in (*own, *tried)}
        self._hosts = tuple([made.get(host.name, host) for host in self._hosts])
        self._notes = (*(note for note in self._notes if note[0] not in subjects), *notes.notes)
        return True


def _frame(claims: OwnClaims) -> tuple[object, ...]:
    """What of `claims` may concern the hosts of others, and which hosts there are."""
    hosts = {claim.host for claim in claims.claims}
    return claims.owner, claims.hosts, hosts, claims.aliases, claims.twin_status, claims.certificates


def _together(changed: Sequence[OwnClaims], claims: Sequence[OwnClaims]) -> set[str]:
    """The names of the changed claims, and those of all claims that share a name with these, step by step."""
    names: set[str] = set()
    more = {name for each in changed for name in _names_of(each)}
    while not more <= names:
        names |= more
        more = {name for each in claims if _touches(each, names) for name in _names_of(each)}
    return names


def _touches(claims: OwnClaims, names: set[str]) -> bool:
    if claims.is_canary or claims.aliases or claims.twin_status:
        return not names.isdisjoint(_names_of(claims))
    return not names.isdisjoint(claims.hosts)


def _names_of(claims: OwnClaims) -> set[str]:
    """Every name that a host may have because of `claims`, or whose host they may change."""
    twins = {twin for name in claims.hosts if claims.twin_status and (twin := twin_of(name)) is not None}
    return {*claims.hosts, *claims.aliases, *twins, *(claim.host for claim in claims.claims)}


def _is_of_expressions(claims: OwnClaims) -> bool:
    return any(claim.is_expression or claim.rewriting is not None for claim in claims.claims)
