"""Runs the isolated hooks of a worker: one process, asked over a Unix socket, killed and replaced when it overruns.

While the process does not answer, calls fail at once, and hooks say by `on_error` what becomes of their requests. What
the process says is checked as what a client sends is: the code in it may have taken it over.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import subprocess
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from time import perf_counter
from typing import Final, NamedTuple

import msgspec

from balancer.connections.hook_processes import reap, started
from balancer.model.hooks import HookCode
from balancer.runtime.absences import NEVER_ABSENT, Absences, AttendedWait
from balancer.runtime.shares import FairShares
from zonal_hooks.limits import Limits
from zonal_hooks.manifests import Asked
from zonal_hooks.talking import FROM_HOST, Answer, Begin, Begun, Call, Frames, Garbled, framed
from zonal_hooks.verdicts import Failed, InvalidAnswer, Verdict, check

_LOG = logging.getLogger(__name__)

_READ_BYTES: Final = 256 * 1024
USUAL_LIMITS: Final = Limits()
"""What a process of isolated hooks may take."""

_PENDING_MOST: Final = 1024  # calls under way, divided among namespaces; beyond its share a call fails at once
_START_SECONDS: Final = 20.0  # to load the hooks; calls of the first start wait so long
_GRACE_SECONDS: Final = 0.25  # beyond the timeout of a call, for the process to say so itself
_PAUSE_SECONDS: Final = (0.1, 5.0)  # before another start, when one after the other fails
_UNAVAILABLE: Final = Failed("unavailable", "its process does not run")
_OVERRUN: Final = Failed("overrun", "its process held on for too long and was killed")

CallEnded = Callable[[str, float, Verdict], None]
"""Told the name of a hook, the seconds of a call, and its verdict."""

ProcessLost = Callable[[str], None]
"""Told the namespace whose call was the oldest one under way when a process was lost: the one that it worked at."""


def _accuse_nobody(_: str) -> None:
    """Nobody wants to know who lost the process."""


class IsolatedCall:
    """One call under way. It is what is waited for."""

    __slots__ = ("_alarm", "_ended", "_name", "_started", "_tell", "is_over", "tenant")

    def __init__(self, name: str, tenant: str, ended: CallEnded) -> None:
        self._name = name
        self.tenant = tenant
        self._tell: Callable[[Verdict], None] = _untold
        self._ended = ended
        self._started = perf_counter()
        self._alarm: asyncio.TimerHandle | None = None
        self.is_over = False

    def tell_to(self, tell: Callable[[Verdict], None]) -> None:
        self._tell = tell

    def expire_with(self, alarm: asyncio.TimerHandle) -> None:
        """`alarm` is cancelled when the call is over."""
        self._alarm = alarm

    def cancel(self) -> None:
        self.is_over = True
        if self._alarm is not None:
            self._alarm.cancel()

    def end(self, verdict: Verdict) -> None:
        """Tells the verdict, unless the call is over."""
        if self.is_over:
            return
        self.cancel()
        self._ended(self._name, perf_counter() - self._started, verdict)
        self._tell(verdict)


def _untold(_: Verdict) -> None:
    """Nobody waits for the verdict."""


class _Hearers(NamedTuple):
    """Who is told of ends of calls, and of lost processes."""

    ended: CallEnded
    lost: ProcessLost


class HookHost:
    """One set of isolated hooks, and the process that runs them. Made inside a running loop."""

    __slots__ = (
        "_absences",
        "_begin",
        "_calls",
        "_fails",
        "_frames",
        "_hearers",
        "_is_closed",
        "_is_open",
        "_launch",
        "_loop",
        "_next",
        "_room",
        "_socket",
        "_starting",
        "_unsent",
        "_waiting",
    )

    def __init__(
        self,
        codes: tuple[HookCode, ...],
        ended: CallEnded,
        limits: Limits = USUAL_LIMITS,
        absences: Absences = NEVER_ABSENT,
        lost: ProcessLost = _accuse_nobody,
    ) -> None:
        """`absences` are those of the loop: what the process says during one is read before it counts as overrun."""
        self._absences = absences
        self._hearers = _Hearers(ended, lost)
        self._loop = asyncio.get_running_loop()
        asked = tuple(Asked(code.key, code.path, code.text, code.module) for code in codes)
        self._begin = framed(Begin(asked, limits))
        self._calls: dict[int, IsolatedCall] = {}
        self._room = FairShares(_PENDING_MOST)
        self._waiting: list[bytes] | None = []  # until the process has begun for the first time
        self._unsent = bytearray()
        self._next = 0
        self._fails = 0
        self._frames = Frames()
        self._launch: Future[subprocess.Popen[bytes]] | None = None
        self._socket: socket.socket | None = None
        self._is_open = False
        self._is_closed = False
        self._starting = ThreadPoolExecutor(max_workers=1, thread_name_prefix="hook-host")
        self._start()

    @property
    def pid(self) -> int | None:
        """The process that runs now."""
        launch = self._launch
        return launch.result().pid if launch is not None and launch.done() and launch.exception() is None else None

    def call(self, name: str, seconds: float, call: Call) -> Verdict | IsolatedCall:
        """Asks the process; `seconds` is the timeout of the hook. The number of `call` does not matter."""
        tenant = call.route.partition("/")[0]
        if (not self._is_open and self._waiting is None) or not self._room.has_room(tenant):
            self._hearers.ended(name, 0.0, _UNAVAILABLE)
            return _UNAVAILABLE
        self._next += 1
        number = self._next
        try:
            data = framed(msgspec.structs.replace(call, number=number))
        except Garbled as problem:
            failed = Failed("invalid", str(problem))
            self._hearers.ended(name, 0.0, failed)
            return failed
        self._room.take(tenant)
        made = self._calls[number] = IsolatedCall(name, tenant, self._hearers.ended)
        if self._is_open:
            self._send(data)
            if made.is_over:
                return _UNAVAILABLE  # its process has just ended
            self._expire_after(seconds + _GRACE_SECONDS, number, made)
        elif self._waiting is not None:
            self._waiting.append(data)
            self._expire_after(_START_SECONDS, number, made)
        return made

    def close(self) -> None:
        """Ends the process. Calls that are under way fail."""
        self._waiting = None
        self._is_closed = True
        self._end(_UNAVAILABLE)
        self._starting.shutdown(wait=False)

    # The process.

    def _start(self) -> None:
        """Begins to start a process, in a thread: to start one takes milliseconds."""
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        self._socket = ours
        self._frames = Frames()
        self._unsent = bytearray()
        launch = self._starting.submit(started, theirs)
        self._launch = launch
        asyncio.wrap_future(launch, loop=self._loop).add_done_callback(partial(self._started, launch))

    def _started(self, launch: Future[subprocess.Popen[bytes]], done: asyncio.Future[subprocess.Popen[bytes]]) -> None:
        failed = done.cancelled() or done.exception() is not None
        if launch is not self._launch or self._socket is None:  # ended meanwhile
            return
        if failed:
            return self._end(_UNAVAILABLE)
        self._loop.add_reader(self._socket, self._read)
        self._send(self._begin)

    def _end(self, verdict: Failed) -> None:
        """Ends the process, and with it every call."""
        launch = self._launch
        self._launch = None
        channel = self._socket
        self._socket = None
        self._is_open = False
        if channel is not None:
            self._loop.remove_reader(channel)
            self._loop.remove_writer(channel)
            channel.close()
        if launch is not None:
            self._starting.submit(reap, launch)
        calls = self._calls
        self._calls = {}
        self._room = FairShares(_PENDING_MOST)
        for call in calls.values():
            call.end(verdict)

    def _expire_after(self, seconds: float, number: int, call: IsolatedCall) -> None:
        wait = AttendedWait(seconds, self._loop.time(), self._absences)
        call.expire_with(self._loop.call_later(seconds, self._overran, number, wait))

    def _overran(self, number: int, wait: AttendedWait) -> None:
        """A call has no answer in time: nothing but its process can be ended."""
        call = self._calls.get(number)
        if call is None:
            return
        if left := wait.left(self._loop.time()):
            call.expire_with(self._loop.call_later(left, self._overran, number, wait))
        else:
            _LOG.warning("the process of isolated hooks overran and is killed; another one starts")
            self._replace(_OVERRUN)

    def _replace(self, verdict: Failed) -> None:
        self._waiting = None
        suspect = next(iter(self._calls.values()), None) if self._is_open else None
        self._end(verdict)
        if suspect is not None:
            self._hearers.lost(suspect.tenant)
        first, most = _PAUSE_SECONDS
        self._fails += 1
        self._loop.call_later(min(first * 2 ** min(self._fails - 1, 8), most), self._start_again)

    def _start_again(self) -> None:
        if self._socket is None and not self._is_closed:
            self._start()

    # What is said.

    def _send(self, data: bytes) -> None:
        channel = self._socket
        if channel is None:
            return
        self._unsent += data
        self._flush()

    def _flush(self) -> None:
        channel = self._socket
        if channel is None:
            return
        try:
            sent = channel.send(self._unsent)
        except BlockingIOError:
            sent = 0
        except OSError:
            return self._replace(_UNAVAILABLE)
        del self._unsent[:sent]
        if self._unsent:
            self._loop.add_writer(channel, self._flush)
        else:
            self._loop.remove_writer(channel)

    def _read(self) -> None:
        channel = self._socket
        if channel is None:
            return
        try:
            data = channel.recv(_READ_BYTES)
            if not data:
                raise EOFError
            for body in self._frames.feed(data):
                self._hear(FROM_HOST.decode(body))
        except BlockingIOError:
            return
        except (OSError, EOFError):
            _LOG.warning("the process of isolated hooks has ended; another one starts")
            self._replace(_UNAVAILABLE)
        except (Garbled, msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            _LOG.warning("the process of isolated hooks says what makes no sense; another one starts")
            self._replace(_UNAVAILABLE)

    def _hear(self, message: Begun | Answer) -> None:
        if isinstance(message, Begun):
            return self._begun(message)
        call = self._calls.pop(message.number, None)
        if call is None:
            return
        self._room.give_back(call.tenant)
        self._fails = 0
        call.end(_believed(message.verdict))

    def _begun(self, begun: Begun) -> None:
        for name, problem in begun.problems:
            _LOG.warning("isolated hook %s cannot be used: %s", name, problem)
        for what in begun.unconfined:
            _LOG.warning("isolated hooks are confined less: %s", what)
        self._is_open = True
        waiting = self._waiting or []
        self._waiting = None
        for data in waiting:
            self._send(data)


def _believed(verdict: Verdict) -> Verdict:
    """`verdict` if it can be carried out."""
    if isinstance(verdict, Failed):
        return verdict
    try:
        check(verdict)
    except InvalidAnswer as problem:
        return Failed("invalid", str(problem))
    return verdict
