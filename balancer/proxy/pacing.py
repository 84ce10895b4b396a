"""Sends a response body no faster than a route allows (ingress-nginx: limit-rate, limit-rate-after).

A paced stream stands between an exchange and the client's stream. What may not be sent yet waits here, and the exchange
is told that the client does not read, so the endpoint is held back: no more than one read waits. As in nginx, the bytes
of one second go at once, and the rate holds from there on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from balancer.errors import AttemptError, ErrorKind, Sent
from balancer.http.edits import HeadEdit
from balancer.http.messages import ResponseHead, Trailers
from balancer.http.streams import RequestStream
from balancer.model.policies import RoutePolicy
from balancer.proxy.between import StreamBetween
from balancer.runtime.deadlines import Alarm

_STEP_SECONDS = 0.25  # between two pieces: smooth enough to look at, and rare enough for thousands of downloads


class Pace:
    """How much of a body may have been sent by a time. Times are in seconds, sizes in bytes."""

    __slots__ = ("_after", "_began", "_rate", "_sent")

    def __init__(self, *, rate: int, after: int, now: float) -> None:
        self._rate = rate
        self._after = after
        self._began = now
        self._sent = 0

    def take(self, wanted: int, now: float) -> int:
        """How many of `wanted` bytes may be sent now. They count as sent."""
        allowed = int(self._rate * (now - self._began + 1.0)) + self._after - self._sent
        taken = max(min(wanted, allowed), 0)
        self._sent += taken
        return taken


class PacedStream(StreamBetween):
    """The stream of one request, at the pace of its route."""

    __slots__ = (
        "_alarm",
        "_delivered",
        "_loop",
        "_pace",
        "_policy",
        "_timer",
        "_trailers",
        "_waiting",
    )

    def __init__(self, inner: RequestStream, policy: RoutePolicy, alarm: Alarm) -> None:
        """`alarm` is used only after the exchange is over."""
        super().__init__(inner)
        self._policy = policy
        self._alarm = alarm
        self._loop = asyncio.get_running_loop()
        self._pace: Pace | None = None
        self._waiting = b""
        self._trailers: Trailers | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._delivered: Callable[[AttemptError | None], None] | None = None

    def is_delivered(self, delivered: Callable[[AttemptError | None], None]) -> bool:
        """Whether everything is written. Otherwise calls `delivered` when it is, or with an error if the client left.

        The exchange must be over.
        """
        if self._waiting:
            self._delivered = delivered
            self._alarm.owner = self
            self._alarm.set(self._policy.send_timeout_seconds)
        return not self._waiting

    # The response.

    def reads_little(self) -> bool:
        return True

    def respond(self, head: ResponseHead, edit: HeadEdit, data: bytes, trailers: Trailers | None) -> None:
        now = self._loop.time()
        self._pace = Pace(rate=self._policy.body_rate, after=self._policy.body_rate_after, now=now)
        size = self._pace.take(len(data), now)
        if size == len(data):
            self.inner.respond(head, edit, data, trailers)
            return
        self.inner.respond(head, edit, data[:size], None)
        self._trailers = trailers
        self._put_off(data[size:])

    def send(self, data: bytes) -> None:
        if self._pace is None:
            self.inner.send(data)
        elif self._waiting:
            self._waiting += data
        else:
            size = self._pace.take(len(data), self._loop.time())
            if size:
                self.inner.send(data[:size])
            if size < len(data):
                self._put_off(data[size:])

    def finish(self, trailers: Trailers) -> None:
        if self._waiting:
            self._trailers = trailers
        else:
            self.inner.finish(trailers)

    def reset(self) -> None:
        self.stop()
        self.inner.reset()

    def release(self) -> None:
        self.stop()
        self.inner.detach()
        self.inner.release()

    def _put_off(self, data: bytes) -> None:
        self._waiting = data
        self._wait()
        if self._consumer is not None and not self.inner.writing_paused:
            self._consumer.client_paused()

    def _wait(self) -> None:
        if self._timer is None:
            self._timer = self._loop.call_later(_STEP_SECONDS, self._step)

    def _step(self) -> None:
        """Sends what may be sent now. What the client does not read waits until it does."""
        self._timer = None
        if self.inner.writing_paused or self._pace is None:
            return
        size = self._pace.take(len(self._waiting), self._loop.time())
        piece = self._waiting[:size]
        self._waiting = self._waiting[size:]
        if piece:
            self.inner.send(piece)
        if self._waiting:
            self._wait()
            self._note_progress()
        else:
            self._catch_up()

    def _note_progress(self) -> None:
        """Keeps the client from being taken for one that does not read."""
        if self._delivered is not None:
            self._alarm.set(self._policy.send_timeout_seconds)
        elif self._consumer is not None:
            self._consumer.client_paused()

    def _catch_up(self) -> None:
        """Nothing waits any more."""
        if self._trailers is not None:
            trailers = self._trailers
            self._trailers = None
            self.inner.finish(trailers)
        if self._delivered is not None:
            self._end_delivery(None)
        elif self._consumer is not None and not self.inner.writing_paused:
            self._consumer.client_resumed()

    def _end_delivery(self, error: AttemptError | None) -> None:
        delivered = self._delivered
        self._delivered = None
        self._alarm.clear()
        if delivered is not None:
            delivered(error)

    def stop(self) -> None:
        """Drops what waits."""
        self._waiting = b""
        self._trailers = None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    # Events of the client, on their way to the exchange.

    def detach(self) -> None:
        self._consumer = None
        if not self._waiting:
            self.inner.detach()

    def client_paused(self) -> None:
        """The client does not read; the exchange knows already if something waits."""
        if self._consumer is not None and not self._waiting:
            self._consumer.client_paused()

    def client_resumed(self) -> None:
        """The client reads again."""
        if self._waiting:
            self._wait()
        elif self._consumer is not None:
            self._consumer.client_resumed()

    def client_lost(self, kind: ErrorKind) -> None:
        """Nobody gets the rest of the response."""
        self.stop()
        if self._consumer is not None:
            self._consumer.client_lost(kind)
        else:
            self._end_delivery(_undelivered(kind))

    def expired(self) -> None:
        """The client did not read the end of its response in time."""
        self.stop()
        self._end_delivery(_undelivered(ErrorKind.CLIENT_LEFT))

    @property
    def writing_paused(self) -> bool:
        """Whether the client or its pace holds the response up."""
        return bool(self._waiting) or self.inner.writing_paused


def _undelivered(kind: ErrorKind) -> AttemptError:
    return AttemptError(kind, Sent.BODY, answered=True)
