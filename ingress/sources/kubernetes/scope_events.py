"""What a reflector says about its scope.

Responsible for the vocabulary only. It must not know who listens, nor how the reflector finds out.
"""

from __future__ import annotations

from enum import Enum

import msgspec

from ingress.objects import KubernetesObject
from ingress.sources.kubernetes.decoding import Unreadable
from ingress.sources.kubernetes.resources import Scope


class Condition(Enum):
    """How a scope stands with the API server; in every one of them the last content stays good."""

    SYNCED = "Synced"
    """It is followed."""
    FORBIDDEN = "Forbidden"
    """403: RBAC does not let us."""
    MISSING = "Missing"
    """404: the API server does not know the kind."""
    UNREACHABLE = "Unreachable"
    """No answer, 429, or an error that passes."""
    DOUBTED = "Doubted"
    """An empty list after a full one, which is not believed before a second one confirms it."""
    REJECTED = "Rejected"
    """401, another 4xx or an answer that cannot be read: it will not pass by itself."""


class ScopeReplaced(msgspec.Struct, frozen=True):
    """These are all objects of the scope; any other known one is gone, but those of the other fields exist.

    `passed_by` are namespaces and names of what was not wanted when it came.
    """

    scope: Scope
    objects: tuple[KubernetesObject, ...]
    unreadable: tuple[Unreadable, ...]
    version: str
    passed_by: tuple[tuple[str, str], ...] = ()


class ScopeUpserted(msgspec.Struct, frozen=True):
    """This object is new or has changed, or was deleted and made again with another uid."""

    scope: Scope
    object: KubernetesObject


class ScopeRemoved(msgspec.Struct, frozen=True):
    """This object is gone, readable or not."""

    scope: Scope
    namespace: str
    name: str


class ScopeUnreadable(msgspec.Struct, frozen=True):
    """This object is new or has changed, and cannot be read; a line that names no object has empty names."""

    scope: Scope
    unreadable: Unreadable


class ScopeState(msgspec.Struct, frozen=True):
    """How the scope stands now, said on a change only; `problem` is one line, empty when synced."""

    scope: Scope
    condition: Condition
    problem: str = ""


ScopeEvent = ScopeReplaced | ScopeUpserted | ScopeRemoved | ScopeUnreadable | ScopeState
