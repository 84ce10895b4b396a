"""Defines what an HTTP/2 engine does: bytes in, plain tuples out, faults as values. No I/O, no clock.

An engine knows frames, header compression, stream states and windows (RFC 9113, RFC 7541). It does not know what the
fields of a message mean; `requests` and `responses` do. `native_engine` implements it with nghttp2 itself (compiled
builds only), `ngh2_engine` with a binding of nghttp2, and `h2_engine` with hyper-h2; `engines` chooses. Nothing here
raises because of what a peer sends.
"""

from __future__ import annotations

from balancer.http.messages import Fields
from balancer.http2.budgets import Budgets
from balancer.http2.events import Event
from balancer.http2.frames import Frames

CLIENT, SERVER = False, True
"""The roles of an engine."""


class Engine:
    """One connection. A base class and not a protocol, because every request passes through it.

    `frames` are those of the peer, and `budgets` count what it does wrong. `peer_max_streams` is how many of ours the
    peer takes at once, and 1 until its settings came.

    A call for a stream that is closed, or after a FAULT, does nothing. Calls only queue frames: `take_bytes` makes
    them, once for all that a turn has queued. Each `receive` has to be followed by a `take_bytes` in the same turn,
    unless `has_bytes` is False.
    """

    __slots__ = ("budgets", "frames", "peer_max_streams")

    budgets: Budgets
    frames: Frames
    peer_max_streams: int

    def receive(self, data: bytes, now: float) -> list[Event]:
        """What `data` of the peer means. `now`, in seconds of any clock, is for the budgets against floods."""
        raise NotImplementedError

    def has_bytes(self) -> bool:
        """Whether `take_bytes` may return bytes or cause an event. False is certain; True may be spurious."""
        return True

    def take_bytes(self, most: int | None = None) -> bytes:
        """What has to be written now, empty if there is nothing. Streams may close by it: `take_events` says which.

        `most` bounds the bytes that a server takes at once, and those of bodies that a client does, up to a frame more.
        The rest stays with the engine.
        """
        raise NotImplementedError

    def take_events(self) -> list[Event]:
        """What happened in `take_bytes`: CLOSED, and FAULT, of which `receive` cannot always know yet."""
        raise NotImplementedError

    def can_request(self) -> bool:
        """Whether a new stream may be opened (client): no GOAWAY came, and numbers are left."""
        raise NotImplementedError

    def request(self, fields: Fields, ends: bool) -> int:
        """Sends the head of a request (client). Returns the number of its stream, 0 if it cannot be opened."""
        raise NotImplementedError

    def interim(self, stream: int, fields: Fields) -> None:
        """Sends the head of a 1xx response (server)."""
        raise NotImplementedError

    def respond(self, stream: int, fields: Fields, ends: bool) -> None:
        """Sends the head of the final response (server). `ends`: nothing follows."""
        raise NotImplementedError

    def data(self, stream: int, data: bytes, ends: bool) -> None:
        """Sends a piece of the body, as far as windows allow, and keeps the rest. It may be empty if it `ends`."""
        raise NotImplementedError

    def trailers(self, stream: int, fields: Fields) -> None:
        """Ends the message with `fields`, which are not empty, behind what is kept of its body."""
        raise NotImplementedError

    def reset(self, stream: int, code: int) -> None:
        """Sends RST_STREAM and drops what is kept. CLOSED follows."""
        raise NotImplementedError

    def withdraw(self, stream: int) -> bool:
        """Takes back the head of a request that waits because the peer takes no more streams (client).

        The stream is gone then, without CLOSED. False: the head may have left.
        """
        raise NotImplementedError

    def received(self, stream: int, size: int) -> None:
        """Gives back `size` bytes of DATA events, so that the peer may send as many again.

        Call it for each byte once, when it has been passed on or dropped, also if its stream is closed already:
        otherwise the window of the connection shrinks for ever. Raises ValueError for more than came.
        """
        raise NotImplementedError

    def queued(self, stream: int) -> int:
        """The bytes of the body that are kept for want of window. Right after `take_bytes`, 0 says that all left."""
        raise NotImplementedError

    def queued_in_all(self) -> int:
        """The bytes that `queued` gives, of all streams together."""
        raise NotImplementedError

    def ping(self, data: bytes) -> None:
        """Sends a PING with eight bytes; PING_ACK has them."""
        raise NotImplementedError

    def shutdown_notice(self) -> None:
        """The first step of a drain (server): GOAWAY with the highest number, so that no request is lost."""
        raise NotImplementedError

    def goaway(self, code: int) -> None:
        """Sends GOAWAY with the last stream that was reported. Streams up to it go on; later ones are not taken."""
        raise NotImplementedError
