"""Decides which process of isolated hooks answers which namespace. No I/O; times are seconds of a clock that never goes
back.

A hook that computes for too long is the operator's, but what it is asked is a tenant's: one who finds a request for
which it overruns ends the process again and again. So each namespace has a process of its own, while there is room.
"""

from __future__ import annotations

from typing import Final

PROCESSES_MOST: Final = 8
"""Processes of one namespace each, for a worker. Beyond them, namespaces share one or two."""

PLACE_SECONDS: Final = 60.0
"""A process makes place for that of another namespace after so long without a call; no call takes longer."""

IDLE_SECONDS: Final = 300.0
"""A process ends after so long without a call."""

APART_SECONDS: Final = 600.0
"""So long after its calls ended a process, a namespace shares none with those whose calls did not."""

COMMON: Final = "*"
APART: Final = "!"
"""The processes that several namespaces share: `APART` is for those whose calls ended a process. No namespace is called
so."""

_LOSERS_MOST: Final = 1024  # namespaces


class HookHousing:
    """Which processes there are, by home: the namespace whose own process it is, or `COMMON`, or `APART`."""

    __slots__ = ("_lost_until", "_most", "_own_at", "_shared_at")

    def __init__(self, most: int = PROCESSES_MOST) -> None:
        """`most` namespaces have a process of their own."""
        self._most = most
        self._own_at: dict[str, float] = {}  # when each was asked last, the longest ago first
        self._shared_at: dict[str, float] = {}
        self._lost_until: dict[str, float] = {}

    def __contains__(self, home: str) -> bool:
        return home in self._own_at or home in self._shared_at

    def home(self, namespace: str, now: float) -> str:
        """Where a call for `namespace` is made at `now`. Another process may have made place for it."""
        own = self._own_at
        if namespace in own:
            del own[namespace]  # it comes last again
        elif not self._has_place(now):
            home = APART if self._has_lost(namespace, now) else COMMON
            self._shared_at[home] = now
            return home
        own[namespace] = now
        return namespace

    def lose(self, namespace: str, now: float) -> bool:
        """Notes that a process was lost while it worked at a call of `namespace`. Returns whether that is news."""
        is_news = not self._has_lost(namespace, now)
        self._lost_until.pop(namespace, None)
        self._lost_until[namespace] = now + APART_SECONDS
        if len(self._lost_until) > _LOSERS_MOST:
            del self._lost_until[next(iter(self._lost_until))]
        return is_news

    def end_idle(self, now: float) -> None:
        """Ends the processes that no call has used for `IDLE_SECONDS`."""
        for used_at in (self._own_at, self._shared_at):
            for home in [home for home, at in used_at.items() if now - at >= IDLE_SECONDS]:
                del used_at[home]

    def busy(self, now: float) -> tuple[str, ...]:
        """The namespaces whose own process need not make place yet."""
        return tuple(namespace for namespace, at in self._own_at.items() if now - at < PLACE_SECONDS)

    def _has_place(self, now: float) -> bool:
        """Whether one more namespace may have a process. The one that was asked longest ago may make place."""
        own = self._own_at
        if len(own) < self._most:
            return True
        idlest = next(iter(own))
        if now - own[idlest] < PLACE_SECONDS:
            return False
        del own[idlest]
        return True

    def _has_lost(self, namespace: str, now: float) -> bool:
        return now < self._lost_until.get(namespace, 0.0)
