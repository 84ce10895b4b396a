"""What is said to people beside an object, as a Kubernetes Event, and when.

Responsible for the shape of an Event, for saying each thing once, and for how much is said, whatever is wrong in other
namespaces. The name of an Event is
made of what it says, so that the same thing said by the next leader, or again within the Event's life of an hour, is
the same Event (409) and no second one. It must not know who writes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from hashlib import sha256

import msgspec

from ingress.findings import Finding
from ingress.inventory import Inventory
from ingress.objects import Kind
from ingress.writing.bucket import Bucket
from ingress.writing.lease import micro_time

EVENTS_PATH = "/apis/events.k8s.io/v1/namespaces/{namespace}/events"

_CONTROLLER = "zonal-ingress.io/controller"
_ACTION = "Translate"
_API_VERSIONS = {Kind.INGRESS.value: "networking.k8s.io/v1", Kind.SERVICE.value: "v1"}
"""The kinds that Events are about: the two that a tenant writes and looks at."""

# Validation of events.k8s.io/v1: a longer note or name is refused, not cut.
_NOTE_LIMIT_BYTES = 1024
_INSTANCE_LIMIT = 128
_NAME_STEM_LIMIT = 200


_GOOD_NEWS = frozenset({"ZoneModeEntered"})


class NoticeLimits(msgspec.Struct, frozen=True, kw_only=True):
    """How much is said; times in seconds.

    Per object as client-go's spam filter: 25 at once, then one in five minutes.
    """

    object_burst: float = 25.0
    object_per_second: float = 1 / 300
    burst: float = 50.0  # everything together: a thousand broken Ingresses are told in a quarter of an hour
    per_second: float = 1.0
    again_seconds: float = 600.0  # the same thing is not said again before this
    waiting: int = 1000  # what waits to be said; more is dropped and counted
    remembered: int = 10_000  # what was said; beyond that, only the name of an Event tells it from news


class Notice(msgspec.Struct, frozen=True, order=True):
    """One thing to say about one object. `reason` is CamelCase; a `uid` makes `kubectl describe` find it."""

    kind: str
    namespace: str
    name: str
    uid: str
    reason: str
    note: str

    @property
    def subject(self) -> tuple[str, str, str]:
        """The object."""
        return self.kind, self.namespace, self.name


class Notices:
    """What was said, what waits, and what may be said now. `now` is a monotonic clock.

    Namespaces take turns, in waiting as in being said: what is wrong in one of them silences no other.
    """

    __slots__ = ("_all", "_by_object", "_limits", "_said", "_true", "_waiting", "dropped")

    def __init__(self, limits: NoticeLimits) -> None:
        self._limits = limits
        self._all = Bucket(burst=limits.burst, per_second=limits.per_second)
        self._by_object: dict[tuple[str, str, str], Bucket] = {}
        self._said: dict[Notice, float] = {}
        self._true: set[Notice] = set()
        self._waiting: dict[str, deque[Notice]] = {}
        """By namespace, none of them empty; the first one is next."""
        self.dropped = 0

    def follow(self, notices: Iterable[Notice], now: float) -> None:
        """Everything that there is to say at `now`: what is new waits, what is not true any more is not said."""
        true = set(notices)
        # What was true until now counts as just said: a finding is told when it comes up, not each ten minutes.
        self._said.update((notice, now) for notice in self._true & self._said.keys())
        self._true = true
        self._forget(now)
        waiting = {notice: None for queue in self._waiting.values() for notice in queue if notice in true}
        self._wait((*waiting, *sorted(true - self._said.keys() - waiting.keys())))

    def take(self, now: float) -> Notice | None:
        """The next thing to say, None if nothing may be said at `now`. Counts as said, whatever comes of it."""
        if self._all.wait_seconds(now) > 0.0:
            return None
        while self._waiting:
            notice = self._next()
            self._said[notice] = now
            bucket = self._by_object.setdefault(notice.subject, self._fresh_bucket())
            if bucket.wait_seconds(now) == 0.0:
                bucket.take(now)
                self._all.take(now)
                return notice
            self.dropped += 1
        return None

    def wait_seconds(self, now: float) -> float | None:
        """How long after `now` to `take` again; None while nothing waits."""
        return self._all.wait_seconds(now) if self._waiting else None

    def _wait(self, notices: Iterable[Notice]) -> None:
        queues: dict[str, list[Notice]] = {}
        for notice in notices:
            queues.setdefault(notice.namespace, []).append(notice)
        room = _fair_shares({namespace: len(queue) for namespace, queue in queues.items()}, self._limits.waiting)
        # Those that waited keep their turn; a namespace that is new comes last.
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

    def _fresh_bucket(self) -> Bucket:
        return Bucket(burst=self._limits.object_burst, per_second=self._limits.object_per_second)


def _fair_shares(wanted: Mapping[str, int], total: int) -> dict[str, int]:
    """How much of `total` each gets: what it wants, if that is no more than what is left for each of the others."""
    shares, left = {}, total
    for number, name in enumerate(sorted(wanted, key=lambda name: (wanted[name], name))):
        shares[name] = min(wanted[name], left // (len(wanted) - number))
        left -= shares[name]
    return shares


def notices_of(findings: Iterable[Finding], inventory: Inventory) -> tuple[Notice, ...]:
    """The findings that become Events: those about Ingresses and Services that exist, with the uid that they have."""
    about = [finding for finding in findings if finding.kind in _API_VERSIONS and finding.namespace]
    uids = {
        (Kind.INGRESS.value, item.metadata.namespace, item.metadata.name): item.metadata.uid
        for item in (inventory.ingresses() if about else ())
    }
    for finding in about:
        service = inventory.service(finding.namespace, finding.name) if finding.kind == Kind.SERVICE.value else None
        if service is not None:
            uids[finding.kind, finding.namespace, finding.name] = service.metadata.uid
    return tuple(
        Notice(*place, uid=uids[place], reason=finding.reason, note=f"{finding.message} {finding.effect}")
        for finding in about
        for place in ((finding.kind, finding.namespace, finding.name),)
        if place in uids
    )


def encode_event(notice: Notice, *, instance: str, epoch_seconds: float) -> bytes:
    """The events.k8s.io/v1 Event of a notice, a Warning unless it is good news. `instance` is the name of our pod."""
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
        "type": "Normal" if notice.reason in _GOOD_NEWS else "Warning",
    }
    return msgspec.json.encode(event)


def event_name(notice: Notice) -> str:
    """The same for the same words about the same object, and another for any other."""
    digest = sha256(msgspec.json.encode(notice)).hexdigest()[:16]
    return f"{notice.name[:_NAME_STEM_LIMIT].rstrip('-.')}.{digest}"


def _cut(note: str) -> str:
    data = note.encode("utf-8", "replace")
    if len(data) <= _NOTE_LIMIT_BYTES:
        return note
    ellipsis = "…"
    return data[: _NOTE_LIMIT_BYTES - len(ellipsis.encode())].decode("utf-8", "ignore") + ellipsis
