"""What a gate is asked and what it may say.

Interfaces and values only. The rules of one kind of gate stand in a module of their own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

from balancer.errors import ErrorKind
from balancer.http.messages import Fields, RequestHead


class Asked(NamedTuple):
    """A request at the gates of its route.

    `client` is the client's address without port. A PROXY header may have said it; X-Forwarded-For never does, because
    anybody can send that field. `secure` says that the connection is TLS.
    """

    request: RequestHead
    client: str
    secure: bool


class Go(NamedTuple):
    """The request goes on. Its endpoint gets the `added` fields, and none of the client's fields named in `removed`.

    Names in `removed` are in lower case. Added fields of an earlier gate are not removed.
    """

    added: Fields = ()
    removed: frozenset[bytes] = frozenset()


class Deny(NamedTuple):
    """The request is answered as an error of this kind."""

    kind: ErrorKind


Verdict = Go | Deny

Resume = Callable[[Verdict], None]
"""Tells the verdict of a gate that had to wait. The second call and calls after a cancellation have no effect."""


class Waiting(Protocol):
    """A verdict that is not known yet."""

    def cancel(self) -> None:
        """Nobody wants the verdict any more, because the client left."""


class Gate(Protocol):
    """Judges the requests of one route. It is made at the swap and keeps nothing of a request.

    A gate may add something to one request only by its verdict.
    """

    def judge(self, asked: Asked, resume: Resume) -> Verdict | Waiting:
        """The verdict, or what is waited for: then the gate calls `resume` later, never before this call returns.

        A gate that waits bounds its own time: nobody else ends the wait while the client stays.
        """
