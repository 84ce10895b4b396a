"""Decides which objects of Gateway API have to be written now: their statuses, and the finalizer of GatewayClasses.

What was judged once is not judged again before the object or its standing changes. Who writes, and when the answer
comes, is for others; times are arguments, in monotonic seconds.
"""

from __future__ import annotations

import math
import sys
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Final, NamedTuple, get_args

import msgspec

from ingress.objects.gateway import Gateway, GatewayClass
from ingress.objects.kinds import GatewayObject, Kind, KubernetesObject, key_of
from ingress.objects.metadata import Reported
from ingress.sources.inventory import Inventory
from ingress.sources.kubernetes.resources import RESOURCES, path_of
from ingress.translation.gateway.standings import Status
from ingress.writing.gateway.contests import Contests, Key
from ingress.writing.gateway.in_use import Judgement
from ingress.writing.gateway.merging import due_patch, stale_patch
from ingress.writing.statuses import PatchOutcome

FINALIZER: Final = "gateway-exists-finalizer.gateway.networking.k8s.io"
"""Keeps a GatewayClass as long as Gateways use it (GatewayClass, "spec.controllerName")."""

GATEWAY_SECONDS: Final = 1.0
"""Between two writes of one Gateway, whose attachedRoutes change with every route."""

AGED_EACH: Final = 5
"""Each object in so many is the one that has waited longest, so that none waits until changes end."""

REFUSED_SECONDS: Final = 60.0
"""Until a write that was refused is tried again, because a person has to change something first."""

_RECORDS: Final = tuple(record for record in get_args(GatewayObject) if issubclass(record, Reported))
_ENTRIES: Final = {
    Kind.HTTP_ROUTE: "parents",
    Kind.GRPC_ROUTE: "parents",
    Kind.TLS_ROUTE: "parents",
    Kind.TCP_ROUTE: "parents",
    Kind.UDP_ROUTE: "parents",
    Kind.BACKEND_TLS_POLICY: "ancestors",
    Kind.ZONE_POLICY: "ancestors",
}
_RANKS: Final = {Kind.LISTENER_SET: 0, Kind.GATEWAY: 1, Kind.GATEWAY_CLASS: 1}
"""Which of the objects that became due together are written first: what others are attached to. Who sees a route
accepted reads the listeners that it is attached to, and they must have been judged as well."""


class ObjectWrite(msgspec.Struct, frozen=True):
    """One merge patch. `wanted` is the whole status that the patch leads to; None: our entries go.

    `version` is the resourceVersion that was judged: if the object has changed meanwhile, the answer is 409.
    """

    kind: Kind
    namespace: str
    name: str
    version: str
    path: str
    fields: Mapping[str, object]
    wanted: Status | None = None
    is_finalizer: bool = False

    @property
    def key(self) -> Key:
        """Kind, namespace and name of the object."""
        return self.kind.value, self.namespace, self.name

    @property
    def group(self) -> str:
        """The right that the write needs, and where."""
        plural = RESOURCES[self.kind].plural
        right = plural if self.is_finalizer else f"{plural}/status"
        return f"{right} in {self.namespace}" if self.namespace else right

    @property
    def told(self) -> str:
        """The object in words."""
        place = f"{self.namespace}/{self.name}" if self.namespace else self.name
        return f"{self.kind.value} {place}"

    @property
    def body(self) -> bytes:
        """A JSON merge patch (RFC 7396)."""
        metadata = {"resourceVersion": self.version}
        if self.is_finalizer:
            return msgspec.json.encode({"metadata": metadata | dict(self.fields)})
        return msgspec.json.encode({"metadata": metadata, "status": self.fields})


class Due(msgspec.Struct, frozen=True):
    """The writes that are due now, and when a further one is at the latest that has to wait. `is_more`: there may be
    others that are due now.
    """

    writes: tuple[ObjectWrite, ...] = ()
    next_at: float = math.inf
    is_more: bool = False


class _ObjectMemory(msgspec.Struct):
    """What is remembered of one object.

    `settled` is the version and status for which nothing is due, and `quiet` the object and the status themselves,
    where nothing else can be due, either: most objects are the same as at the last look, and thousands are looked at.
    `answered` is the version that needs no other write before the watch reports what became of it. `said` is what was
    written last.
    """

    uid: str
    quiet: tuple[KubernetesObject, Status | None] | None = None
    settled: tuple[str, Status | None] | None = None
    answered: str = ""
    said: tuple[Status | None] | None = None
    not_before: float = 0.0
    turn: int = 0
    generation: int = 0

    def became_due(self, turn: int, generation: int) -> None:
        """Notes since which turn the object may be due. One that is changed while it waits is as fresh as any other."""
        if not self.turn or self.generation != generation:
            self.turn = turn
            self.generation = generation

    def is_quiet(self, item: KubernetesObject, status: Status | None) -> bool:
        """Whether nothing is due because these are the same objects as at the last look."""
        return self.quiet is not None and self.quiet[0] is item and self.quiet[1] is status

    def rest(self, item: KubernetesObject, status: Status | None) -> None:
        """Notes that nothing is due for them. The finalizer of a GatewayClass depends on other objects as well."""
        self.quiet = None if isinstance(item, GatewayClass) else (item, status)


class MayBeDue(NamedTuple):
    """An object for which a write may be due, and since which turn, with a minus: what became due last comes first.
    Of that, the lowest rank does."""

    order: int
    rank: int
    key: Key
    item: KubernetesObject
    status: Status | None
    memory: _ObjectMemory


class DueWrites:
    """Remembers what was judged and written. One for the life of a process."""

    __slots__ = ("_controller", "_judged", "_memories", "_resting", "_turn", "_wanted", "contests")

    def __init__(self, controller: str) -> None:
        self._controller = controller
        self._memories: dict[Key, _ObjectMemory] = {}
        self._judged: Judgement | None = None
        self._wanted: dict[Key, Status] = {}
        self._resting: dict[int, KubernetesObject] = {}  # those for which nothing is due by this judgement, by identity
        self._turn = 0
        self.contests = Contests()

    def due(
        self,
        inventory: Inventory,
        judgement: Judgement,
        versions: Mapping[Kind, str],
        *,
        now: float,
        written_at: str,
        most: int = sys.maxsize,
    ) -> Due:
        """What has to be written by `judgement`, `most` writes of it. Objects that have changed since then wait for the
        next one.

        `versions` are those at which the API server serves kinds. `written_at` is the present time as the API writes
        times.
        """
        self._turn += 1
        is_news = judgement is not self._judged
        wanted = self._statuses_of(judgement)
        used = {each.spec.gateway_class_name for each in inventory.of(Gateway)}
        asked: list[MayBeDue] = []
        known: set[Key] = set()
        for key, item in _reported(inventory, versions, self._resting):
            known.add(key)
            status, memory = wanted.get(key), self._memories.get(key)
            if memory is not None and memory.is_quiet(item, status):
                self._resting[id(item)] = item
                continue
            memory = self._memory(key, item.metadata.uid)
            if not inventory.stamps.changed_after(judgement.seen_at, (item.kind, key_of(item))):
                is_new = not memory.turn
                memory.became_due(self._turn, item.metadata.generation)
                if is_new and self._takes_no_turn(item, status, memory, versions[item.kind], written_at):
                    continue
                asked.append(MayBeDue(-memory.turn, _RANKS.get(item.kind, 2), key, item, status, memory))
        if is_news:  # an object that is gone has led to a new judgement
            for key in self._memories.keys() - known:
                del self._memories[key]
        asked.sort(key=itemgetter(0, 1, 2))
        return self._answered(in_turns(asked), versions, used, now=now, written_at=written_at, most=most)

    def _answered(
        self,
        asked: Iterable[MayBeDue],
        versions: Mapping[Kind, str],
        used: Collection[str],
        *,
        now: float,
        written_at: str,
        most: int,
    ) -> Due:
        """The writes for the objects `asked`. `used` are the names of GatewayClasses that Gateways use."""
        found: list[ObjectWrite] = []
        next_at = math.inf
        for _, _, key, item, status, memory in asked:
            version = versions[item.kind]
            write = self._write(item, status, memory, version=version, written_at=written_at)
            if write is None and isinstance(item, GatewayClass) and status is not None:
                write = self._finalizer(item, memory, version=version, is_used=item.metadata.name in used)
            if write is None:
                memory.turn = 0
                continue
            may_at = max(memory.not_before, self.contests.waits_until(key))
            if may_at > now:
                next_at = min(next_at, may_at)
                continue
            found.append(write)
            if len(found) == most:
                return Due(tuple(found), next_at, is_more=True)
        return Due(tuple(found), next_at)

    def noted(self, write: ObjectWrite, outcome: PatchOutcome, now: float) -> None:
        """Takes what became of a write."""
        memory = self._memories.get(write.key)
        if memory is None:
            return
        if outcome is PatchOutcome.REFUSED:
            memory.not_before = now + REFUSED_SECONDS
        if outcome in (PatchOutcome.WRITTEN, PatchOutcome.CHANGED):
            memory.answered = write.version
        if outcome is not PatchOutcome.WRITTEN:
            return
        memory.turn = 0
        if write.kind is Kind.GATEWAY:
            memory.not_before = now + GATEWAY_SECONDS
        if not write.is_finalizer:
            if memory.said == (write.wanted,):
                self.contests.rewrote(write.key, now)
            memory.said = (write.wanted,)

    def collection(self, key: Key, versions: Mapping[Kind, str]) -> str:
        """The path of the collection that an object is in."""
        kind = Kind(key[0])
        return path_of(kind, key[1], version=versions[kind])

    def _takes_no_turn(
        self, item: KubernetesObject, status: Status | None, memory: _ObjectMemory, version: str, written_at: str
    ) -> bool:
        """Whether nothing is due for an object that is new here: most of them are reports of what was just written."""
        if isinstance(item, GatewayClass):
            return False  # whose finalizer depends on others
        if self._write(item, status, memory, version=version, written_at=written_at) is not None:
            return False
        memory.turn = 0
        return True

    def _statuses_of(self, judgement: Judgement) -> Mapping[Key, Status]:
        if judgement is not self._judged:
            self._judged = judgement
            self._resting = {}
            self._wanted = {(each.kind, each.namespace, each.name): each.status for each in judgement.standings}
        return self._wanted

    def _memory(self, key: Key, uid: str) -> _ObjectMemory:
        memory = self._memories.get(key)
        if memory is None or memory.uid != uid:
            memory = self._memories[key] = _ObjectMemory(uid)
        return memory

    def _write(
        self, item: KubernetesObject, status: Status | None, memory: _ObjectMemory, *, version: str, written_at: str
    ) -> ObjectWrite | None:
        metadata = item.metadata
        if not isinstance(item, Reported) or memory.answered == metadata.resource_version:
            return None
        if memory.settled is not None and memory.settled == (metadata.resource_version, status):
            memory.rest(item, status)
            return None
        fields = self._fields(item, status, written_at)
        if fields is None:
            memory.settled = metadata.resource_version, status
            memory.rest(item, status)
            return None
        path = f"{path_of(item.kind, metadata.namespace, version=version)}/{metadata.name}/status"
        return ObjectWrite(
            item.kind, metadata.namespace, metadata.name, metadata.resource_version, path, fields, wanted=status
        )

    def _fields(self, item: KubernetesObject, status: Status | None, written_at: str) -> dict[str, object] | None:
        assert isinstance(item, Reported)
        if status is None:
            field = _ENTRIES.get(item.kind)
            return stale_patch(item.status, field, self._controller) if field is not None else None
        return due_patch(
            item.status,
            status,
            namespace=item.metadata.namespace,
            controller=self._controller,
            now=written_at,
            generation=item.metadata.generation,
        )

    def _finalizer(
        self, item: GatewayClass, memory: _ObjectMemory, *, version: str, is_used: bool
    ) -> ObjectWrite | None:
        metadata = item.metadata
        others = [each for each in metadata.finalizers if each != FINALIZER]
        has = len(others) < len(metadata.finalizers)
        if has == is_used or (is_used and metadata.deletion_timestamp) or memory.answered == metadata.resource_version:
            return None
        fields = {"finalizers": [*metadata.finalizers, FINALIZER] if is_used else others}
        path = f"{path_of(item.kind, version=version)}/{metadata.name}"
        return ObjectWrite(item.kind, "", metadata.name, metadata.resource_version, path, fields, is_finalizer=True)


def in_turns(asked: Sequence[MayBeDue]) -> Iterator[MayBeDue]:
    """The objects in the order in which they are written; `asked` begins with those that became due last.

    Namespaces take turns, each with what became due last in it: a change is behind no thousands of another namespace,
    nor behind those of its own that wait since the start.
    """
    queues: dict[str, deque[MayBeDue]] = {}
    for each in asked:
        queues.setdefault(each.key[1], deque()).append(each)
    fresh, aged, given = _one_each(queues), reversed(asked), set[Key]()
    for number in range(1, len(asked) + 1):
        source = aged if number % AGED_EACH == 0 else fresh
        found = next(each for each in source if each.key not in given)
        given.add(found.key)
        yield found


def _one_each(queues: Mapping[str, deque[MayBeDue]]) -> Iterator[MayBeDue]:
    """One of each queue after the other, again and again."""
    while queues:
        for queue in queues.values():
            yield queue.popleft()
        queues = {namespace: queue for namespace, queue in queues.items() if queue}


def _reported(
    inventory: Inventory, versions: Mapping[Kind, str], resting: Mapping[int, KubernetesObject]
) -> Iterator[tuple[Key, KubernetesObject]]:
    """The objects whose statuses we write, without those that rest."""
    for record in _RECORDS:
        if versions.get(record.kind):
            kind = record.kind.value
            for each in [item for item in inventory.of(record) if resting.get(id(item)) is not item]:
                yield (kind, each.metadata.namespace, each.metadata.name), each
