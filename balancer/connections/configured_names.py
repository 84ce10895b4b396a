"""The TLS handshakes of each route configuration that has an entry point for HTTPS or TLS."""

from __future__ import annotations

from collections.abc import Callable

from balancer.connections.tls import ServerNames, context_rooms
from balancer.model.certificates import Certificate
from balancer.model.entry_points import EntryPoint
from balancer.model.publication import RoutingModel
from balancer.model.routes import INGRESS


class ConfiguredNames:
    """Knows which names count at an entry point. Handshakes of two route configurations share nothing."""

    __slots__ = ("_by_configuration", "_fallback", "_of_relays", "_on_dear", "_rooms")

    def __init__(self, fallback: Certificate, on_dear: Callable[[str], None]) -> None:
        """`fallback` and `on_dear` are those of every `ServerNames`."""
        self._fallback = fallback
        self._on_dear = on_dear
        self._rooms = context_rooms()
        self._by_configuration = {INGRESS: self._made(INGRESS)}
        self._of_relays: dict[str, ServerNames] = {}

    def update(self, model: RoutingModel) -> None:
        """Serves the certificates and TLS settings of `model` from the next handshake on."""
        before = self._by_configuration
        wanted = {each.configuration for each in model.entry_points if each.reads_hello}
        self._by_configuration = {key: before.get(key) or self._made(key) for key in sorted(wanted)}
        relaying = {each.configuration for each in model.relays if each.ends_tls}
        relays = self._of_relays
        self._of_relays = {key: relays.get(key) or self._made(key, raw=True) for key in sorted(relaying & wanted)}
        for names in (*before.values(), *relays.values()):
            if names not in (*self._by_configuration.values(), *self._of_relays.values()):
                names.forget()
        for names in (*self._by_configuration.values(), *self._of_relays.values()):
            names.update(model)

    def at(self, entry_point: EntryPoint) -> ServerNames:
        """The names that count at an entry point of the last model for HTTPS."""
        return self._by_configuration[entry_point.configuration]

    def of_relays(self, entry_point: EntryPoint) -> ServerNames:
        """The names of relays that end TLS. Their handshakes choose no protocol."""
        return self._of_relays[entry_point.configuration]

    def _made(self, configuration: str, *, raw: bool = False) -> ServerNames:
        return ServerNames(self._fallback, self._on_dear, configuration, raw=raw, rooms=self._rooms)
