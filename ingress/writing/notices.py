"""Decides which Kubernetes Events are written, and when.

Makes the shape of an Event, says each thing once, and limits how much is said; problems in one namespace do not silence
others. The name of an Event is a digest of its text. So if the next leader repeats an Event within its life of an hour,
the name is the same (409) and no second Event appears. Does not know who writes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Set
from hashlib import sha256

import msgspec

from balancer.runtime.token_buckets import TokenBucket
from ingress.findings import HARM, Finding, Severity
from ingress.objects.kinds import Ingress, Kind
from ingress.sources.inventory import Inventory
from ingress.translation.sharing import fair_shares
from ingress.writing.lease import micro_time

EVENTS_PATH = "/apis/events.k8s.io/v1/namespaces/{namespace}/events"

_CONTROLLER = "zonal-ingress.io/controller"
_ACTION = "Translate"
_API_VERSIONS = {Kind.INGRESS.value: "networking.k8s.io/v1", Kind.SERVICE.value: "v1"}
"""The kinds that have Events: the two that a tenant writes and looks at."""

# Limits of the validation of events.k8s.io/v1, which refuses longer notes and names instead of cutting them.
_NOTE_LIMIT_BYTES = 1024
_INSTANCE_LIMIT = 128
_NAME_STEM_LIMIT = 200


_GOOD_NEWS = frozenset({"ZoneModeEntered"})
_Topic = tuple[str, str, str, str, str]


class NoticeLimits(msgspec.Struct, frozen=True, kw_only=True):
    """How much is said; times in seconds.

    The limit per object is that of client-go's spam filter: 25 at once, then one in five minutes.
    """

    object_burst: float = 25.0
    object_per_second: float = 1 / 300
    burst: float = 50.0  # all objects together: a thousand broken Ingresses take a quarter of an hour
    per_second: float = 1.0
    again_seconds: float = 600.0  # the pause before the same notice is written again
    waiting: int = 1000  # the most notices that wait; more are dropped and counted
    # the most notices that are remembered; beyond that, only the name of an Event prevents duplicates
    remembered: int = 10_000


class Notice(msgspec.Struct, frozen=True, order=True):
    """One thing to say about one object. `reason` is CamelCase. `kubectl describe` finds the Event by the `uid`.

    `harm` is the rank of the severity in `HARM`; smaller ranks are said first. `lasts`: what it says may end, and the
    end is said, too, by a notice that `is_over`. `times` says how often it has ended before.
    """

    kind: str
    namespace: str
    name: str
    uid: str
    reason: str
    note: str
    harm: int = HARM[Severity.COSMETIC]
    lasts: bool = False
    is_over: bool = False
    times: int = 0

    @property
    def subject(self) -> tuple[str, str, str]:
        """The object, as kind, namespace and name."""
        return self.kind, self.namespace, self.name

    @property
    def topic(self) -> _Topic:
        """The object and the reason. Notices of one topic differ in their text."""
        return *self.subject, self.uid, self.reason

    @property
    def end(self) -> Notice:
        """The notice to write when this one is no longer true."""
        note, harm = f"No longer so: {self.note}", HARM[Severity.COSMETIC]
        return msgspec.structs.replace(self, note=note, harm=harm, lasts=False, is_over=True)


class Notices:
    """The notices that were said, the notices that wait, and the next one to say. `now` is a monotonic clock.

    Namespaces take turns, both in waiting and in being said, so the problems of one namespace silence no other. Within
    a namespace the most harmful notice is said first. Each severity of an object has a limit of its own. What was said
    and is over is said to be over, and may then be said again.
    """

    __slots__ = ("_all", "_by_object", "_ended", "_limits", "_over", "_said", "_true", "_waiting", "dropped")

    def __init__(self, limits: NoticeLimits) -> None:
        self._limits = limits
        self._all = TokenBucket(burst=limits.burst, per_second=limits.per_second)
        self._by_object: dict[tuple[tuple[str, str, str], int], TokenBucket] = {}
        self._said: dict[Notice, float] = {}
        self._true: set[Notice] = set()
        self._over: dict[_Topic, Notice] = {}
        """Ends that have not been said yet."""
        self._ended: dict[_Topic, int] = {}
        """How many ends have been said."""
        self._waiting: dict[str, deque[Notice]] = {}
        """By namespace, without empty queues; the first namespace is next."""
        self.dropped = 0

    def follow(
        self, notices: Iterable[Notice], now: float, *, present: Callable[[Notice], bool] = lambda _: True
    ) -> None:
        """Takes everything that there is to say at `now`. New notices wait; notices that are no longer true are
        dropped, and if they were said, their end waits. `present`: whether the object of a notice still exists.
        """
        true = set(notices)
        # A notice that was true until now counts as just said, because a finding is told when it appears, not every ten
        # minutes.
        self._said.update((notice, now) for notice in self._true & self._said.keys())
        self._end(self._true - true, still={notice.topic for notice in true}, present=present)
        self._true = true
        self._forget(now)
        due = true.union(self._over.values())
        waiting = {notice: None for queue in self._waiting.values() for notice in queue if notice in due}
        new = sorted(due - self._said.keys() - waiting.keys())
        # the sort is stable: waiting notices stay before new ones
        self._wait(sorted((*waiting, *new), key=lambda notice: notice.harm))

    def take(self, now: float) -> Notice | None:
        """The next notice to write, None if none may be written at `now`. It counts as written, even if that fails."""
        if not self._all.holds(now):
            return None
        while self._waiting:
            notice = self._next()
            self._said[notice] = now
            counted = self._counted(notice)
            bucket = self._by_object.setdefault((notice.subject, notice.harm), self._fresh_bucket())
            if bucket.holds(now):
                bucket.take()
                self._all.take()
                return counted
            self.dropped += 1
        return None

    def wait_seconds(self, now: float) -> float | None:
        """Seconds from `now` until `take` may return a notice; None if nothing waits."""
        return self._all.wait_seconds(now) if self._waiting else None

    def _end(self, gone: Set[Notice], *, still: Set[_Topic], present: Callable[[Notice], bool]) -> None:
        """Queues the ends of notices that are `gone`, and forgets that those notices were written."""
        over = {notice.topic: notice.end for notice in gone if notice.lasts and notice in self._said}
        over = {topic: end for topic, end in over.items() if topic not in still}
        if over:
            self._said = {notice: at for notice, at in self._said.items() if notice.topic not in over}
        self._over.update((topic, end) for topic, end in over.items() if present(end))
        self._over = {topic: end for topic, end in self._over.items() if topic not in still}

    def _counted(self, notice: Notice) -> Notice:
        """`notice` with the number of ends that were said before, so that what returns has an Event of its own."""
        times = self._ended.get(notice.topic, 0)
        if self._over.pop(notice.topic, None) is not None:
            self._ended[notice.topic] = times + 1
            if len(self._ended) > self._limits.remembered:
                del self._ended[next(iter(self._ended))]
        return msgspec.structs.replace(notice, times=times) if times else notice

    def _wait(self, notices: Iterable[Notice]) -> None:
        queues: dict[str, list[Notice]] = {}
        for notice in notices:
            queues.setdefault(notice.namespace, []).append(notice)
        room = fair_shares({namespace: len(queue) for namespace, queue in queues.items()}, self._limits.waiting)
        # Waiting namespaces keep their turn; a new namespace comes last.
        order = dict.fromkeys((*(known for known in self._waiting if known in queues), *queues))
        self._waiting = {
            namespace: deque(queues[namespace][: room[namespace]]) for namespace in order if room[namespace]
        }
        self.dropped += sum(len(queue) - room[namespace] for namespace, queue in queues.items())

    def _next(self) -> Notice:
        namespace = next(iter(self._waiting))
        queue = self._waiting.pop(namespace)
        notice = queue.popleft()
        if queue:
            self._waiting[namespace] = queue
        return notice

    def _forget(self, now: float) -> None:
        recent = [(notice, at) for notice, at in self._said.items() if now - at < self._limits.again_seconds]
        self._said = dict(recent[-self._limits.remembered :])
        self._by_object = {place: bucket for place, bucket in self._by_object.items() if not bucket.is_full(now)}

    def _fresh_bucket(self) -> TokenBucket:
        return TokenBucket(burst=self._limits.object_burst, per_second=self._limits.object_per_second)


def notices_of(findings: Iterable[Finding], inventory: Inventory) -> tuple[Notice, ...]:
    """The findings that become Events: those about existing Ingresses and Services, each with the uid of its object."""
    about = [finding for finding in findings if finding.kind in _API_VERSIONS and finding.namespace]
    uids = {
        (Kind.INGRESS.value, item.metadata.namespace, item.metadata.name): item.metadata.uid
        for item in (inventory.of(Ingress) if about else ())
    }
    for finding in about:
        service = inventory.service(finding.namespace, finding.name) if finding.kind == Kind.SERVICE.value else None
        if service is not None:
            uids[finding.kind, finding.namespace, finding.name] = service.metadata.uid
    return tuple(
        Notice(
            *place,
            uid=uids[place],
            reason=finding.reason,
            note=f"{finding.message} {finding.effect}",
            harm=HARM[finding.severity],
            lasts=True,
        )
        for finding in about
        for place in ((finding.kind, finding.namespace, finding.name),)
        if place in uids
    )


def is_present(notice: Notice, inventory: Inventory) -> bool:
    """Whether the object of a notice still exists."""
    look_up = inventory.service if notice.kind == Kind.SERVICE.value else inventory.ingress
    found = look_up(notice.namespace, notice.name)
    return found is not None and found.metadata.uid == notice.uid


def encode_event(notice: Notice, *, instance: str, epoch_seconds: float) -> bytes:
    """The events.k8s.io/v1 Event of a notice; a Warning unless it is good news. `instance` is the name of our pod."""
    regarding = {
        "apiVersion": _API_VERSIONS[notice.kind],
        "kind": notice.kind,
        "namespace": notice.namespace,
        "name": notice.name,
    }
    if notice.uid:
        regarding["uid"] = notice.uid
    event = {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": event_name(notice), "namespace": notice.namespace},
        "eventTime": micro_time(epoch_seconds),
        "reportingController": _CONTROLLER,
        "reportingInstance": instance[:_INSTANCE_LIMIT],
        "action": _ACTION,
        "reason": notice.reason,
        "regarding": regarding,
        "note": _cut(notice.note),
        "type": "Normal" if notice.is_over or notice.reason in _GOOD_NEWS else "Warning",
    }
    return msgspec.json.encode(event)


def event_name(notice: Notice) -> str:
    """The name of the Event: equal for equal notices, and different for all others."""
    digest = sha256(msgspec.json.encode(notice)).hexdigest()[:16]
    return f"{notice.name[:_NAME_STEM_LIMIT].rstrip('-.')}.{digest}"


def _cut(note: str) -> str:
    data = note.encode("utf-8", "replace")
    if len(data) <= _NOTE_LIMIT_BYTES:
        return note
    ellipsis = "…"
    return data[: _NOTE_LIMIT_BYTES - len(ellipsis.encode())].decode("utf-8", "ignore") + ellipsis
