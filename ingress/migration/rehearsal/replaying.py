"""Replays a log line by line, and counts how requests would differ.

Reads the lines that it is given. Does not know files, nor how the result is shown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec

from ingress.migration.rehearsal.comparing import Unlikeness, compared
from ingress.migration.rehearsal.foreseeing import Oracle
from ingress.migration.rehearsal.lines import LineReader, LoggedRequest, epoch_seconds
from ingress.migration.rehearsal.savings import Meter, Saving

_EXAMPLES_MOST = 3
# A log without hosts is compared with so many hosts that lead to the backend of a line.
_HOSTS_MOST = 200
_REDIRECTS = frozenset((301, 302, 307, 308))


class DifferenceCount(msgspec.Struct, frozen=True):
    """Requests that would differ in one way. `examples` are the numbers and targets of some lines."""

    kind: str
    said: str
    requests: int
    examples: tuple[str, ...]


class Rehearsal(msgspec.Struct, frozen=True):
    """What a log says. `unread` lines are no requests, of which line `first_unread` is the first, 0 for none.

    `without_host`: lines that name no host. `without_endpoint`: lines that do not say whether an endpoint was asked.
    """

    requests: int
    unread: int
    first_unread: int
    without_host: int
    without_endpoint: int
    differences: tuple[DifferenceCount, ...]
    saving: Saving

    @property
    def differing(self) -> int:
        """The number of requests that would differ."""
        return sum(each.requests for each in self.differences)


Listed = Callable[[int, LoggedRequest, Unlikeness], None]
"""Is told each request that would differ, with the number of its line."""


class Replay:
    """Compares the requests of a log with what `oracle` foresees. `meter` adds up their bytes."""

    __slots__ = (
        "_first",
        "_first_unread",
        "_groups",
        "_last",
        "_listed",
        "_meter",
        "_oracle",
        "_requests",
        "_unread",
        "_without_endpoint",
        "_without_host",
    )

    def __init__(self, oracle: Oracle, meter: Meter, listed: Listed) -> None:
        self._oracle = oracle
        self._meter = meter
        self._listed = listed
        self._groups: dict[Unlikeness, tuple[list[int], list[str]]] = {}
        self._requests = 0
        self._unread = 0
        self._first_unread = 0
        self._without_host = 0
        self._without_endpoint = 0
        self._first = ""
        self._last = ""

    def run(self, lines: Iterable[str], read: LineReader) -> Rehearsal:
        """Replays all lines."""
        for number, line in enumerate(lines, start=1):
            logged = read(line)
            if logged is None:
                if line.strip():
                    self._unread += 1
                    self._first_unread = self._first_unread or number
                continue
            self._requests += 1
            self._first = self._first or logged.time
            self._last = logged.time or self._last
            if logged.passed:
                self._meter.add(logged.address, logged.request_bytes, logged.response_bytes)
            elif logged.passed is None:
                self._without_endpoint += 1
            found = self._unlike(logged)
            if found is not None:
                self._note(number, logged, found)
        return self._rehearsal()

    def _unlike(self, logged: LoggedRequest) -> Unlikeness | None:
        if logged.host:
            return self._at(logged.host, logged)
        self._without_host += 1
        known = self._oracle.hosts_of.get(logged.upstream) if logged.upstream else None
        hosts = (known if known is not None else self._oracle.hosts)[:_HOSTS_MOST]
        first: Unlikeness | None = None
        for host in hosts:
            found = self._at(host, logged)
            if found is None:
                return None
            first = first or found
        return first or self._at("", logged)

    def _at(self, host: str, logged: LoggedRequest) -> Unlikeness | None:
        secure = logged.scheme == "https" or (not logged.scheme and (logged.passed or logged.status not in _REDIRECTS))
        foreseen = self._oracle.foresee(host, logged, secure=secure)
        return compared(logged, foreseen)

    def _note(self, number: int, logged: LoggedRequest, found: Unlikeness) -> None:
        count, examples = self._groups.setdefault(found, ([0], []))
        count[0] += 1
        if len(examples) < _EXAMPLES_MOST:
            examples.append(f"line {number}: {logged.method} {logged.host}{logged.target}")
        self._listed(number, logged, found)

    def _rehearsal(self) -> Rehearsal:
        begin, end = epoch_seconds(self._first), epoch_seconds(self._last)
        seconds = end - begin if begin is not None and end is not None and end > begin else None
        counted = sorted(self._groups.items(), key=lambda each: (-each[1][0][0], each[0].said))
        return Rehearsal(
            requests=self._requests,
            unread=self._unread,
            first_unread=self._first_unread,
            without_host=self._without_host,
            without_endpoint=self._without_endpoint,
            differences=tuple(
                DifferenceCount(found.kind.value, found.said, count[0], tuple(examples))
                for found, (count, examples) in counted
            ),
            saving=self._meter.saving(seconds),
        )
