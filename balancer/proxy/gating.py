"""Passes one request through the gates of its route: asks them in order, waits if one has to, ends if the client
leaves.

Decides nothing itself and writes no answer. Reports the end once to whoever began.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Protocol

import msgspec

from balancer.errors import ErrorKind, Refusal
from balancer.http.edits import ResponseEditor
from balancer.http.messages import Trailers
from balancer.logs.tracing.spans import SpanContext
from balancer.matching.gates.verdicts import PASSED, Asked, Deny, Gate, Go, NewPath, Reply, Verdict, Waiting

_VERDICTS = (Deny, Reply, NewPath, Go)  # Go last: who is no Go is compared with that slowly


class GatedRequest(Protocol):
    """Owns the request at the gates."""

    def gates_passed(self, go: Go) -> None:
        """Every gate lets the request pass. `go` holds what they change about its head; it is `PASSED` if they change
        nothing and none had to wait.
        """

    def gate_denied(self, kind: ErrorKind) -> None:
        """A gate refuses the request, or its client left (`CLIENT_LEFT`)."""

    def gate_replied(self, reply: Reply) -> None:
        """A gate answers the request itself."""

    def gate_led(self, to: NewPath, go: Go) -> None:
        """The request is matched anew. `go` is what earlier gates have changed about its head."""

    def edit_response(self, editors: tuple[ResponseEditor, ...]) -> None:
        """Let `editors` change the response, whoever answers."""

    def hold(self, release: Callable[[], None]) -> None:
        """Call `release` when the request is over, however it ends."""

    def record_span(self, span: SpanContext) -> None:
        """The request is recorded under `span` when it is over."""

    def await_gate(self, gating: Gating) -> None:
        """A gate has to wait. Until another method is called, `gating` must get the client's events."""

    def break_off(self) -> None:
        """A gate has raised an exception, which is being handled. The request cannot continue."""


class Gating:
    """Asks `gates` about one request. Consumes the events of the client's stream while a gate waits."""

    __slots__ = ("_asked", "_go", "_is_asking", "_left", "_owner", "_place", "_waiting")

    def __init__(self, owner: GatedRequest, gates: tuple[Gate, ...], asked: Asked, go: Go = PASSED) -> None:
        """`go` is what gates have said before."""
        self._owner = owner
        self._asked = asked
        self._left: Iterator[Gate] = iter(gates)
        self._place = 0
        self._is_asking = False
        self._waiting: Waiting | None = None
        self._go = go

    def begin(self) -> None:
        """Asks the gates until one refuses, one waits, or all have let the request pass."""
        for gate in self._left:
            self._place += 1
            self._is_asking = True
            verdict = gate.judge(self._asked, partial(self._resume, self._place))
            self._is_asking = False
            if verdict is PASSED:
                continue
            if not isinstance(verdict, _VERDICTS):
                self._waiting = verdict
                if self._go is PASSED:
                    self._go = Go()  # says that a gate had to wait
                return self._owner.await_gate(self)
            if not self._hear(verdict):
                return
        self._owner.gates_passed(self._go)

    def _resume(self, place: int, verdict: Verdict) -> None:
        """Continues with the verdict of the gate at `place`, unless it was already heard or nobody waits any more."""
        if self._is_asking and place == self._place:
            raise RuntimeError("a gate told its verdict before it said that it waits")
        if self._waiting is None or place != self._place:
            return
        self._waiting = None
        try:
            if self._hear(verdict):
                self.begin()
        except Exception:  # the caller is the gate that waited, not the code that serves the client
            self._owner.break_off()

    def _hear(self, verdict: Verdict) -> bool:
        """Whether the request goes on to the next gate; else it is answered."""
        if isinstance(verdict, Deny):
            self._end(verdict.kind)
        elif isinstance(verdict, Go):
            if verdict.added or verdict.removed or verdict.editors:
                self._add(verdict)
            if verdict.always:
                self._owner.edit_response(verdict.always)
            if verdict.release is not None:
                self._owner.hold(verdict.release)
            if verdict.span is not None:
                self._owner.record_span(verdict.span)
            return True
        else:
            self._left = iter(())
            if isinstance(verdict, Reply):
                self._owner.gate_replied(verdict)
            else:
                self._owner.gate_led(verdict, self._go)
        return False

    def _add(self, verdict: Go) -> None:
        """Adds what a gate changes about the head to what earlier ones do, which later ones are told."""
        before = self._go
        self._go = Go(before.added + verdict.added, before.removed | verdict.removed, before.editors + verdict.editors)
        if verdict.added:
            self._asked = msgspec.structs.replace(self._asked, added=self._go.added)

    def _end(self, kind: ErrorKind) -> None:
        self._left = iter(())
        self._owner.gate_denied(kind)

    # Events of the client meanwhile. The body waits until an exchange asks for it.

    def client_lost(self, kind: ErrorKind) -> None:
        waiting = self._waiting
        self._waiting = None
        if waiting is not None:
            waiting.cancel()
            self._end(kind)

    def client_paused(self) -> None:
        """Nothing is written while a gate waits."""

    def client_resumed(self) -> None:
        """Nothing is written while a gate waits."""

    def request_data(self, data: bytes) -> None:
        """Never called: nobody has started the body."""

    def request_end(self, trailers: Trailers) -> None:
        """Never called: nobody has started the body."""

    def request_rest(self, data: bytes, trailers: Trailers) -> None:
        """Never called: nobody has started the body."""

    def request_failed(self, refusal: Refusal) -> None:
        """Never called: nobody has started the body."""
