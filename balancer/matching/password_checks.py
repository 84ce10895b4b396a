"""Decides which password is checked next, and remembers verdicts, so that a flood of passwords delays nobody for long.

Requests wait in queues of bounded length, one for each asker. Tenants take turns, and so do the askers of each.
Verdicts are remembered under a keyed digest of stored form and password, so no password is kept and a changed Secret
counts at once. The check itself is the caller's: no I/O, no threads, no clock.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable
from functools import partial
from hashlib import blake2b
from typing import Protocol

import msgspec

from balancer.matching.check_turns import CheckTurns, Remembered
from balancer.runtime.shares import FairShares

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
    """How much is checked and kept. `at_once` checks run at the same time, one fewer of a single tenant.

    So many requests wait, for one asker, for one Secret and in all; of all, a tenant may hold as many as it leaves
    free. None waits longer than `seconds`. `remembered` verdicts are kept of right passwords, and as many of wrong
    ones.
    """

    at_once: int = 3
    waiting_for_asker: int = 64
    waiting_for_secret: int = 256
    waiting: int = 2048
    seconds: float = 10.0
    remembered: int = 4096


_LIMITS = CheckLimits()


class PendingCheck:
    """A check that has not ended yet. `waiters` are those who want to know."""

    __slots__ = ("asker", "name", "password", "runs", "stored", "tenant", "waiters")

    def __init__(self, name: bytes, asker: Hashable, tenant: str, stored: str, password: bytes) -> None:
        self.name = name
        self.asker = asker
        self.tenant = tenant
        self.stored = stored
        self.password = password
        self.runs = False
        self.waiters: list[CheckWaiter] = []


class CheckWaiter:
    """One request that waits for a check."""

    __slots__ = ("_alarm", "_checks", "_told", "asker", "check", "secret")

    def __init__(self, checks: PasswordChecks, check: PendingCheck, asker: Hashable, secret: str, told: Told) -> None:
        self._checks = checks
        self.check = check
        self.asker = asker
        self.secret = secret
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
        told = self._told
        self._told = None
        if self._alarm is not None:
            self._alarm.cancel()
        return told


class PasswordChecks:
    """All checks of one worker."""

    __slots__ = (
        "_by_secret",
        "_key",
        "_later",
        "_limits",
        "_pending",
        "_right",
        "_room",
        "_run",
        "_turns",
        "_wrong",
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
        self._key = key
        self._run = run
        self._later = later
        self._limits = limits
        self._right = Remembered(limits.remembered)
        self._wrong = Remembered(limits.remembered)
        self._pending: dict[bytes, PendingCheck] = {}
        self._turns = CheckTurns[PendingCheck](limits.at_once)
        self._by_secret: dict[str, Counter[Hashable]] = {}
        self._room = FairShares(limits.waiting)

    @property
    def waiting(self) -> int:
        """The number of requests that wait."""
        return self._limits.waiting - self._room.free

    def check(
        self, stored: str, password: bytes, *, asker: Hashable, secret: str, told: Told
    ) -> bool | CheckWaiter | None:
        """Whether `stored` was made from `password`, if that is known; None if too many requests wait already.

        Otherwise the request waits, and `told` is called later. `asker` is the path that asks, and `secret` the key of
        the Secret that holds `stored`, whose namespace is the tenant.
        """
        name, tenant = self._name(stored, password), _tenant_of(secret)
        for known, verdict in ((self._right, True), (self._wrong, False)):
            if known.knows(tenant, name):
                return verdict
        if not self._has_room(asker, secret) or not self._room.take(tenant):
            return None
        check = self._pending.get(name)
        if check is None:
            check = self._pending[name] = PendingCheck(name, asker, tenant, stored, password)
            self._turns.add(check)
        waiter = CheckWaiter(self, check, asker, secret, told)
        waiter.expires(self._later(self._limits.seconds, waiter.expire))
        check.waiters.append(waiter)
        self._by_secret.setdefault(secret, Counter())[asker] += 1
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
            self._turns.remove(check)

    def _has_room(self, asker: Hashable, secret: str) -> bool:
        counts, limits = self._by_secret.get(secret, Counter[Hashable]()), self._limits
        return counts[asker] < limits.waiting_for_asker and counts.total() < limits.waiting_for_secret

    def _uncount(self, waiter: CheckWaiter) -> None:
        self._room.give_back(_tenant_of(waiter.secret))
        counts = self._by_secret[waiter.secret]
        counts[waiter.asker] -= 1
        if not counts[waiter.asker]:
            del counts[waiter.asker]
        if not counts:
            del self._by_secret[waiter.secret]

    def _begin(self) -> None:
        """Begins the checks whose turn it is, while there is room."""
        while (check := self._turns.take()) is not None:
            check.runs = True
            self._run(check.stored, check.password, partial(self._ended, check))

    def _ended(self, check: PendingCheck, verdict: bool | None) -> None:
        self._turns.ended(check)
        del self._pending[check.name]
        if verdict is not None:
            known = self._right if verdict else self._wrong
            known.add(check.tenant, check.name)
        waiters = check.waiters
        check.waiters = []
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


def _tenant_of(secret: str) -> str:
    return secret.partition("/")[0]
