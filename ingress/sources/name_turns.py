"""Whose look-up of a name is next: namespaces take turns, and none takes the places of the others.

No I/O, no clock. A look-up that began keeps its place until the resolver has answered, however late that is.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from typing import Generic, TypeVar

from balancer.runtime.shares import FairShares

_LookUp = TypeVar("_LookUp")


class NameTurns(Generic[_LookUp]):
    """The look-ups that wait for one of `at_once` places. A namespace may hold as many places as stay free."""

    __slots__ = ("_places", "_queues")

    def __init__(self, at_once: int) -> None:
        self._places = FairShares(at_once)
        self._queues: OrderedDict[str, deque[_LookUp]] = OrderedDict()

    def add(self, namespace: str, look_up: _LookUp) -> None:
        """`look_up` waits, behind those of its namespace."""
        self._queues.setdefault(namespace, deque()).append(look_up)

    def remove(self, namespace: str, look_up: _LookUp) -> None:
        """`look_up` waits no more. Without effect if it did not wait."""
        queue = self._queues.get(namespace)
        if queue is not None and look_up in queue:
            queue.remove(look_up)
            self._tidy(namespace)

    def take(self) -> _LookUp | None:
        """The look-up that begins now; None if none waits whose namespace may hold another place."""
        namespace = next((each for each in self._queues if self._places.take(each)), None)
        if namespace is None:
            return None
        look_up = self._queues[namespace].popleft()
        self._queues.move_to_end(namespace)
        self._tidy(namespace)
        return look_up

    def ended(self, namespace: str) -> None:
        """A look-up of `namespace` that had begun has its answer."""
        self._places.give_back(namespace)

    def _tidy(self, namespace: str) -> None:
        if not self._queues[namespace]:
            del self._queues[namespace]
