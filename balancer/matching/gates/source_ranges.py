"""Lets requests in by the address of their client. No I/O.

The networks are compiled at the swap.
"""

from __future__ import annotations

from balancer.errors import ErrorKind
from balancer.matching.addresses import address_of, compile_networks
from balancer.matching.gates.verdicts import PASSED, Asked, Deny, Go, Resume
from balancer.model.gates import SourceRanges

_DENIED = Deny(ErrorKind.SOURCE_DENIED)


class SourceGate:
    """The gate of one route. An address that cannot be read is refused."""

    __slots__ = ("_allowed", "_denied")

    def __init__(self, ranges: SourceRanges) -> None:
        self._allowed = compile_networks(ranges.allowed) if ranges.allowed else None
        self._denied = compile_networks(ranges.denied) if ranges.denied else None

    def judge(self, asked: Asked, resume: Resume) -> Go | Deny:
        """The verdict, always at once."""
        address = address_of(asked.origin.peer)
        if address is None or (self._denied is not None and address in self._denied):
            return _DENIED
        return PASSED if self._allowed is None or address in self._allowed else _DENIED
