"""Remembers the hosts of the last translation, so that the next one makes only those that may differ.

Does not know how a host is made.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

import msgspec

from balancer.model.endpoints import BackendKey
from balancer.model.routes import Host
from balancer.model.zones import ZonePolicy
from ingress.findings import Findings
from ingress.translation.claims import HostClaim
from ingress.translation.memory import Notes, repeat
from ingress.translation.services.backends import AskedBackend

_FEW = 256
"""Hosts that are made apart from the others. Where more have changed, all are looked at."""


class MadeHost(msgspec.Struct, frozen=True, gc=False):
    """A host, what it was made of, and its findings.

    `asked` is what was asked of `Backends` meanwhile, `policies` are the zone policies of routes to backends.
    """

    host: Host
    given: tuple[object, ...]
    asked: tuple[AskedBackend, ...]
    policies: tuple[tuple[BackendKey, ZonePolicy], ...]
    findings: Notes

    def asks_all_of(self, other: MadeHost) -> bool:
        """Whether whatever `other` asks of `Backends`, this host asks as well."""
        return _of(self.asked) >= _of(other.asked) and set(self.policies) >= set(other.policies)


def _of(asked: Iterable[AskedBackend]) -> set[tuple[str, str, BackendKey | None]]:
    return {(each.namespace, each.name, each.made.key if each.made is not None else None) for each in asked}


class HostMemory:
    """The hosts of the last translation by their keys. What a translation does not keep is forgotten."""

    __slots__ = ("_before", "_claimed", "_hosts", "_is_shared_again", "_last", "_made", "_shared")

    def __init__(self) -> None:
        self._shared: tuple[object, ...] = ()
        self._is_shared_again = False
        self._before: dict[str, MadeHost] = {}
        self._made: dict[str, MadeHost] = {}
        self._claimed: Sequence[HostClaim] = ()
        self._hosts: tuple[Host, ...] = ()
        self._last: tuple[Sequence[HostClaim], tuple[Host, ...]] = (), ()

    def begin(self) -> None:
        """Begins a translation."""
        self._before = self._made
        self._made = {}
        self._last = self._claimed, self._hosts
        self._claimed = ()
        self._hosts = ()

    def one(self, shared: tuple[object, ...]) -> tuple[object, ...]:
        """What hosts have in common: the same object as last time if it is equal, so that hosts compare in no time."""
        self._is_shared_again = shared == self._shared
        if not self._is_shared_again:
            self._shared = shared
        return self._shared

    def last(self, key: str) -> MadeHost | None:
        """The host in the last translation, None if there was none."""
        return self._before.get(key)

    def keep(self, key: str, made: MadeHost) -> None:
        """Remembers a host for the next translation."""
        self._made[key] = made

    def now(self, key: str) -> MadeHost:
        """The host that was kept in this translation."""
        return self._made[key]

    def changed(self, claimed: Sequence[HostClaim]) -> set[int] | None:
        """The places in `claimed` of the hosts that are claimed otherwise than in the last translation. None: there are
        more than a few of them, or others, or what all have in common has changed.
        """
        before, _ = self._last
        if not self._is_shared_again or len(before) != len(claimed):
            return None
        pairs = enumerate(zip(before, claimed, strict=True))
        found = {place for place, (was, each) in pairs if was is not each}
        is_known = len(found) <= _FEW and all(before[each].key == claimed[each].key for each in found)
        return found if is_known else None

    def last_at(self, place: int) -> MadeHost:
        """The host at a place of the last translation, where `changed` has found the same hosts."""
        return self._before[self._last[0][place].key]

    def keep_others(self, changed: Collection[int], findings: Findings) -> None:
        """Remembers all hosts but those at the places `changed`, and repeats their findings."""
        own = {self._last[0][place].key for place in changed}
        kept = self._before | self._made
        for key, made in self._before.items():
            if made.findings and key not in own:
                repeat(made.findings, findings)
        self._made = kept

    def with_others(self, claimed: Sequence[HostClaim], changed: Collection[int]) -> tuple[Host, ...]:
        """All hosts, those at the places `changed` as they were made in this translation."""
        hosts = list(self._last[1])
        for place in changed:
            hosts[place] = self._made[claimed[place].key].host
        return tuple(hosts)

    def remember(self, claimed: Sequence[HostClaim], hosts: tuple[Host, ...]) -> None:
        """Takes all hosts of this translation, in their order."""
        self._claimed = claimed
        self._hosts = hosts
