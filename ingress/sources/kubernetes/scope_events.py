"""Defines what a reflector reports about its scope.

Contains only the event types. Does not know who listens, nor how the reflector learns of events.
"""

from __future__ import annotations

from enum import Enum

import msgspec

from ingress.objects.kinds import KubernetesObject
from ingress.sources.kubernetes.decoding import Unreadable
from ingress.sources.kubernetes.resources import Scope


class Condition(Enum):
    """The condition of a scope. In every condition its last content stays valid."""

    SYNCED = "Synced"
    """The scope is followed."""
    FORBIDDEN = "Forbidden"
    """403: RBAC does not permit the request."""
    MISSING = "Missing"
    """404: the API server does not know the kind."""
    UNREACHABLE = "Unreachable"
    """No answer, 429, or a temporary error."""
    DOUBTED = "Doubted"
    """An empty list after a full one, which counts only when a second one confirms it."""
    REJECTED = "Rejected"
    """401, another 4xx or an unreadable answer: the problem will not pass on its own."""


class ScopeReplaced(msgspec.Struct, frozen=True):
    """A list of the scope: `objects` are all that exist, except for those that the other fields name.

    `passed_by` are namespaces and names of objects that were not wanted when they arrived.
    """

    scope: Scope
    objects: tuple[KubernetesObject, ...]
    unreadable: tuple[Unreadable, ...]
    version: str
    passed_by: tuple[tuple[str, str], ...] = ()


class ScopeUpserted(msgspec.Struct, frozen=True):
    """An object is new or has changed, or was deleted and created again with another uid."""

    scope: Scope
    object: KubernetesObject


class ScopeRemoved(msgspec.Struct, frozen=True):
    """An object is gone, readable or not."""

    scope: Scope
    namespace: str
    name: str


class ScopeUnreadable(msgspec.Struct, frozen=True):
    """A new or changed object cannot be read. Its names are empty if the line names no object."""

    scope: Scope
    unreadable: Unreadable


class ScopeState(msgspec.Struct, frozen=True):
    """The condition of the scope, reported only when it changes. `problem` is one line, empty when synced."""

    scope: Scope
    condition: Condition
    problem: str = ""


ScopeEvent = ScopeReplaced | ScopeUpserted | ScopeRemoved | ScopeUnreadable | ScopeState
