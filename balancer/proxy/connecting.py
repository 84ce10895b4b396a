"""Makes one connection to an endpoint for a request that may stop waiting for it and go elsewhere.

A connection that the request did not wait for is kept in its pool. How long it takes is evidence about the endpoint
(`picking/silence.py`). Of the connects to one endpoint that nobody waits for, only the oldest goes on.
"""

from __future__ import annotations

import asyncio
import ssl
import time
from typing import Protocol

from balancer.errors import ErrorKind, NoPlaceError
from balancer.http.streams import Awaited, EndpointStream, Pool
from balancer.picking.backend import BackendRuntime
from balancer.picking.members import Pick
from balancer.picking.outcomes import Outcome
from balancer.proxy.forwarder import Forwarder
from balancer.runtime.absences import AttendedWait

_OF_US = (ErrorKind.CLIENT_LEFT, ErrorKind.OVERLOADED)  # they say nothing about the endpoint
_AGAIN_SECONDS = 0.25  # until it is asked again whether there is another endpoint
_ASKED_SECONDS = 0.1  # in which other endpoints say that they are there


class Waiter(Protocol):
    """A request that waits for a connection. It is told once how that ends."""

    def seconds_left(self) -> float:
        """The seconds that the request has left as a whole, maybe none or endless."""

    def connecting_ended(self, stream: EndpointStream | None, kind: ErrorKind) -> None:
        """There is a connection, or none because of `kind`."""

    def goes_elsewhere(self) -> bool:
        """Goes on with another endpoint, if that is allowed and there is one. Returns whether it does."""


class Connecting(Awaited):
    """One connection on its way, in a task of its own."""

    __slots__ = (
        "_absences",
        "_began",
        "_has_asked",
        "_is_gone",
        "_knocks",
        "_pick",
        "_pool",
        "_runtime",
        "_sight",
        "_task",
        "_tasks",
        "_timer",
        "_wait",
        "_waiter",
    )

    def __init__(self, waiter: Waiter, pick: Pick, pool: Pool, runtime: BackendRuntime, forwarder: Forwarder) -> None:
        self._waiter: Waiter | None = waiter
        self._pick = pick
        self._pool = pool
        self._runtime = runtime
        self._sight = forwarder.sight
        self._tasks = forwarder.pools.coming
        self._absences = forwarder.absences
        self._has_asked = False  # whether others were asked, or need not be
        self._is_gone = False  # whether the endpoint has left
        self._knocks = forwarder.knocks

    def begin(self, timeout_seconds: float) -> None:
        """Begins to connect. Nobody needs to hold on to this object."""
        now = time.perf_counter()
        self._began = now
        silence, member = self._runtime.silence, self._pick.member
        silence.began(member, now)
        self._pool.awaited.add(self)
        self._task = asyncio.get_running_loop().create_task(self._connect(timeout_seconds))
        self._tasks.add(self._task)
        self._task.add_done_callback(self._tasks.discard)
        patience = silence.patience(member, now)
        self._wait = AttendedWait(patience, now, self._absences)
        self._look_in(patience)

    def endpoint_left(self) -> None:
        self._is_gone = True
        self._wait.end()
        if self._waiter is None:
            self._give_up()
        else:
            self._timer.cancel()
            self._look_in(0.0)

    async def _connect(self, timeout_seconds: float) -> None:
        stream, kind = None, ErrorKind.CLIENT_LEFT  # if the task is cancelled
        try:
            stream = await self._pool.connect(timeout_seconds)
        except NoPlaceError:
            kind = ErrorKind.OVERLOADED
        except TimeoutError:
            kind = ErrorKind.CONNECT_TIMEOUT
        except ssl.SSLError:
            kind = ErrorKind.ENDPOINT_TLS
        except OSError:
            kind = ErrorKind.CONNECT_REFUSED
        finally:
            self._timer.cancel()
            self._pool.awaited.discard(self)
            self._runtime.silence.ended(self._pick.member, self._began)
            self._ended(stream, kind)

    def _ended(self, stream: EndpointStream | None, kind: ErrorKind) -> None:
        runtime, member, now = self._runtime, self._pick.member, time.perf_counter()
        if stream is not None:
            seconds = self._absences.attended(self._began, now)
            self._sight.tell_all(runtime, runtime.silence.connected(member, seconds, now), now)
        waiter = self._waiter
        self._waiter = None
        if waiter is not None:
            if kind is ErrorKind.CONNECT_TIMEOUT and waiter.seconds_left() <= 0:
                kind = ErrorKind.CALL_TIMEOUT
            waiter.connecting_ended(stream, kind)
            return
        if stream is not None:
            stream.release()
        is_known = stream is None and kind not in _OF_US
        outcome = Outcome.UNREACHED if is_known else Outcome.UNKNOWN
        change = runtime.health.report(member.health, outcome, now, self._pick.probe)
        if change is not None:
            self._sight.tell(runtime, member, change, now, kind.value)

    # Whether the request waits on.

    def _look_in(self, seconds: float) -> None:
        if self._waiter is not None:
            seconds = max(0.0, min(seconds, self._waiter.seconds_left()))
            self._timer = asyncio.get_running_loop().call_later(seconds, self._look)

    def _look(self) -> None:
        waiter, now = self._waiter, time.perf_counter()
        if waiter is None:
            return
        left = self._wait.left(now)
        if left and waiter.seconds_left() > 0:
            return self._look_in(left)
        self._judge(now)
        if waiter.seconds_left() <= 0:
            self._waiter = None
            waiter.connecting_ended(None, ErrorKind.CALL_TIMEOUT)
        elif self._asks_others(now):
            return self._look_in(_ASKED_SECONDS)
        elif waiter.goes_elsewhere():
            self._waiter = None
        else:
            return self._look_in(_AGAIN_SECONDS)
        if not self._is_kept():
            self._give_up()

    def _give_up(self) -> None:
        """Ends the connect, but not before its first step: a task that never began would not say that it is over."""
        asyncio.get_running_loop().call_soon(self._task.cancel)

    def _asks_others(self, now: float) -> bool:
        """Asks once who is there, if nobody was heard meanwhile. Returns whether it does: then it is worth a moment."""
        if self._has_asked or self._is_gone:
            return False
        self._has_asked = True
        return self._knocks.ask_others(self._runtime, self._pick.member, self._began, now)

    def _judge(self, now: float) -> None:
        runtime, member = self._runtime, self._pick.member
        told = runtime.silence.judge(now)
        self._sight.tell_all(runtime, told, now)
        if member.is_silent:
            self._pool.drop_idle()

    def _is_kept(self) -> bool:
        """Whether the connect goes on without its request: as a probe, or because none is pending for longer."""
        member = self._pick.member
        if self._is_gone:
            return False
        return self._pick.probe or self._runtime.silence.is_oldest(member, self._began)
