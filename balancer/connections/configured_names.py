"""The TLS handshakes of each route configuration that has an entry point for HTTPS."""

from __future__ import annotations

from collections.abc import Callable

from balancer.connections.tls import ServerNames
from balancer.model.certificates import Certificate
from balancer.model.entry_points import EntryPoint
from balancer.model.publication import RoutingModel
from balancer.model.routes import INGRESS


class ConfiguredNames:
    """Knows which names count at an entry point. Handshakes of two route configurations share nothing."""

    __slots__ = ("_by_configuration", "_fallback", "_on_dear")

    def __init__(self, fallback: Certificate, on_dear: Callable[[str], None]) -> None:
        """`fallback` and `on_dear` are those of every `ServerNames`."""
        self._fallback = fallback
        self._on_dear = on_dear
        self._by_configuration = {INGRESS: self._made(INGRESS)}

    def update(self, model: RoutingModel) -> None:
        """Serves the certificates and TLS settings of `model` from the next handshake on."""
        before = self._by_configuration
        wanted = {each.configuration for each in model.entry_points if each.is_secure}
        self._by_configuration = {key: before.get(key) or self._made(key) for key in sorted(wanted)}
        for names in self._by_configuration.values():
            names.update(model)

    def at(self, entry_point: EntryPoint) -> ServerNames:
        """The names that count at an entry point of the last model for HTTPS."""
        return self._by_configuration[entry_point.configuration]

    def _made(self, configuration: str) -> ServerNames:
        return ServerNames(self._fallback, self._on_dear, configuration)
