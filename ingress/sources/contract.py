"""What a source is to the controller: events out, and what is wanted of it in.

Interfaces only; the folder and the API server both keep this contract.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Protocol

import msgspec

from ingress.sources.events import Event


class CannotFollow(Exception):
    """There is nothing to read from, and waiting will not help; the text is one line that says what to change."""


class Wanted(msgspec.Struct, frozen=True):
    """What a source has to know beyond the kinds that it always follows.

    `secrets` are those that accepted Ingresses refer to, by namespace and name; `names` are what Services of
    type ExternalName stand for. `every_node` says that whole Nodes are
    needed, as they change (ConfigMap `node-watch`).
    """

    secrets: frozenset[tuple[str, str]] = frozenset()
    names: frozenset[str] = frozenset()
    every_node: bool = False


class Source(Protocol):
    """Where the cluster is read."""

    def events(self) -> AsyncGenerator[Event, None]:
        """Events for ever. Raises before the first one when there is nothing to read from."""

    def want(self, wanted: Wanted) -> bool:
        """Take note of what is wanted now; whether all of it has been delivered, as far as it can be."""
