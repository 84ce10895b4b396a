"""What a gate is asked and what it may say.

Interfaces and values only. The rules of one kind of gate stand in a module of their own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple, Protocol

import msgspec

from balancer.errors import ErrorKind
from balancer.http.edits import ResponseEditor
from balancer.http.messages import Fields, RequestHead
from balancer.http.origin import Origin
from balancer.http.target import host_name
from balancer.logs.tracing.spans import SpanContext


class Asked(msgspec.Struct, frozen=True):
    """A request at the gates of its route.

    `origin` says who the client is. `secure` says that the connection is TLS. `captures` are what the groups of the
    route's regular expression captured of the path. `request_id` is the client's or was made for it, empty for none.
    `added` are fields that earlier gates add for the endpoint. `is_servable` says whether an endpoint could serve
    the request, because no service is asked about other requests; None: unknown.
    """

    request: RequestHead
    origin: Origin
    secure: bool
    captures: tuple[bytes, ...] = ()
    request_id: bytes = b""
    added: Fields = ()
    is_servable: Callable[[], bool] | None = None

    @property
    def host_name(self) -> bytes:
        """The name under which the client asked, without port, which a trusted proxy may have said."""
        return host_name(self.origin.host) if self.origin.host else self.request.host_name


class Go(msgspec.Struct, frozen=True):
    """The request goes on. Its endpoint gets the `added` fields, and none of the client's fields named in `removed`.

    Names in `removed` are in lower case. Added fields of an earlier gate are not removed. `editors` change the response
    to this request, and `always` do so even where a later gate answers it. `release` is called once when the request is
    over, however it ends. With a `span`, the request is recorded under it at its end.
    """

    added: Fields = ()
    removed: frozenset[bytes] = frozenset()
    editors: tuple[ResponseEditor, ...] = ()
    release: Callable[[], None] | None = None
    span: SpanContext | None = None
    always: tuple[ResponseEditor, ...] = ()


PASSED: Final = Go()
"""The verdict of gates that change nothing: one for all requests."""


class Deny(NamedTuple):
    """The request is answered as an error of this kind."""

    kind: ErrorKind


class Reply(NamedTuple):
    """The request is answered with this response, such as a redirect.

    `fields` lack Date and Content-Length, and Content-Type where `body` is None: a small page for the status then.
    `kind` is the error that log and metrics name; None: the answer is no error. `editors` change the answer, after
    those of the route, or instead of them: `is_of_host`.
    """

    status: int
    fields: Fields = ()
    body: bytes | None = None
    kind: ErrorKind | None = None
    editors: tuple[ResponseEditor, ...] = ()
    is_of_host: bool = False


class NewPath(NamedTuple):
    """The request is matched anew by `path`, which is decoded and begins with `/`; nothing else of its route is asked.

    `turns` is how often that has happened by scripts of routes, this time included.
    """

    path: bytes
    turns: int = 0


Verdict = Go | Deny | Reply | NewPath

Resume = Callable[[Verdict], None]
"""Tells the verdict of a gate that had to wait. The second call and calls after a cancellation have no effect."""


class Waiting(Protocol):
    """A verdict that is not known yet."""

    def cancel(self) -> None:
        """Ends the wait, because the client has left."""


class About(NamedTuple):
    """What a gate says of itself, for people who ask where a request would go.

    `facts` are sentences about its rule. `is_foreseen`: `judge` has no effect and answers at once, so the gate may be
    asked about a request that nobody sends. `asks_address`: the verdict depends on the address of the client.
    `leads_on`: a client that is redirected comes back to the same route.
    """

    facts: tuple[str, ...] = ()
    is_foreseen: bool = False
    asks_address: bool = False
    leads_on: bool = False


FORESEEN: Final = About(is_foreseen=True)
"""Nothing is said before a request is judged."""


class ForeseenGate:
    """The base of gates that answer certain requests at once, and say no more of themselves."""

    __slots__ = ()

    def describe(self) -> About:
        """Nothing to say before a request is judged."""
        return FORESEEN


class Gate(Protocol):
    """Judges the requests of one route. It is made at the swap and keeps nothing of a request.

    A gate may add something to one request only by its verdict.
    """

    def judge(self, asked: Asked, resume: Resume) -> Verdict | Waiting:
        """The verdict, or what is waited for: then the gate calls `resume` later, never before this call returns.

        A gate that waits must bound its own time, because nothing else ends the wait while the client stays.
        """

    def describe(self) -> About:
        """What the gate does, for explanations."""
