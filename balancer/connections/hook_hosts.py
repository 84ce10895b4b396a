"""Runs the isolated hooks of a worker: one process, asked over a Unix socket, killed and replaced when it overruns.

The call at which a lost process worked fails, and all others are asked again. If one process after the other is lost,
calls fail at once, and hooks say by `on_error` what becomes of their requests. What the process says is checked as what
a client sends is: the code in it may have taken it over.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import subprocess
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Final, NamedTuple

import msgspec

from balancer.connections.hook_processes import reap, started
from balancer.connections.isolated_calls import CallEnded, IsolatedCall, tenant_of
from balancer.model.hooks import HookCode
from balancer.runtime.absences import NEVER_ABSENT, Absences, AttendedWait
from balancer.runtime.shares import FairShares
from zonal_hooks.limits import Limits
from zonal_hooks.manifests import Asked
from zonal_hooks.talking import FROM_HOST, Answer, Begin, Begun, Call, Frames, Garbled, framed
from zonal_hooks.verdicts import Failed, InvalidAnswer, Verdict, check
from zonal_hooks.work_notes import Work, WorkNote, note_file

_LOG = logging.getLogger(__name__)

_READ_BYTES: Final = 256 * 1024
USUAL_LIMITS: Final = Limits()
"""What a process of isolated hooks may take."""

_PENDING_MOST: Final = 1024  # calls under way, divided among namespaces; beyond its share a call fails at once
_START_SECONDS: Final = 20.0  # to load the hooks; a call waits for a process so long, from its beginning on
_LOSSES_MOST: Final = 4  # processes without an answer; after that, calls wait for no further one
_GRACE_SECONDS: Final = 0.25  # beyond the timeout of a call, for the process to say so itself
_PAUSE_SECONDS: Final = (0.1, 5.0)  # before another start, when one after the other fails
_UNAVAILABLE: Final = Failed("unavailable", "its process does not run")
_OVERRUN: Final = Failed("overrun", "its process held on for too long and was killed")
_NO_WORK: Final = Work(0, 0.0)

ProcessLost = Callable[[str], None]
"""Told the namespace at whose call a process worked when it was lost."""


def _accuse_nobody(_: str) -> None:
    """Nobody wants to know who lost the process."""


class _Hearers(NamedTuple):
    """Who is told of ends of calls, and of lost processes."""

    ended: CallEnded
    lost: ProcessLost


class HookHost:
    """One set of isolated hooks, and the process that runs them. Made inside a running loop."""

    __slots__ = (
        "_absences",
        "_begin",
        "_blind",
        "_calls",
        "_fails",
        "_frames",
        "_heard",
        "_hearers",
        "_is_closed",
        "_is_open",
        "_launch",
        "_loop",
        "_next",
        "_note",
        "_room",
        "_socket",
        "_start_at",
        "_starting",
        "_unsent",
        "_waits",
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
        self._waits = True  # calls wait for the next process
        self._blind = 0  # processes that were lost without an answer while nobody's call was worked at
        self._unsent = bytearray()
        self._next = 0
        self._fails = 0
        self._heard = 0
        self._frames = Frames()
        self._launch: Future[subprocess.Popen[bytes]] | None = None
        self._socket: socket.socket | None = None
        self._start_at = 0.0
        self._note: WorkNote | None = None
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
        tenant = tenant_of(call)
        if not (self._is_open or self._waits) or not self._room.has_room(tenant):
            self._hearers.ended(name, 0.0, _UNAVAILABLE)
            return _UNAVAILABLE
        self._next += 1
        asked = msgspec.structs.replace(call, number=self._next)
        try:
            data = framed(asked)
        except Garbled as problem:
            failed = Failed("invalid", str(problem))
            self._hearers.ended(name, 0.0, failed)
            return failed
        self._room.take(tenant)
        made = IsolatedCall(name, seconds, asked, self._loop.time(), self._hearers.ended)
        self._calls[asked.number] = made
        if self._is_open:
            self._ask(made, data)
        else:
            self._expire_after(_START_SECONDS, made)
        return _UNAVAILABLE if made.is_over else made  # its process may have ended just now, for the last time

    def close(self) -> None:
        """Ends the process. Calls that are under way fail."""
        self._waits = False
        self._is_closed = True
        self._end_process()
        self._part(_UNAVAILABLE, None)
        self._starting.shutdown(wait=False)

    # The process.

    def _start(self) -> None:
        """Begins to start a process, in a thread: to start one takes milliseconds."""
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        self._socket = ours
        self._frames = Frames()
        self._unsent = bytearray()
        note = note_file()
        self._note = WorkNote(note)
        self._start_at = self._loop.time()
        launch = self._starting.submit(started, theirs, note)
        self._launch = launch
        asyncio.wrap_future(launch, loop=self._loop).add_done_callback(partial(self._started, launch))

    def _started(self, launch: Future[subprocess.Popen[bytes]], done: asyncio.Future[subprocess.Popen[bytes]]) -> None:
        failed = done.cancelled() or done.exception() is not None
        if launch is not self._launch or self._socket is None:  # ended meanwhile
            return
        if failed:
            return self._replace(_UNAVAILABLE)
        self._loop.add_reader(self._socket, self._read)
        self._send(self._begin)

    def _end_process(self) -> None:
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

    def _part(self, verdict: Failed, tenant: str | None) -> None:
        """Without a process: ends the calls of `tenant`, and keeps those of others if there will be another process."""
        calls = self._calls
        now = self._loop.time()
        kept = {
            number: call
            for number, call in calls.items()
            if self._waits and not call.is_over and call.tenant != tenant and now < call.began + _START_SECONDS
        }
        self._calls = kept
        for number, call in calls.items():
            if number not in kept:
                self._room.give_back(call.tenant)
        for call in kept.values():
            self._expire_after(call.began + _START_SECONDS - now, call)
        for number, call in calls.items():
            if number not in kept:
                call.end(verdict)  # whoever hears of it may call again

    def _expire_after(self, seconds: float, call: IsolatedCall) -> None:
        wait = AttendedWait(seconds, self._loop.time(), self._absences)
        call.expire_with(self._loop.call_later(seconds, self._expire, call, wait, self._heard))

    def _expire(self, call: IsolatedCall, wait: AttendedWait, heard: int) -> None:
        """A call has no answer in time. What holds the process can be ended only with it.

        `heard` is how many answers the process had given when the wait began.
        """
        now = self._loop.time()
        if left := wait.left(now):
            call.expire_with(self._loop.call_later(left, self._expire, call, wait, heard))
        elif not self._is_open:
            self._drop(call, _UNAVAILABLE)
            if now - self._start_at >= _START_SECONDS:
                self._replace(_UNAVAILABLE)
        elif worked := self._worked_at:
            held = worked.seconds + _GRACE_SECONDS - (now - self._work.since)
            if held <= 0:
                self._overrun(worked)
            elif now >= call.began + _START_SECONDS:
                self._drop(call, _OVERRUN)
            else:
                self._expire_after(held, call)  # it has just come to that call
        elif self._heard == heard:
            self._overrun(call)
        else:
            self._expire_after(_GRACE_SECONDS, call)

    def _drop(self, call: IsolatedCall, verdict: Failed) -> None:
        del self._calls[call.asked.number]
        self._room.give_back(call.tenant)
        call.end(verdict)

    def _overrun(self, suspect: IsolatedCall) -> None:
        _LOG.warning("the process of isolated hooks overran and is killed; another one starts")
        self._replace(_OVERRUN, suspect)

    @property
    def _work(self) -> Work:
        return self._note.read() if self._note is not None and self._is_open else _NO_WORK

    @property
    def _worked_at(self) -> IsolatedCall | None:
        """The call at which the process works, or worked when it was lost."""
        return self._calls.get(self._work.call)

    def _replace(self, verdict: Failed, suspect: IsolatedCall | None = None) -> None:
        """The process is lost: by the call at which it worked, as far as is known, or by `suspect`."""
        suspect = suspect or self._worked_at
        self._end_process()
        if suspect is None:
            self._blind += 1
        self._waits = self._blind <= _LOSSES_MOST and not self._is_closed
        if suspect is not None:
            self._hearers.lost(suspect.tenant)
        self._part(verdict, suspect.tenant if suspect is not None else None)
        first, most = _PAUSE_SECONDS
        self._fails += 1
        self._loop.call_later(min(first * 2 ** min(self._fails - 1, 8), most), self._start_again)

    def _start_again(self) -> None:
        if self._socket is None and not self._is_closed:
            self._start()

    # What is said.

    def _ask(self, call: IsolatedCall, data: bytes) -> None:
        self._expire_after(call.seconds + _GRACE_SECONDS, call)
        self._send(data)

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
        self._heard += 1
        call = self._calls.pop(message.number, None)
        if call is None:
            return
        self._room.give_back(call.tenant)
        self._fails = 0
        self._blind = 0
        call.end(_believed(message.verdict))

    def _begun(self, begun: Begun) -> None:
        for name, problem in begun.problems:
            _LOG.warning("isolated hook %s cannot be used: %s", name, problem)
        for what in begun.unconfined:
            _LOG.warning("isolated hooks are confined less: %s", what)
        self._is_open = True
        self._waits = True
        for number, call in tuple(self._calls.items()):
            if call.is_over:
                del self._calls[number]
                self._room.give_back(call.tenant)
            elif self._is_open:  # or else this process is lost already, and the next one is asked
                self._ask(call, framed(call.asked))


def _believed(verdict: Verdict) -> Verdict:
    """`verdict` if it can be carried out."""
    if isinstance(verdict, Failed):
        return verdict
    try:
        check(verdict)
    except InvalidAnswer as problem:
        return Failed("invalid", str(problem))
    return verdict
