"""Lets a request in that at least one of several gates lets in (nginx `satisfy any`). Knows no kind of gate. No I/O."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial

import msgspec

from balancer.errors import ErrorKind
from balancer.matching.gates.verdicts import About, Asked, Deny, Gate, Go, NewPath, Reply, Resume, Verdict, Waiting

_VERDICTS = (Go, Deny, Reply, NewPath)
_SERVER_ERRORS = 500
_FORBIDDEN = 403
_REFUSING = frozenset({ErrorKind.SOURCE_DENIED})
"""Errors that mean that the client may not pass. Every other error is a failure, which ends the request."""


class AnyOfGate:
    """Asks gates in their order until one lets the request pass."""

    __slots__ = ("_gates", "_withheld")

    def __init__(self, gates: Iterable[Gate], withheld: Iterable[str]) -> None:
        """`withheld` are the client's fields, in lower case, that the endpoint never gets, whichever gate is enough."""
        self._gates = tuple(gates)
        self._withheld = frozenset(name.encode() for name in withheld)

    def describe(self) -> About:
        """What all gates say of themselves."""
        facts = [fact for gate in self._gates for fact in gate.describe().facts]
        return About((*facts, "One of these is enough (satisfy: any)."))

    def judge(self, asked: Asked, resume: Resume) -> Verdict | Waiting:
        """The first verdict that lets the request pass, or ends it because something failed.

        If every gate refuses, the client hears the last refusal that says what to do (401 or a redirect), rather than
        403, as in nginx.
        """
        return _Asking(self._gates, self._withheld, asked, resume).begin()


class _Asking:
    """Asks about one request."""

    __slots__ = ("_asked", "_is_over", "_left", "_refusal", "_resume", "_waiting", "_withheld")

    def __init__(self, gates: Iterable[Gate], withheld: frozenset[bytes], asked: Asked, resume: Resume) -> None:
        self._left: Iterator[Gate] = iter(gates)
        self._withheld = withheld
        self._asked = asked
        self._resume = resume
        self._refusal: Deny | Reply = Deny(ErrorKind.SOURCE_DENIED)
        self._waiting: Waiting | None = None
        self._is_over = False

    def begin(self) -> Verdict | Waiting:
        """The verdict, or this asking, which waits."""
        return self if (verdict := self._ask()) is None else verdict

    def cancel(self) -> None:
        """Cancels the gate that waits, because the client has left."""
        self._is_over = True
        if self._waiting is not None:
            self._waiting.cancel()

    def _ask(self) -> Verdict | None:
        """The verdict; None if a gate waits."""
        for gate in self._left:
            verdict = gate.judge(self._asked, partial(self._told, gate))
            if not isinstance(verdict, _VERDICTS):
                self._waiting = verdict
                return None
            if (ends := self._heard(verdict)) is not None:
                return ends
        return self._refusal

    def _told(self, gate: Gate, verdict: Verdict) -> None:
        """Goes on with the verdict of the gate that waited."""
        if self._is_over or self._waiting is None:
            return
        self._waiting = None
        ends = self._heard(verdict)
        if ends is None:
            ends = self._ask()
        if ends is not None:
            self._is_over = True
            self._resume(ends)

    def _heard(self, verdict: Verdict) -> Verdict | None:
        """What ends the asking; None if the next gate is asked."""
        if isinstance(verdict, Go):
            fields, withheld = self._asked.request.fields, self._withheld
            # An endpoint may read a name with `_` as the same name with `-`, as CGI does.
            odd = [name for name, _ in fields if b"_" in name and name.replace(b"_", b"-") in withheld]
            return msgspec.structs.replace(verdict, removed=verdict.removed | withheld.union(odd))
        if isinstance(verdict, NewPath) or not _refuses(verdict):
            return verdict
        if _says_what_to_do(verdict) or not _says_what_to_do(self._refusal):
            self._refusal = verdict
        return None


def _refuses(verdict: Deny | Reply) -> bool:
    """Whether the gate refuses the request. False: the gate could not decide."""
    return verdict.kind in _REFUSING if isinstance(verdict, Deny) else verdict.status < _SERVER_ERRORS


def _says_what_to_do(verdict: Deny | Reply) -> bool:
    return isinstance(verdict, Reply) and verdict.status != _FORBIDDEN
