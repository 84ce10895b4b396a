"""Merges what a status should say into the status that an object has, and says what has to be written.

What others wrote stays as it is and where it is: entries of other controllers, and conditions of types that are not
ours. Nothing is due where only times differ, or the order of words in a message. The time of a condition moves with its
status only. Pure: the present time is an argument.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, TypeVar

import msgspec

from ingress.objects.gateway_references import GATEWAY_GROUP
from ingress.objects.metadata import Wire
from ingress.translation.gateway.standings import (
    Address,
    AncestorStanding,
    Feature,
    GatewayClassStatus,
    GatewayStatus,
    ListenerSetStatus,
    ListenerStanding,
    ParentName,
    ParentStanding,
    PolicyStatus,
    RouteStatus,
    Status,
    StatusCondition,
    SupportedKind,
)

OWN_TYPES: Final = frozenset(
    (
        "Accepted",
        "Conflicted",
        "InsecureFrontendValidationMode",
        "OverlappingTLSConfig",
        "PartiallyInForce",
        "PartiallyInvalid",
        "Programmed",
        "ResolvedRefs",
        "SupportedVersion",
        "zonal-ingress.io/ZonePolicyAffected",
    )
)
"""The types of conditions that are ours, in whatever object of ours they stand."""

_ENTRIES_MOST: Final = {"parents": 32, "ancestors": 16}  # what the API stores
_ADDRESSES_MOST: Final = 16
_MESSAGE_MOST: Final = 32_768

Patch = dict[str, object]
"""The fields of a status that have to be written, each whole."""


class _WrittenCondition(Wire, frozen=True):
    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""
    observed_generation: int = 0
    last_transition_time: str = ""


class _WrittenListener(Wire, frozen=True):
    name: str = ""
    supported_kinds: tuple[SupportedKind, ...] | None = ()
    attached_routes: int = 0
    conditions: tuple[msgspec.Raw, ...] | None = ()


class _OwnerStatus(Wire, frozen=True):
    conditions: tuple[msgspec.Raw, ...] | None = ()
    listeners: tuple[_WrittenListener, ...] | None = ()
    attached_listener_sets: int = 0
    addresses: tuple[Address, ...] | None = ()
    supported_features: tuple[Feature, ...] | None = ()


class _WrittenReference(Wire, frozen=True):
    group: str = GATEWAY_GROUP
    kind: str = "Gateway"
    namespace: str = ""
    name: str = ""
    section_name: str = ""
    port: int = 0


class _StatusEntry(Wire, frozen=True):
    controller_name: str = ""
    parent_ref: _WrittenReference = _WrittenReference()
    ancestor_ref: _WrittenReference = _WrittenReference()
    conditions: tuple[msgspec.Raw, ...] | None = ()


class _EntryLists(Wire, frozen=True):
    parents: tuple[msgspec.Raw, ...] | None = ()
    ancestors: tuple[msgspec.Raw, ...] | None = ()


def judged_generation(status: Status) -> int:
    """The generation of the object that a status judges."""
    return max((each.observed_generation for each in _all_conditions(status)), default=0)


def due_patch(
    current: msgspec.Raw, wanted: Status, *, namespace: str, controller: str, now: str, generation: int
) -> Patch | None:
    """The fields that make `current` say what is `wanted`; None if nothing is due.

    `namespace` is that of the object. `now` is the time of conditions whose status changes, as the API writes times. A
    status that judges a newer generation than `wanted` stays as it is: somebody knew more. `generation` is that of the
    object: what judges a later one is no judgement, as after an object was restored, and is replaced.
    """
    if isinstance(wanted, (RouteStatus, PolicyStatus)):
        known = _read(current, _EntryLists)
        entries = wanted.parents if isinstance(wanted, RouteStatus) else wanted.ancestors
        field = "parents" if isinstance(wanted, RouteStatus) else "ancestors"
        present = known.parents if field == "parents" else known.ancestors
        return _due_entries(
            field, present, entries, namespace=namespace, controller=controller, now=now, generation=generation
        )
    owner = _read(current, _OwnerStatus)
    listed = (owner.conditions, *(each.conditions for each in owner.listeners or ()))
    if any(judged_generation(wanted) < _newest(each) <= generation for each in listed):
        return None
    return _due_owner(owner, wanted, now)


def stale_patch(current: msgspec.Raw, field: str, controller: str) -> Patch | None:
    """The fields that take our entries out of `parents` or `ancestors`; None if there are none."""
    if controller.encode() not in bytes(current):
        return None
    known = _read(current, _EntryLists)
    present = known.parents if field == "parents" else known.ancestors
    kept = [each for each in present or () if _entry(each).controller_name != controller]
    return {field: kept} if len(kept) < len(present or ()) else None


def _due_owner(
    owner: _OwnerStatus, wanted: GatewayClassStatus | GatewayStatus | ListenerSetStatus, now: str
) -> Patch | None:
    patch: Patch = {}
    conditions, differs = _merged(owner.conditions, wanted.conditions, now)
    if differs:
        patch["conditions"] = conditions
    if isinstance(wanted, GatewayClassStatus):
        if (owner.supported_features or ()) != wanted.supported_features:
            patch["supportedFeatures"] = wanted.supported_features
        return patch or None
    listeners, differs = _merged_listeners(owner.listeners, wanted.listeners, now)
    if differs:
        patch["listeners"] = listeners
    if isinstance(wanted, GatewayStatus):
        addresses = wanted.addresses[:_ADDRESSES_MOST]
        if set(owner.addresses or ()) != set(addresses):
            patch["addresses"] = addresses
        # A zero is told as well, but by itself no reason to write: older definitions do not store it.
        if patch or owner.attached_listener_sets != wanted.attached_listener_sets:
            patch["attachedListenerSets"] = wanted.attached_listener_sets
    return patch or None


def _merged_listeners(
    present: Sequence[_WrittenListener] | None, wanted: Sequence[ListenerStanding], now: str
) -> tuple[list[dict[str, object]], bool]:
    known = {each.name: each for each in present or ()}
    found = []
    differs = [*known] != [each.name for each in wanted]
    for each in wanted:
        before = known.get(each.name, _WrittenListener())
        conditions, moved = _merged(before.conditions, each.conditions, now)
        differs |= moved or before.attached_routes != each.attached_routes
        differs |= (before.supported_kinds or ()) != each.supported_kinds
        found.append(
            {
                "name": each.name,
                "supportedKinds": each.supported_kinds,
                "attachedRoutes": each.attached_routes,
                "conditions": conditions,
            }
        )
    return found, differs


def _due_entries(
    field: str,
    present: Sequence[msgspec.Raw] | None,
    wanted: Iterable[ParentStanding | AncestorStanding],
    *,
    namespace: str,
    controller: str,
    now: str,
    generation: int,
) -> Patch | None:
    left = {_key(_name(each), namespace): each for each in wanted}
    judged = max((each.observed_generation for entry in left.values() for each in entry.conditions), default=0)
    kept: list[object] = []
    differs = False
    for raw in present or ():
        entry = _entry(raw)
        if entry.controller_name != controller:
            kept.append(raw)
            continue
        if judged < _newest(entry.conditions) <= generation:
            return None
        reference = entry.parent_ref if field == "parents" else entry.ancestor_ref
        own = left.pop(_key(reference, namespace), None)
        if own is None:
            differs = True
            continue
        conditions, moved = _merged(entry.conditions, own.conditions, now)
        kept.append(_entry_document(own, conditions) if moved else raw)
        differs |= moved
    new = [_entry_document(each, _merged((), each.conditions, now)[0]) for each in left.values()]
    new = new[: max(0, _ENTRIES_MOST[field] - len(kept))]
    return {field: [*kept, *new]} if differs or new else None


def _merged(
    present: Sequence[msgspec.Raw] | None, wanted: Sequence[StatusCondition], now: str
) -> tuple[list[msgspec.Raw], bool]:
    """Conditions with ours in their places, and whether they differ from those that are there."""
    left = {each.type: _bounded(each) for each in wanted}
    found: list[msgspec.Raw] = []
    differs = False
    for raw in present or ():
        known = _condition(raw)
        own = left.pop(known.type, None)
        if own is None and known.type in OWN_TYPES:
            differs = True
        elif own is None or _says(known) == _says(own):
            found.append(raw)
        else:
            at = known.last_transition_time if known.status == own.status else ""
            found.append(_written(own, at or now))
            differs = True
    found += [_written(each, now) for each in left.values()]
    return found, differs or bool(left)


def _bounded(item: StatusCondition) -> StatusCondition:
    """The condition with a message that the API stores: one over many long names and values is cut."""
    if len(item.message) <= _MESSAGE_MOST:
        return item
    return msgspec.structs.replace(item, message=f"{item.message[: _MESSAGE_MOST - 1]}…")


def _says(item: _WrittenCondition | StatusCondition) -> tuple[object, ...]:
    """What of a condition counts. Who puts the words of a message in another order says the same."""
    return item.status, item.reason, item.observed_generation, sorted(item.message.split())


def _written(item: StatusCondition, at: str) -> msgspec.Raw:
    whole = _WrittenCondition(item.type, item.status, item.reason, item.message, item.observed_generation, at)
    return msgspec.Raw(msgspec.json.encode(whole))


def _entry_document(item: ParentStanding | AncestorStanding, conditions: list[msgspec.Raw]) -> Patch:
    name = "parentRef" if isinstance(item, ParentStanding) else "ancestorRef"
    return {name: _name(item), "controllerName": item.controller_name, "conditions": conditions}


def _name(item: ParentStanding | AncestorStanding) -> ParentName:
    return item.parent_ref if isinstance(item, ParentStanding) else item.ancestor_ref


def _key(item: ParentName | _WrittenReference, namespace: str) -> tuple[object, ...]:
    return item.group, item.kind, item.namespace or namespace, item.name, item.section_name, item.port


def _newest(conditions: Iterable[msgspec.Raw] | None) -> int:
    known = map(_condition, conditions or ())
    return max((each.observed_generation for each in known if each.type in OWN_TYPES), default=0)


def _all_conditions(status: Status) -> Iterable[StatusCondition]:
    if isinstance(status, RouteStatus):
        return (each for entry in status.parents for each in entry.conditions)
    if isinstance(status, PolicyStatus):
        return (each for entry in status.ancestors for each in entry.conditions)
    listeners = () if isinstance(status, GatewayClassStatus) else status.listeners
    return (*status.conditions, *(each for listener in listeners for each in listener.conditions))


_Read = TypeVar("_Read", _OwnerStatus, _EntryLists)

_STATUS_ENTRY: Final = msgspec.json.Decoder(_StatusEntry)
_CONDITION: Final = msgspec.json.Decoder(_WrittenCondition)


def _read(current: msgspec.Raw, kind: type[_Read]) -> _Read:
    """The status of an object; an empty one if it has none. The API server has checked its shape."""
    return msgspec.json.decode(current, type=kind) if bytes(current) not in (b"", b"null") else kind()


def _entry(raw: msgspec.Raw) -> _StatusEntry:
    return _STATUS_ENTRY.decode(raw)


def _condition(raw: msgspec.Raw) -> _WrittenCondition:
    return _CONDITION.decode(raw)
