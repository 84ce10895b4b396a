"""Refuses requests over TLS for a host whose TLS passes to its endpoints. No I/O."""

from __future__ import annotations

from balancer.errors import ErrorKind
from balancer.matching.gates.verdicts import PASSED, Asked, Deny, ForeseenGate, Go, Resume


class PassedTlsGate(ForeseenGate):
    """The gate of a route whose host is passed through. Its clients belong on a connection of their own."""

    __slots__ = ()

    def judge(self, asked: Asked, resume: Resume) -> Go | Deny:
        """421 if TLS has ended here (RFC 9110 15.5.20)."""
        return Deny(ErrorKind.MISDIRECTED) if asked.secure else PASSED
