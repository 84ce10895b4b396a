"""Which listeners cannot stand beside each other on one port.

Inside one Gateway nobody wins: all of the listeners that collide are closed. What comes later gives way: a ListenerSet
to its Gateway and to older sets, and, where Gateways share their addresses, a Gateway to older ones. To the letter of
the API nobody would win there, either, which would let any tenant close everybody's ports.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from ingress.translation.gateway.hostnames import normal
from ingress.translation.gateway.listeners import ReadListener
from ingress.translation.gateway.standings import Problem

# Listeners of one group share a port if their hostnames differ.
_GROUPS = {"HTTP": "HTTP", "HTTPS": "TLS", "TLS": "TLS", "TCP": "TCP"}


class TakenPorts:
    """The places that listeners have on ports so far."""

    __slots__ = ("_groups", "_names")

    def __init__(self) -> None:
        self._groups: dict[int, tuple[str, ReadListener]] = {}
        self._names: dict[tuple[int, str], ReadListener] = {}

    def place(self, listeners: Iterable[ReadListener]) -> list[ReadListener]:
        """The listeners of one object, which gives way to all that was placed before.

        Listeners that are refused for another reason take no place.
        """
        asked = list(listeners)
        standing = [each for each in asked if each.refused is None]
        problems = {each.spec.name: self._problem(each, standing) for each in standing}
        for each in standing:
            self._take(each)
        return [
            msgspec.structs.replace(each, conflict=problem, serves=False)
            if (problem := problems.get(each.spec.name)) is not None
            else each
            for each in asked
        ]

    def _problem(self, item: ReadListener, beside: list[ReadListener]) -> Problem | None:
        port, group, name = item.spec.port, _GROUPS[item.spec.protocol], _name(item)
        taken = self._groups.get(port)
        others = [each for each in beside if each is not item and each.spec.port == port]
        if taken is not None:
            foreign = taken[1] if taken[0] != group else None
        else:
            foreign = next((each for each in others if _GROUPS[each.spec.protocol] != group), None)
        if foreign is not None:
            said = f"has the protocol {foreign.spec.protocol} by {foreign.place_told_to(item)}: use another port."
            return Problem("ProtocolConflict", f"Port {port} {said}")
        same = next((each for each in others if _name(each) == name), self._names.get((port, name)))
        if same is not None:
            message = f"Port {port} has this hostname by {same.place_told_to(item)}: use another port or hostname."
            return Problem("HostnameConflict", message)
        return None

    def _take(self, item: ReadListener) -> None:
        self._groups.setdefault(item.spec.port, (_GROUPS[item.spec.protocol], item))
        self._names.setdefault((item.spec.port, _name(item)), item)


def _name(item: ReadListener) -> str:
    """The name by which a listener is told from others of its port. Connections of TCP ask for none."""
    return "" if item.spec.protocol == "TCP" else normal(item.spec.hostname)
