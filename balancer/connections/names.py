"""Finds the addresses of the names of auth services and mirrors, so that no name holds up another tenant's.

The resolver of the system is asked, because only it knows the files, search domains and name servers of the pod. It
answers in a thread that nobody can cancel, half a minute later if a name server is silent. So threads are divided
among tenants, a name has one of them at most, and whoever waits gives up in time. The last addresses of a name stay in
use while it is looked up again, and for a time if that fails.
"""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable

import msgspec

from balancer.runtime.absences import NEVER_ABSENT, Absences
from balancer.runtime.fair_cache import FairCache
from balancer.runtime.shares import FairShares
from balancer.runtime.waiting import Bounded

Addresses = tuple[tuple[socket.AddressFamily, str], ...]
"""Addresses of a name and their families, in the order in which to try them."""

LookUp = Callable[[str], Addresses]
"""Returns the addresses of a name. Blocks, and raises OSError."""


class NameTimes(msgspec.Struct, frozen=True):
    """Times in seconds, and numbers for all tenants together.

    Addresses are looked up again after `fresh`, and forgotten if that fails for `stale`. Nobody waits longer than
    `wait` for a look-up. A name is left alone for `quiet` after a look-up has failed.
    """

    fresh: float = 10.0  # Services rarely move
    stale: float = 300.0
    wait: float = 5.0
    quiet: float = 1.0
    look_ups: int = 64
    names: int = 4096


_TIMES = NameTimes()
_TRIED_ADDRESSES_MOST = 4
_NEVER = float("-inf")


class Names:
    """The names that one client asks for. Made inside a running loop."""

    __slots__ = ("_absences", "_known", "_look_up", "_loop", "_threads", "_times")

    def __init__(
        self, times: NameTimes = _TIMES, *, look_up: LookUp | None = None, absences: Absences = NEVER_ABSENT
    ) -> None:
        """`absences` are those of the loop."""
        self._absences = absences
        self._times = times
        self._look_up = look_up or system_look_up
        self._loop = asyncio.get_running_loop()
        self._threads = FairShares(times.look_ups)
        self._known: FairCache[_Name] = FairCache(times.names)

    async def find(self, tenant: str, host: str) -> Addresses:
        """The addresses of `host`, asked for by `tenant`. Raises OSError, and waits only if none are known."""
        now = self._loop.time()
        name = self._known.get(tenant, host)
        if name is None:
            name = _Name()
            self._known.put(tenant, host, name)
        if now - name.found_at >= self._times.stale:
            name.addresses = ()
        if now - name.found_at >= self._times.fresh and not name.is_under_way and now >= name.quiet_until:
            self._begin(tenant, host, name)
        if name.addresses:
            return name.addresses
        if not name.is_under_way:
            raise OSError(name.problem)
        await self._answer(name)
        return name.addresses

    async def _answer(self, name: _Name) -> None:
        """Waits for the look-up that is under way."""
        waiter: asyncio.Future[None] = self._loop.create_future()
        name.waiters.add(waiter)
        try:
            waited = self._absences.attended(name.begun_at, self._loop.time())
            async with Bounded(max(self._times.wait - waited, 0.0), self._absences):
                await waiter
        except TimeoutError:
            raise OSError("the resolver has not answered in time") from None
        finally:
            name.waiters.discard(waiter)
        if not name.addresses:
            raise OSError(name.problem)

    def _begin(self, tenant: str, host: str, name: _Name) -> None:
        """Starts a look-up if `tenant` has a thread for it. The end of the process does not wait for the thread."""
        if not self._threads.take(tenant):
            name.problem = "too many names of the namespace are being looked up"
            return
        name.is_under_way = True
        name.begun_at = self._loop.time()

        def run() -> None:
            found, problem = _outcome(self._look_up, host)
            try:
                self._loop.call_soon_threadsafe(self._ended, tenant, name, found, problem)
            except RuntimeError:  # the loop has ended
                return

        threading.Thread(target=run, name="auth-name", daemon=True).start()

    def _ended(self, tenant: str, name: _Name, found: Addresses, problem: str) -> None:
        self._threads.give_back(tenant)
        name.is_under_way = False
        now = self._loop.time()
        if found:
            name.addresses = found[:_TRIED_ADDRESSES_MOST]
            name.found_at = now
        else:
            name.problem = problem
            name.quiet_until = now + self._times.quiet
        for waiter in name.waiters:
            if not waiter.done():
                waiter.set_result(None)


class _Name(msgspec.Struct):
    """What is known of a name. `problem` says why there are no addresses."""

    addresses: Addresses = ()
    found_at: float = _NEVER
    quiet_until: float = _NEVER
    begun_at: float = _NEVER
    is_under_way: bool = False
    problem: str = ""
    waiters: set[asyncio.Future[None]] = msgspec.field(default_factory=set)


def _outcome(look_up: LookUp, host: str) -> tuple[Addresses, str]:
    """The addresses of a name, or why there are none."""
    try:
        return look_up(host), "the name has no address"
    except OSError as error:
        return (), error.strerror or type(error).__name__
    except UnicodeError:
        return (), "not a name"


def system_look_up(host: str) -> Addresses:
    """The addresses from the resolver of the system. Blocks. Raises OSError."""
    found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM, flags=socket.AI_ADDRCONFIG)
    return tuple((family, str(address[0])) for family, _, _, _, address in found)
