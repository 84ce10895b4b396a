"""Keeps the running worker processes of a fleet: starts each with memory of its own, and kills those that fall silent.

Does not know which process has which place, nor when the next one starts.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from socket import socket
from typing import Final

from balancer.metrics.slots import Buffer
from balancer.sharing.memory import SharedMemory
from balancer.workers.lifecycle import Phase, Times
from balancer.workers.shipping import Dispatch
from balancer.workers.siblings import Siblings
from balancer.workers.supervised import Command, Inheritance, Supervised, WorkerSettings
from balancer.workers.tables import Tables

_LOG = logging.getLogger(__name__)

_TICK_SECONDS: Final = 0.2  # a fifth of the shortest time that is watched


class Crew:
    """The running workers, in the order of their start."""

    __slots__ = (
        "_command",
        "_dispatch",
        "_new_log",
        "_on_end",
        "_settings",
        "_siblings",
        "_tables",
        "shared",
        "workers",
    )

    def __init__(
        self,
        settings: WorkerSettings,
        *,
        command: Command,
        shared: SharedMemory,
        dispatch: Dispatch,
        new_log: Callable[[], int],
        on_end: Callable[[Supervised], None],
    ) -> None:
        """`on_end` is called with a worker whose process has ended, when it is no longer one of `workers`.

        `new_log` returns the write end of a new pipe for access log lines. `shared` is closed by `close`.
        """
        self._settings = settings
        self._command = command
        self._dispatch = dispatch
        self._new_log = new_log
        self._on_end = on_end
        self._siblings = Siblings(self.accepting)
        self._tables = Tables()
        self.shared = shared
        self.workers: list[Supervised] = []

    def start(
        self,
        number: int,
        sockets: Mapping[str, socket],
        times: Times,
        places: tuple[Mapping[str, socket], ...] = (),
    ) -> Supervised | None:
        """Starts the worker `number`. Returns None, and logs why, if there is no process.

        `places` are the sockets of all places, for a worker that stands by.
        """
        table = seat = None
        try:
            table = self._tables.take()
            seat = self.shared.take()
            worker = Supervised(
                number,
                Inheritance(sockets=sockets, table=table, seat=seat, log=self._new_log(), places=places),
                settings=self._settings,
                command=self._command,
                times=times,
                dispatch=self._dispatch,
                siblings=self._siblings,
                on_end=self._ended,
            )
        except (OSError, MemoryError) as error:
            tell_not_started(number, error)
            if table is not None:
                self._tables.give_back(table)
            if seat is not None:
                self.shared.give_back(seat)
            return None
        self.workers.append(worker)
        return worker

    def accepting(self) -> list[Supervised]:
        """The workers that accept connections."""
        return [worker for worker in self.workers if worker.life.is_accepting]

    def placed(self) -> list[Supervised]:
        """The workers that do not stand by."""
        return [worker for worker in self.workers if worker.life.phase is not Phase.STANDING_BY]

    def tables(self) -> Sequence[Buffer]:
        """The counter tables of all workers, including ended ones."""
        return self._tables.buffers()

    async def watch(self) -> None:
        """Asks for signs of life, and kills workers that give none, without end."""
        loop = asyncio.get_running_loop()
        while True:
            now = loop.time()
            for worker in tuple(self.workers):
                problem = worker.overdue(now)
                if problem is not None:
                    worker.kill(problem.value)
                elif worker.life.wants_ping(now):
                    worker.ping()
            await asyncio.sleep(_TICK_SECONDS)

    async def all_ended(self) -> None:
        """Waits until no worker is left."""
        while self.workers:
            await self.workers[0].ended.wait()

    def close(self) -> None:
        """Gives the memory back. No worker may be left."""
        self._tables.close()
        self.shared.close()

    def _ended(self, worker: Supervised) -> None:
        self.workers.remove(worker)
        self._tables.give_back(worker.table)
        self.shared.give_back(worker.seat)
        self._on_end(worker)


def tell_not_started(number: int, error: OSError | MemoryError) -> None:
    """Logs why there is no process for the worker `number`."""
    _LOG.error("worker %d cannot be started: %s", number, getattr(error, "strerror", None) or repr(error))
