"""What can go wrong on demand: which calls a fault takes hold of, and how often.

Responsible for choosing. It must not know how a fault is carried out.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tests.fakes.apiserver.requests import Call


@dataclass(eq=False, slots=True, kw_only=True)
class Fault:
    """One thing that goes wrong with the calls that it matches, `times` times (None: until it is removed).

    Which calls: `verb`, `resource`, `name` and `user` where they are not empty, and `matches` where it is given; of
    these, a share of `probability`.

    Instead of the answer: after `delay_seconds`, a `status` (with `retry_after` as Retry-After, with `message`; as
    `html` like that of a proxy, else as a Status), a connection `reset`, or a `stall`: nothing more, connection open.

    To the objects: `empty_list` shows none; `at_version` shows those of an earlier version and that version, as a
    server that is behind would; both also for the initial events of a watch.

    To a watch, after `after_events` lines that this fault lets through: `cut` resets in the middle of the next line,
    `end` ends cleanly, `error_code` ends with an ERROR event, `stall` sends nothing more, `garbage` sends a line that
    is no JSON and goes on, `replay` sends all lines so far once more and goes on. `omit_deleted` leaves out DELETED
    events. These also take hold of watches that are open already.
    """

    verb: str = ""
    resource: str = ""
    name: str = ""
    user: str = ""
    matches: Callable[[Call], bool] | None = None
    times: int | None = None
    probability: float = 1.0

    delay_seconds: float = 0.0
    status: int = 0
    retry_after: str = ""
    message: str = ""
    html: bool = False
    reset: bool = False
    stall: bool = False

    empty_list: bool = False
    at_version: int | None = None

    after_events: int = 0
    cut: bool = False
    end: bool = False
    error_code: int = 0
    garbage: bool = False
    replay: bool = False
    omit_deleted: bool = False

    used: int = 0
    """How many calls it has taken hold of."""

    def is_for(self, call: Call) -> bool:
        return (
            (not self.verb or self.verb == call.verb)
            and (not self.resource or self.resource == call.resource)
            and (not self.name or self.name == call.name)
            and (not self.user or self.user == call.user)
            and (self.matches is None or self.matches(call))
        )

    def is_of_stream(self, call: Call) -> bool:
        """Whether it happens inside a watch, and not before its answer."""
        inside = self.cut or self.end or self.error_code or self.garbage or self.replay or self.omit_deleted
        return bool(inside) or (self.stall and call.is_watch)

    @property
    def is_spent(self) -> bool:
        return self.times is not None and self.used >= self.times


class Faults:
    """The faults in force. Chance comes from `seed`, so that a run can be repeated."""

    def __init__(self, on_change: Callable[[], None], *, seed: int = 0) -> None:
        self._faults: list[Fault] = []
        self._random = random.Random(seed)
        self._on_change = on_change

    def __iter__(self) -> Iterator[Fault]:
        return iter(self._faults)

    def __contains__(self, fault: Fault) -> bool:
        return fault in self._faults

    def add(self, fault: Fault) -> Fault:
        self._faults.append(fault)
        self._on_change()
        return fault

    def remove(self, fault: Fault) -> None:
        if fault in self._faults:
            self._faults.remove(fault)
            self._on_change()

    def clear(self) -> None:
        self._faults.clear()
        self._on_change()

    def before_answer(self, call: Call) -> Fault | None:
        """The fault that takes hold of a call before it is answered; the oldest wins."""
        return self._take(call, is_of_stream=False, skipping=set())

    def in_stream(self, call: Call, considered: set[Fault]) -> Fault | None:
        """The fault that takes hold of a watch. Those in `considered` had their chance; the others join them."""
        return self._take(call, is_of_stream=True, skipping=considered)

    def _take(self, call: Call, *, is_of_stream: bool, skipping: set[Fault]) -> Fault | None:
        for fault in self._faults:
            if fault in skipping or fault.is_spent or not fault.is_for(call):
                continue
            if fault.is_of_stream(call) is not is_of_stream:
                continue
            skipping.add(fault)
            if self._random.random() < fault.probability:
                fault.used += 1
                return fault
        return None
