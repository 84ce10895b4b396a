"""Holds the inventory: the cluster objects that are known now.

Applies events, whatever their order or repetition, and gives quick access by kind. Does not know where events come
from, nor what is made of the objects.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from copy import copy
from typing import TypeVar, cast

import msgspec

from ingress.findings import Finding
from ingress.objects.kinds import (
    GATEWAY_ANNOTATION,
    OPTIONAL_KINDS,
    ConfigMap,
    EndpointSlice,
    Ingress,
    Kind,
    KubernetesObject,
    Node,
    Secret,
    Service,
    key_of,
)
from ingress.objects.metadata import Reported
from ingress.sources.change_stamps import ChangeStamps, Look
from ingress.sources.events import Event, Provisioned, Removed, Replaced, Resolved, SourceFindings, Upserted

REQUIRED_KINDS = frozenset({Kind.INGRESS, Kind.INGRESS_CLASS, Kind.SERVICE, Kind.ENDPOINT_SLICE})
"""A model without the full list of these kinds would lose routes, so nothing is published before they are known."""

SERVICE_LABEL = "kubernetes.io/service-name"
"""Names the Service of an EndpointSlice (discovery/v1 LabelServiceName)."""

_Key = tuple[str, str]

_PROVISIONED_KEY = ("", "provisioned")  # no name of DNS
PROVISIONED: Look = (None, _PROVISIONED_KEY)
"""What one looks for to see whether `Inventory.provisioned` has changed."""

_Record = TypeVar("_Record", bound=KubernetesObject)


class Changes(msgspec.Struct, frozen=True):
    """What has changed since the last call of `take_changes`: `slices_of` Services and `services`, by namespace and
    name.

    `beyond`: something else has changed, too.
    """

    slices_of: frozenset[tuple[str, str]] = frozenset()
    services: frozenset[tuple[str, str]] = frozenset()
    beyond: bool = False

    def take_all(self, services: frozenset[tuple[str, str]]) -> bool:
        """Whether changes of endpoints do not suffice. `services` are those that the last translation looked for."""
        return self.beyond or not services.isdisjoint(self.services)


class Inventory:
    """Every known object by kind, namespace and name. `stamps` says when each changed last."""

    __slots__ = (
        "_beyond",
        "_changed_services",
        "_changed_slices",
        "_delivered",
        "_findings",
        "_held_back",
        "_names",
        "_objects",
        "_slices",
        "provisioned",
        "stamps",
    )

    def __init__(self) -> None:
        self._objects: dict[Kind, dict[_Key, KubernetesObject]] = {kind: {} for kind in Kind}
        self._slices: dict[_Key, dict[_Key, EndpointSlice]] = {}
        self._delivered: set[Kind] = set()
        self._findings: dict[str, tuple[Finding, ...]] = {}
        self._names: dict[_Key, tuple[str, ...]] = {}
        self._changed_slices: set[_Key] = set()
        self._changed_services: set[_Key] = set()
        self._beyond = False
        self._held_back: Mapping[_Key, Secret | None] = {}
        self.stamps = ChangeStamps()
        self.provisioned = Provisioned()
        """What this replica knows of the places of Gateways beside their Services."""

    def holding_back(self, secrets: Mapping[_Key, Secret | None]) -> Inventory:
        """A view of this inventory in which each Secret of `secrets` is replaced; None: it is missing in the view.

        For reading only, and until the next event.
        """
        view = copy(self)
        view._held_back = secrets
        return view

    @property
    def holds_back(self) -> bool:
        """Whether some Secrets are seen as they were."""
        return bool(self._held_back)

    @property
    def complete(self) -> bool:
        """Whether every required kind has delivered its first full list. The list may be empty."""
        return self._delivered >= REQUIRED_KINDS

    def knows(self, kind: Kind) -> bool:
        """Whether the kind has delivered its first full list. The list may be empty."""
        return kind in self._delivered

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The findings of all sources."""
        return tuple(finding for source in sorted(self._findings) for finding in self._findings[source])

    def apply(self, event: Event) -> bool:
        """Applies one event. Returns whether anything is different now. A replayed event changes nothing.

        A new resourceVersion alone is not a difference, nor are new finalizers, nor a new status of an object whose
        status we write, because heartbeats and our own writes cause these. All are kept.
        """
        match event:
            case Replaced():
                changed = self._replace(event)
                self._beyond |= changed
            case Upserted():
                changed = self._upsert(event.object)
                self._mark(changed, event.object.kind, key_of(event.object))
            case Removed():
                changed = self._remove(event.kind, (event.namespace, event.name))
                self._mark(changed, event.kind, (event.namespace, event.name))
            case Resolved():
                changed = self._resolve(event)
                self._beyond |= changed
            case SourceFindings():
                changed = self._note(event)
                self._beyond |= changed
            case Provisioned():
                changed = self.provisioned != event
                self.provisioned = event
                self._beyond |= changed
                if changed:
                    self.stamps.note(None, _PROVISIONED_KEY)
        return changed

    def is_newer_version(self, event: Event) -> bool:
        """Whether an event, not applied yet, replaces one known object. It does not if that is a slice."""
        if not isinstance(event, Upserted) or event.object.kind is Kind.ENDPOINT_SLICE:
            return False
        return key_of(event.object) in self._objects[event.object.kind]

    def has_changed_beyond_slices(self, services: frozenset[_Key]) -> bool:
        """Whether since `take_changes` one of these Services has changed, or anything but Services and slices."""
        return self._beyond or not services.isdisjoint(self._changed_services)

    def take_changes(self) -> Changes:
        """What `apply` has changed since the last call."""
        changes = Changes(frozenset(self._changed_slices), frozenset(self._changed_services), self._beyond)
        self._changed_slices.clear()
        self._changed_services.clear()
        self._beyond = False
        return changes

    def _mark(self, changed: bool, kind: Kind, key: _Key) -> None:
        if changed and kind is Kind.SERVICE:
            self._changed_services.add(key)
        elif changed and kind is not Kind.ENDPOINT_SLICE:
            self._beyond = True

    def ingress(self, namespace: str, name: str) -> Ingress | None:
        """One Ingress of any class, or None if there is none."""
        return cast("Ingress | None", self._objects[Kind.INGRESS].get((namespace, name)))

    def of(self, record: type[_Record]) -> Collection[_Record]:
        """Every object of one record type, in no particular order."""
        return cast("Collection[_Record]", self._objects[record.kind].values())

    def service(self, namespace: str, name: str) -> Service | None:
        """One Service, or None if there is none."""
        return cast("Service | None", self._objects[Kind.SERVICE].get((namespace, name)))

    def slices(self, namespace: str, service: str) -> Collection[EndpointSlice]:
        """Every EndpointSlice with the label of the Service, in no particular order."""
        return self._slices.get((namespace, service), {}).values()

    def node(self, name: str) -> Node | None:
        """One Node, or None if it is unknown."""
        return cast("Node | None", self._objects[Kind.NODE].get(("", name)))

    def addresses(self, namespace: str, name: str) -> tuple[str, ...]:
        """The addresses of a DNS name outside of the cluster that `namespace` wants; empty if they are unknown."""
        return self._names.get((namespace, name), ())

    def secret(self, namespace: str, name: str) -> Secret | None:
        """One Secret, or None if there is none."""
        if self._held_back and (namespace, name) in self._held_back:
            return self._held_back[namespace, name]
        return cast("Secret | None", self._objects[Kind.SECRET].get((namespace, name)))

    def why_no_secret(self, namespace: str, name: str) -> str:
        """Why there is no such Secret, as the end of a sentence with its repair."""
        if (namespace, name) in self._held_back:
            return "is new and waits for its turn to be judged: wait some seconds."
        return "does not exist: create it."

    def config_map(self, namespace: str, name: str) -> ConfigMap | None:
        """One ConfigMap, or None if there is none."""
        return cast("ConfigMap | None", self._objects[Kind.CONFIG_MAP].get((namespace, name)))

    def _resolve(self, event: Resolved) -> bool:
        key = (event.namespace, event.name)
        if not event.addresses:  # no translation wants them
            self._names.pop(key, None)
            self.stamps.note(None, key)
            return False
        before, self._names[key] = self._names.get(key), event.addresses
        if before != event.addresses:
            self.stamps.note(None, key)
        return before != event.addresses

    def _replace(self, event: Replaced) -> bool:
        changed = is_first = event.kind not in self._delivered
        self._delivered.add(event.kind)
        for gone in self._objects[event.kind].keys() - {key_of(item) for item in event.objects}:
            changed |= self._remove(event.kind, gone)
        for item in event.objects:
            changed |= self._upsert(item)
        if is_first:
            self.stamps.note_all(event.kind)
        return changed

    def _upsert(self, item: KubernetesObject) -> bool:
        key, known = key_of(item), self._objects[item.kind]
        before = known.get(key)
        item = _with_known_status(before, item)
        if isinstance(before, EndpointSlice):
            self._unlink(before)
        changed = before is None or not _is_same(before, item)
        known[key] = item if before is None or changed else _sharing(before, item)
        if isinstance(item, EndpointSlice):
            self._slices.setdefault(_service_of(item), {})[key] = item
            if changed:
                self._note_slices_of(item)
                if isinstance(before, EndpointSlice):
                    self._note_slices_of(before)
        elif changed:
            self.stamps.note(item.kind, key)
        return changed

    def _remove(self, kind: Kind, key: _Key) -> bool:
        gone = self._objects[kind].pop(key, None)
        if isinstance(gone, EndpointSlice):
            self._unlink(gone)
            self._note_slices_of(gone)
        elif gone is not None:
            self.stamps.note(kind, key)
        return gone is not None

    def _note_slices_of(self, item: EndpointSlice) -> None:
        self._changed_slices.add(_service_of(item))
        self.stamps.note(Kind.ENDPOINT_SLICE, _service_of(item))

    def _unlink(self, gone: EndpointSlice) -> None:
        service = _service_of(gone)
        del self._slices[service][key_of(gone)]
        if not self._slices[service]:
            del self._slices[service]

    def _note(self, event: SourceFindings) -> bool:
        before = self._findings.get(event.source, ())
        self._findings[event.source] = event.findings
        return before != event.findings


def _service_of(item: EndpointSlice) -> _Key:
    return item.metadata.namespace, item.metadata.labels.get(SERVICE_LABEL, "")


def _with_known_status(before: KubernetesObject | None, item: KubernetesObject) -> KubernetesObject:
    """A Node of which only the metadata came this time, with the known status of the same Node."""
    if not isinstance(before, Node) or not isinstance(item, Node) or item.status is not None:
        return item
    is_same_node = bool(item.metadata.uid) and item.metadata.uid == before.metadata.uid
    return msgspec.structs.replace(item, status=before.status) if is_same_node else item


def _sharing(before: KubernetesObject, item: KubernetesObject) -> KubernetesObject:
    """`item`, which is the same as `before`. Where only its status came anew, both have one spec in memory."""
    if not isinstance(before, Reported) or not isinstance(item, Reported):
        return item
    return msgspec.structs.replace(before, metadata=item.metadata, status=item.status)


def _is_same(before: KubernetesObject, after: KubernetesObject) -> bool:
    known = before.metadata
    # Statuses of Gateway API name the generation. Of other objects it may count what is not read here.
    generation = after.metadata.generation if after.kind in OPTIONAL_KINDS else known.generation
    aligned = msgspec.structs.replace(
        after.metadata, resource_version=known.resource_version, generation=generation, finalizers=known.finalizers
    )
    if isinstance(before, Ingress) and isinstance(after, Ingress):
        return before == msgspec.structs.replace(after, metadata=aligned, status=before.status)
    if isinstance(before, Service) and isinstance(after, Service):
        # Where Gateways are reached is a part of what we say about them. Load balancers of others are no news.
        counts = GATEWAY_ANNOTATION in aligned.annotations
        status = after.status if counts else before.status
        return before == msgspec.structs.replace(after, metadata=aligned, status=status)
    if isinstance(before, Reported) and isinstance(after, Reported):
        return before == msgspec.structs.replace(after, metadata=aligned, status=before.status)
    return before == msgspec.structs.replace(after, metadata=aligned)
