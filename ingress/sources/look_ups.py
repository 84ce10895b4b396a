"""Asks the system's resolver for addresses, in threads that are divided among namespaces.

Only the system's resolver knows the files, search domains and name servers of the pod. Nobody can cancel it, and with a
silent name server it answers half a minute later. So its threads are not those of the event loop, in which translations
run, and the end of the process does not wait for them.
"""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable

from ingress.sources.name_turns import NameTurns

Addresses = tuple[str, ...]

BlockingLookUp = Callable[[str], Addresses]
"""Returns the addresses of a name, sorted. Blocks, and raises OSError."""

_AT_ONCE = 32  # half of them for one namespace whose names are silent; such a look-up takes about half a minute
_SECONDS = 10.0


class LookUps:
    """The look-ups of one source. Nobody waits longer than `seconds` for an answer after the look-up has begun."""

    __slots__ = ("_look_up", "_seconds", "_turns")

    def __init__(self, look_up: BlockingLookUp, *, at_once: int = _AT_ONCE, seconds: float = _SECONDS) -> None:
        self._look_up = look_up
        self._seconds = seconds
        self._turns: NameTurns[_LookUp] = NameTurns(at_once)

    async def find(self, namespace: str, name: str) -> Addresses:
        """The addresses of `name`, when it is the turn of `namespace`. Raises OSError (TimeoutError is one)."""
        look_up = _LookUp(namespace, name, asyncio.get_running_loop())
        self._turns.add(namespace, look_up)
        self._begin()
        try:
            return await look_up.answer
        finally:
            self._turns.remove(namespace, look_up)

    def _begin(self) -> None:
        while (look_up := self._turns.take()) is not None:
            look_up.loop.call_later(self._seconds, look_up.tell, (), TimeoutError())
            threading.Thread(target=self._run, args=(look_up,), name="external-name", daemon=True).start()

    def _run(self, look_up: _LookUp) -> None:
        found: Addresses = ()
        problem: Exception | None = None
        try:
            found = self._look_up(look_up.name)
        except Exception as error:
            problem = error
        try:
            look_up.loop.call_soon_threadsafe(self._ended, look_up, found, problem)
        except RuntimeError:  # the loop has ended
            return

    def _ended(self, look_up: _LookUp, found: Addresses, problem: Exception | None) -> None:
        look_up.tell(found, problem)
        self._turns.ended(look_up.namespace)
        self._begin()


class _LookUp:
    """One look-up, and who waits for it."""

    __slots__ = ("answer", "loop", "name", "namespace")

    def __init__(self, namespace: str, name: str, loop: asyncio.AbstractEventLoop) -> None:
        self.namespace = namespace
        self.name = name
        self.loop = loop
        self.answer: asyncio.Future[Addresses] = loop.create_future()

    def tell(self, found: Addresses, problem: Exception | None) -> None:
        """Answers who waits, unless that has happened or nobody waits any more."""
        if self.answer.done():
            return
        if problem is None:
            self.answer.set_result(found)
        else:
            self.answer.set_exception(problem)


def system_look_up(name: str) -> Addresses:
    """The addresses from the system's resolver. Blocks. Raises OSError."""
    try:
        found = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)
    except UnicodeError:  # the name cannot be encoded for DNS
        raise OSError(socket.EAI_NONAME, "no name that DNS can have") from None
    return tuple(sorted({str(address[0]) for *_, address in found}))
