"""Runs isolated hooks in one process, asked over a Unix socket, killed and replaced when it overruns.

The call at which a lost process worked fails, as do all of its namespace, and those of others are asked again. If one
process after the other is lost, calls fail at once, and hooks say by `on_error` what becomes of their requests.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import subprocess
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from functools import partial
from typing import Final, NamedTuple

import msgspec

from balancer.connections.hook_channels import HookChannel
from balancer.connections.hook_processes import reap, started
from balancer.connections.hook_threads import HookThreads
from balancer.connections.isolated_calls import CallEnded, IsolatedCall, tenant_of
from balancer.model.hooks import HookCode
from balancer.runtime.absences import NEVER_ABSENT, Absences, AttendedWait
from balancer.runtime.shares import FairShares
from zonal_hooks.limits import Limits
from zonal_hooks.manifests import Asked
from zonal_hooks.talking import Answer, Begin, Begun, Call, Garbled, framed
from zonal_hooks.verdicts import Failed, InvalidAnswer, Verdict, check
from zonal_hooks.work_notes import Work, WorkNote, note_file

_LOG = logging.getLogger(__name__)

USUAL_LIMITS: Final = Limits()
"""What a process of isolated hooks may take."""

UNAVAILABLE: Final = Failed("unavailable", "its process does not run")

START_SECONDS: Final = 20.0  # to load the hooks; a call waits for a process so long, from its beginning on
_LOSSES_MOST: Final = 4  # processes without an answer; after that, calls wait for no further one
_GRACE_SECONDS: Final = 0.25  # beyond the timeout of a call, for the process to say so itself
_PAUSE_SECONDS: Final = (0.1, 5.0)  # before another start, when one after the other fails
_OVERRUN: Final = Failed("overrun", "its process held on for too long and was killed")
_NO_WORK: Final = Work(0, 0.0)

ProcessLost = Callable[[str], None]
"""Told the namespace at whose call a process worked when it was lost."""


def _accuse_nobody(_: str) -> None:
    """Nobody wants to know who lost the process."""


class HookTerms(NamedTuple):
    """What the processes of one set of isolated hooks have in common.

    `begin` is what each is told first (`beginning`), `ended` is told of ends of calls, and `room` is that of all calls
    under way in a worker, by namespace. `threads` start and end the processes of a worker. `absences` are those of the
    loop: what a process says during one is read before it counts as overrun.
    """

    begin: bytes
    ended: CallEnded
    room: FairShares
    threads: HookThreads
    absences: Absences = NEVER_ABSENT


class HookHost:
    """One process of isolated hooks, and the ones that replace it. Made inside a running loop."""

    __slots__ = (
        "_blind",
        "_calls",
        "_channel",
        "_fails",
        "_heard",
        "_home",
        "_is_closed",
        "_is_open",
        "_launch",
        "_loop",
        "_lost",
        "_next",
        "_note",
        "_start_at",
        "_terms",
        "_waits",
    )

    def __init__(self, terms: HookTerms, home: str, lost: ProcessLost = _accuse_nobody) -> None:
        """`home` is whose processes they are, for `HookThreads`."""
        self._terms = terms
        self._home = home
        self._lost = lost
        self._loop = asyncio.get_running_loop()
        self._calls: dict[int, IsolatedCall] = {}
        self._waits = True  # calls wait for the next process
        self._blind = 0  # processes that were lost without an answer while nobody's call was worked at
        self._next = 0
        self._fails = 0
        self._heard = 0
        self._launch: Future[subprocess.Popen[bytes]] | None = None
        self._channel: HookChannel | None = None
        self._start_at = 0.0
        self._note: WorkNote | None = None
        self._is_open = False
        self._is_closed = False
        self._start()

    @property
    def pid(self) -> int | None:
        """The process that runs now."""
        launch = self._launch
        return launch.result().pid if launch is not None and launch.done() and launch.exception() is None else None

    def call(self, name: str, seconds: float, call: Call) -> Verdict | IsolatedCall:
        """Asks the process; `seconds` is the timeout of the hook. The number of `call` does not matter."""
        tenant = tenant_of(call)
        if not (self._is_open or self._waits) or not self._terms.room.has_room(tenant):
            self._terms.ended(name, 0.0, UNAVAILABLE)
            return UNAVAILABLE
        self._next += 1
        asked = msgspec.structs.replace(call, number=self._next)
        try:
            data = framed(asked)
        except Garbled as problem:
            failed = Failed("invalid", str(problem))
            self._terms.ended(name, 0.0, failed)
            return failed
        self._terms.room.take(tenant)
        made = IsolatedCall(name, seconds, asked, self._loop.time(), self._terms.ended)
        self._calls[asked.number] = made
        if self._is_open:
            self._ask(made, data)
        else:
            self._expire_after(START_SECONDS, made)
        return UNAVAILABLE if made.is_over else made  # its process may have ended just now, for the last time

    def close(self) -> None:
        """Ends the process. Calls that are under way fail."""
        self._waits = False
        self._is_closed = True
        self._end_process()
        self._part(UNAVAILABLE, None)

    # The process.

    def _start(self) -> None:
        """Begins to start a process, in a thread, after the one before has ended."""
        ours, theirs = socket.socketpair()
        self._channel = HookChannel(ours, self._hear, self._end)
        note = note_file()
        self._note = WorkNote(note)
        self._start_at = self._loop.time()
        launch = self._terms.threads.submit(self._home, partial(started, theirs, note))
        self._launch = launch
        asyncio.wrap_future(launch, loop=self._loop).add_done_callback(partial(self._started, launch))

    def _started(self, launch: Future[subprocess.Popen[bytes]], done: asyncio.Future[subprocess.Popen[bytes]]) -> None:
        failed = done.cancelled() or done.exception() is not None
        channel = self._channel
        if launch is not self._launch or channel is None:  # ended meanwhile
            return
        if failed:
            return self._replace(UNAVAILABLE)
        channel.open()
        channel.say(self._terms.begin)

    def _end_process(self) -> None:
        launch = self._launch
        self._launch = None
        channel = self._channel
        self._channel = None
        self._is_open = False
        if channel is not None:
            channel.close()
        if launch is not None:
            self._terms.threads.submit(self._home, partial(reap, launch))

    def _part(self, verdict: Failed, tenant: str | None) -> None:
        """Without a process: ends the calls of `tenant`, and keeps those of others if there will be another process."""
        calls = self._calls
        now = self._loop.time()
        kept = {
            number: call
            for number, call in calls.items()
            if self._waits and not call.is_over and call.tenant != tenant and now < call.began + START_SECONDS
        }
        self._calls = kept
        for number, call in calls.items():
            if number not in kept:
                self._terms.room.give_back(call.tenant)
        for call in kept.values():
            self._expire_after(call.began + START_SECONDS - now, call)
        for number, call in calls.items():
            if number not in kept:
                call.end(verdict)  # whoever hears of it may call again

    def _expire_after(self, seconds: float, call: IsolatedCall) -> None:
        wait = AttendedWait(seconds, self._loop.time(), self._terms.absences)
        call.expire_with(self._loop.call_later(seconds, self._expire, call, wait, self._heard))

    def _expire(self, call: IsolatedCall, wait: AttendedWait, heard: int) -> None:
        """A call has no answer in time. What holds the process can be ended only with it.

        `heard` is how many answers the process had given when the wait began.
        """
        now = self._loop.time()
        if left := wait.left(now):
            call.expire_with(self._loop.call_later(left, self._expire, call, wait, heard))
        elif not self._is_open:
            self._drop(call, UNAVAILABLE)
            if now - self._start_at >= START_SECONDS:
                self._replace(UNAVAILABLE)
        elif worked := self._worked_at:
            held = worked.seconds + _GRACE_SECONDS - (now - self._work.since)
            if held <= 0:
                self._overrun(worked)
            elif now >= call.began + START_SECONDS:
                self._drop(call, _OVERRUN)
            else:
                self._expire_after(held, call)  # it has just come to that call
        elif self._heard == heard:
            self._overrun(call)
        else:
            self._expire_after(_GRACE_SECONDS, call)

    def _drop(self, call: IsolatedCall, verdict: Failed) -> None:
        del self._calls[call.asked.number]
        self._terms.room.give_back(call.tenant)
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
            self._lost(suspect.tenant)
        self._part(verdict, suspect.tenant if suspect is not None else None)
        first, most = _PAUSE_SECONDS
        self._fails += 1
        self._loop.call_later(min(first * 2 ** min(self._fails - 1, 8), most), self._start_again)

    def _start_again(self) -> None:
        if self._channel is None and not self._is_closed:
            self._start()

    # What is said.

    def _ask(self, call: IsolatedCall, data: bytes) -> None:
        self._expire_after(call.seconds + _GRACE_SECONDS, call)
        if self._channel is not None:
            self._channel.say(data)

    def _end(self, how: str) -> None:
        _LOG.warning("the process of isolated hooks %s; another one starts", how)
        self._replace(UNAVAILABLE)

    def _hear(self, message: Begun | Answer) -> None:
        if isinstance(message, Begun):
            return self._begun(message)
        self._heard += 1
        call = self._calls.pop(message.number, None)
        if call is None:
            return
        self._terms.room.give_back(call.tenant)
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
                self._terms.room.give_back(call.tenant)
            elif self._is_open:  # or else this process is lost already, and the next one is asked
                self._ask(call, framed(call.asked))


def beginning(codes: Iterable[HookCode], limits: Limits = USUAL_LIMITS) -> bytes:
    """Lets a process load these hooks. Raises `Garbled` if they are too long together."""
    return framed(Begin(tuple(Asked(code.key, code.path, code.text, code.module) for code in codes), limits))


def _believed(verdict: Verdict) -> Verdict:
    """`verdict` if it can be carried out."""
    if isinstance(verdict, Failed):
        return verdict
    try:
        check(verdict)
    except InvalidAnswer as problem:
        return Failed("invalid", str(problem))
    return verdict
