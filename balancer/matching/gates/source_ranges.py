"""Lets requests in by the address of their client. No I/O.

The networks are compiled at the swap.
"""

from __future__ import annotations

from balancer.errors import ErrorKind
from balancer.matching.addresses import address_of, compile_networks
from balancer.matching.gates.verdicts import PASSED, About, Asked, Deny, Go, Resume
from balancer.model.gates import SourceRanges

# Of the networks of a list, so many are named; a list may have hundreds.
_NAMED_MOST = 20

_DENIED = Deny(ErrorKind.SOURCE_DENIED)


class SourceGate:
    """The gate of one route. An address that cannot be read is refused."""

    __slots__ = ("_allowed", "_denied", "_ranges")

    def __init__(self, ranges: SourceRanges) -> None:
        self._ranges = ranges
        self._allowed = compile_networks(ranges.allowed) if ranges.allowed else None
        self._denied = compile_networks(ranges.denied) if ranges.denied else None

    def describe(self) -> About:
        """Which networks may pass and which may not."""
        denied, allowed = self._ranges.denied, self._ranges.allowed
        facts = []
        if denied:
            facts.append(f"Source ranges: these are refused: {_named(denied)}.")
        if allowed:
            facts.append(f"Source ranges: only these may pass: {_named(allowed)}.")
        return About(tuple(facts), is_foreseen=True, asks_address=True)

    def judge(self, asked: Asked, resume: Resume) -> Go | Deny:
        """The verdict, always at once."""
        address = address_of(asked.origin.peer)
        if address is None or (self._denied is not None and address in self._denied):
            return _DENIED
        return PASSED if self._allowed is None or address in self._allowed else _DENIED


def _named(networks: tuple[str, ...]) -> str:
    more = f" and {len(networks) - _NAMED_MOST} more" if len(networks) > _NAMED_MOST else ""
    return ", ".join(networks[:_NAMED_MOST]) + more
