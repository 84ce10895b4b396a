"""The objects of the test cluster, their versions and their history.

Responsible for resource versions, for what an object was at an earlier version, and for writing an object as bytes only
once however many lists and watches show it. It must not know requests, selectors or why an object is written.
"""

from __future__ import annotations

import bisect
from collections.abc import Callable
from enum import Enum

import msgspec

from tests.fakes.apiserver.events import as_core
from tests.fakes.apiserver.kinds import CORE_EVENT, KINDS, Document, Resource

Key = tuple[str, str]
"""Namespace and name."""


class Form(Enum):
    """How an object is shown."""

    FULL = 1
    METADATA = 2


class Stored:
    """One state of one object. Nobody changes the document any more."""

    __slots__ = ("_bytes", "_line", "document", "key", "version")

    def __init__(self, document: Document, version: int) -> None:
        self.document = document
        self.version = version
        self.key: Key = (document["metadata"].get("namespace", ""), document["metadata"].get("name", ""))
        self._bytes: dict[tuple[Form, bool], bytes] = {}
        self._line: tuple[str, Form, Resource, bytes] | None = None

    def fields(self, resource: Resource, form: Form) -> bytes:
        """The fields without kind and apiVersion, with the brace that closes them and without the one that opens."""
        place = (form, resource is CORE_EVENT)
        if place not in self._bytes:
            self._bytes[place] = _fields(self.document, resource, form)
        return self._bytes[place]

    def line(self, event: str, resource: Resource, form: Form) -> bytes:
        """The line of a watch event with this object; the last one is kept, which all watches of a kind share."""
        if self._line is None or self._line[:3] != (event, form, resource):
            line = b'{"type":"%b","object":%b}\n' % (event.encode(), shown(self, resource, form))
            self._line = (event, form, resource, line)
        return self._line[3]


def _fields(document: Document, resource: Resource, form: Form) -> bytes:
    if form is Form.METADATA:
        shown: Document = {"metadata": document["metadata"]}
    else:
        shown = as_core(document) if resource is CORE_EVENT else document
    return msgspec.json.encode({name: value for name, value in shown.items() if name not in ("kind", "apiVersion")})[1:]


def shown(stored: Stored, resource: Resource, form: Form) -> bytes:
    """The whole object as JSON."""
    return type_fields(resource, form) + stored.fields(resource, form)


def type_fields(resource: Resource, form: Form) -> bytes:
    """How the JSON of an object begins."""
    if form is Form.METADATA:
        return b'{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1",'
    return f'{{"kind":"{resource.kind}","apiVersion":"{resource.api_version}",'.encode()


class Change:
    """What happened to one object: from `before`, None where it was not there, to `after`, None where it is gone."""

    __slots__ = ("_gone", "after", "before", "kind", "version")

    def __init__(self, kind: str, version: int, before: Stored | None, after: Stored | None) -> None:
        self.kind = kind
        self.version = version
        self.before = before
        self.after = after
        self._gone: Stored | None = None

    @property
    def key(self) -> Key:
        return (self.after or self.gone).key

    @property
    def gone(self) -> Stored:
        """The last state as a DELETED event shows it: with the version of its end."""
        if self._gone is None:
            assert self.before is not None
            self._gone = Stored(_with_version(self.before.document, self.version), self.version)
        return self._gone


class Store:
    """Objects by kind and key, under one counter of versions as etcd has.

    The last `history` changes of each kind, at least, are remembered; older ones are compacted away.
    """

    def __init__(self, *, history: int) -> None:
        self.version = 100
        self._kept = history
        self._objects: dict[str, dict[Key, Stored]] = {kind: {} for kind in KINDS}
        self._history: dict[str, list[Change]] = {kind: [] for kind in KINDS}
        self._compacted = dict.fromkeys(KINDS, 0)
        self._listeners: dict[str, set[Callable[[Change], None]]] = {kind: set() for kind in KINDS}

    def find(self, kind: str, key: Key) -> Stored | None:
        return self._objects[kind].get(key)

    def objects(self, kind: str) -> list[Stored]:
        """Every object of a kind by namespace and name."""
        objects = self._objects[kind]
        return [objects[key] for key in sorted(objects)]

    def write(self, kind: str, document: Document) -> Stored:
        """Store a new state under the next version. The document must not be changed afterwards."""
        self.version += 1
        after = Stored(_with_version(document, self.version), self.version)
        objects = self._objects[kind]
        change = Change(kind, self.version, objects.get(after.key), after)
        objects[after.key] = after
        self._remember(change)
        return after

    def remove(self, kind: str, key: Key) -> Stored:
        """Take an object away; its last state, with the version of its end. KeyError where there is none."""
        before = self._objects[kind].pop(key)
        self.version += 1
        change = Change(kind, self.version, before, None)
        self._remember(change)
        return change.gone

    def since(self, kind: str, version: int) -> list[Change] | None:
        """What happened after a version, oldest first; None where that is no longer known."""
        if version < self._compacted[kind]:
            return None
        history = self._history[kind]
        return history[bisect.bisect_right(history, version, key=lambda change: change.version) :]

    def objects_at(self, kind: str, version: int) -> list[Stored] | None:
        """Every object as it was at a version; None where that is no longer known."""
        changes = self.since(kind, version)
        if changes is None:
            return None
        then = dict(self._objects[kind])
        for change in reversed(changes):
            if change.before is None:
                del then[change.key]
            else:
                then[change.key] = change.before
        return [then[key] for key in sorted(then)]

    def compact(self) -> None:
        """Forget what was before now."""
        for kind in KINDS:
            self._history[kind].clear()
            self._compacted[kind] = self.version

    def listen(self, kind: str, listener: Callable[[Change], None]) -> Callable[[], None]:
        """Hear of every change of a kind as it happens, until the returned function is called."""
        self._listeners[kind].add(listener)
        return lambda: self._listeners[kind].discard(listener)

    def _remember(self, change: Change) -> None:
        history = self._history[change.kind]
        history.append(change)
        if len(history) > 2 * self._kept:
            self._compacted[change.kind] = history[-self._kept - 1].version
            del history[: -self._kept]
        for listener in self._listeners[change.kind]:
            listener(change)


def _with_version(document: Document, version: int) -> Document:
    return document | {"metadata": document["metadata"] | {"resourceVersion": str(version)}}
