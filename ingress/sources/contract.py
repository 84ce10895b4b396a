"""Defines what a source is to the controller: it yields events, and is told which objects are wanted.

Interfaces only. The folder and the API server both implement this contract.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Protocol

import msgspec

from ingress.sources.events import Event


class CannotFollow(Exception):
    """There is nothing to read from, and waiting will not help. The text is one line that says what to change."""


class Wanted(msgspec.Struct, frozen=True):
    """What a source has to know beyond the kinds that it always follows.

    `secrets` are those that accepted Ingresses refer to, by namespace and name. `names` are the DNS names of
    ExternalName Services, by namespace. `every_node` asks for whole Nodes and all of their changes (ConfigMap
    `node-watch`). `config_maps` are those that the ConfigMap of zonal refers to, by namespace and name.
    """

    secrets: frozenset[tuple[str, str]] = frozenset()
    names: frozenset[tuple[str, str]] = frozenset()
    every_node: bool = False
    config_maps: frozenset[tuple[str, str]] = frozenset()


class Source(Protocol):
    """Reads the cluster."""

    def events(self) -> AsyncGenerator[Event, None]:
        """Yields events without end. Raises before the first event if there is nothing to read from."""

    def want(self, wanted: Wanted) -> bool:
        """Takes what is wanted now. Returns whether `events` has yielded all that can be known about it.

        An event that the source holds and has not yet yielded does not count. While the answer is False, at least one
        more event follows, or the answer becomes True with time.
        """
