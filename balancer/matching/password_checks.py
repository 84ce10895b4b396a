"""Decides which password is checked next, and remembers verdicts, so that a flood of passwords delays nobody for long.

Requests wait in queues of bounded length, one for each asker, which take turns. Verdicts are remembered under a keyed
digest of stored form and password, so no password is kept and a changed Secret counts at once. The check itself is the
caller's: no I/O, no threads, no clock.
"""

from __future__ import annotations

from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Hashable
from functools import partial
from hashlib import blake2b
from typing import Protocol

import msgspec

Told = Callable[[bool | None], None]
"""Hears whether the password is right; None: this could not be found out in time."""

Run = Callable[[str, bytes, Told], None]
"""Begins to check a password against its stored form elsewhere, and calls back in a later turn of the event loop.

The verdict None means that the check failed for an unknown reason.
"""


class Alarmed(Protocol):
    """A callback that is due later."""

    def cancel(self) -> None:
        """The callback is not made any more."""


class CheckLimits(msgspec.Struct, frozen=True):
    """How much is checked and kept. `at_once` checks run at the same time.

    So many requests wait, for one asker, for one Secret and in all; none waits longer than `seconds`. `remembered`
    verdicts are kept of right passwords, and as many of wrong ones.
    """

    at_once: int = 2
    waiting_for_asker: int = 64
    waiting_for_secret: int = 256
    waiting: int = 2048
    seconds: float = 10.0
    remembered: int = 4096


_LIMITS = CheckLimits()


class PendingCheck:
    """A check that has not ended yet. `waiters` are those who want to know."""

    __slots__ = ("asker", "name", "password", "runs", "stored", "waiters")

    def __init__(self, name: bytes, asker: Hashable, stored: str, password: bytes) -> None:
        self.name, self.asker, self.stored, self.password = name, asker, stored, password
        self.runs = False
        self.waiters: list[CheckWaiter] = []


class CheckWaiter:
    """One request that waits for a check."""

    __slots__ = ("_alarm", "_checks", "_told", "asker", "check", "secret")

    def __init__(self, checks: PasswordChecks, check: PendingCheck, asker: Hashable, secret: str, told: Told) -> None:
        self._checks = checks
        self.check, self.asker, self.secret = check, asker, secret
        self._told: Told | None = told
        self._alarm: Alarmed | None = None

    def expires(self, alarm: Alarmed) -> None:
        """`alarm` will call `expire`."""
        self._alarm = alarm

    def cancel(self) -> None:
        """Cancels the wait, because the client has left."""
        if self._told is not None:
            self._checks.leave(self)
            self._take()

    def expire(self) -> None:
        """The time is over."""
        if self._told is not None:
            self._checks.leave(self)
            if (told := self._take()) is not None:
                told(None)

    def tell(self, verdict: bool | None) -> None:
        """The check has ended."""
        if (told := self._take()) is not None:
            told(verdict)

    def _take(self) -> Told | None:
        told, self._told = self._told, None
        if self._alarm is not None:
            self._alarm.cancel()
        return told


class PasswordChecks:
    """All checks of one worker. `waiting` is the number of requests that wait."""

    __slots__ = (
        "_by_secret",
        "_key",
        "_later",
        "_limits",
        "_pending",
        "_queues",
        "_right",
        "_run",
        "_running",
        "_wrong",
        "waiting",
    )

    def __init__(
        self,
        *,
        key: bytes,
        run: Run,
        later: Callable[[float, Callable[[], None]], Alarmed],
        limits: CheckLimits = _LIMITS,
    ) -> None:
        """`key` is a random secret of this process, at most 64 bytes. `later` calls back after so many seconds."""
        self._key, self._run, self._later, self._limits = key, run, later, limits
        self._right: OrderedDict[bytes, None] = OrderedDict()
        self._wrong: OrderedDict[bytes, None] = OrderedDict()
        self._pending: dict[bytes, PendingCheck] = {}
        self._queues: OrderedDict[Hashable, deque[PendingCheck]] = OrderedDict()
        self._by_secret: dict[str, Counter[Hashable]] = {}
        self._running = self.waiting = 0

    def check(
        self, stored: str, password: bytes, *, asker: Hashable, secret: str, told: Told
    ) -> bool | CheckWaiter | None:
        """Whether `stored` was made from `password`, if that is known; None if too many requests wait already.

        Otherwise the request waits, and `told` is called later. `asker` is the path that asks, and `secret` the key of
        the Secret that holds `stored`.
        """
        name = self._name(stored, password)
        for known, verdict in ((self._right, True), (self._wrong, False)):
            if name in known:
                known.move_to_end(name)
                return verdict
        if not self._has_room(asker, secret):
            return None
        check = self._pending.get(name)
        if check is None:
            check = self._pending[name] = PendingCheck(name, asker, stored, password)
            self._queues.setdefault(asker, deque()).append(check)
        waiter = CheckWaiter(self, check, asker, secret, told)
        waiter.expires(self._later(self._limits.seconds, waiter.expire))
        check.waiters.append(waiter)
        self._by_secret.setdefault(secret, Counter())[asker] += 1
        self.waiting += 1
        self._begin()
        return waiter

    def leave(self, waiter: CheckWaiter) -> None:
        """`waiter` does not wait any more. A check that has not begun is dropped with its last waiter."""
        check = waiter.check
        if waiter not in check.waiters:
            return
        check.waiters.remove(waiter)
        self._uncount(waiter)
        if not check.waiters and not check.runs:
            del self._pending[check.name]
            queue = self._queues[check.asker]
            queue.remove(check)
            if not queue:
                del self._queues[check.asker]

    def _has_room(self, asker: Hashable, secret: str) -> bool:
        counts, limits = self._by_secret.get(secret, Counter[Hashable]()), self._limits
        return (
            self.waiting < limits.waiting
            and counts[asker] < limits.waiting_for_asker
            and counts.total() < limits.waiting_for_secret
        )

    def _uncount(self, waiter: CheckWaiter) -> None:
        self.waiting -= 1
        counts = self._by_secret[waiter.secret]
        counts[waiter.asker] -= 1
        if not counts[waiter.asker]:
            del counts[waiter.asker]
        if not counts:
            del self._by_secret[waiter.secret]

    def _begin(self) -> None:
        """Begins checks while there is room: the oldest of the asker whose turn it is."""
        while self._queues and self._running < self._limits.at_once:
            asker, queue = next(iter(self._queues.items()))
            check = queue.popleft()
            self._queues.move_to_end(asker)
            if not queue:
                del self._queues[asker]
            check.runs = True
            self._running += 1
            self._run(check.stored, check.password, partial(self._ended, check))

    def _ended(self, check: PendingCheck, verdict: bool | None) -> None:
        self._running -= 1
        del self._pending[check.name]
        if verdict is not None:
            known = self._right if verdict else self._wrong
            known[check.name] = None
            if len(known) > self._limits.remembered:
                known.popitem(last=False)
        waiters, check.waiters = check.waiters, []
        for waiter in waiters:
            self._uncount(waiter)
        for waiter in waiters:
            waiter.tell(verdict)
        self._begin()

    def _name(self, stored: str, password: bytes) -> bytes:
        digest = blake2b(key=self._key, digest_size=16)
        text = stored.encode("latin-1")
        digest.update(len(text).to_bytes(4, "big") + text + password)
        return digest.digest()
