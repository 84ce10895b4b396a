"""Decides what a TLS handshake for a server name gets: certificate, ciphers, and what clients are asked for.

Does not know handshakes. Names are compared as those of hosts are, by the rules of a route configuration.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from balancer.matching.certificates import dns_names
from balancer.matching.host_names import ListenerNames, covering, server_name_of
from balancer.model.certificates import Certificate
from balancer.model.client_tls import ClientDemand
from balancer.model.publication import RoutingModel
from balancer.model.route_configurations import Listener
from balancer.model.routes import Host

_NAMES_REMEMBERED: Final = 1024  # clients ask for few names, and may send any


class Named(msgspec.Struct, frozen=True):
    """What a handshake for a name gets.

    `host` is the name of the host or listener that covers the name, empty if none does or only one for all hosts.
    `certificate` None: the model has none. `ciphers` and `oldest`, a version, empty: those of the settings.
    """

    host: str = ""
    certificate: Certificate | None = None
    ciphers: str = ""
    demand: ClientDemand | None = None
    oldest: str = ""


class _Scope:
    """The hosts of one listener, by what they have."""

    __slots__ = ("certificates", "ciphers", "demands", "names", "own")

    def __init__(self, own: tuple[Certificate, ...], hosts: list[Host], known: Mapping[str, Certificate]) -> None:
        """`own` are the certificates of the listener, and `known` those of the model by key."""
        self.own = own
        self.names = frozenset(host.name for host in hosts if host.name)
        certified = ((host.name, known.get(host.certificate or "")) for host in hosts if host.name)
        self.certificates = {name: certificate for name, certificate in certified if certificate is not None}
        self.ciphers = {host.name: host.ciphers for host in hosts if host.ciphers and host.name}
        self.demands = {host.name: host.client_demand for host in hosts if host.client_demand is not None}


class ServerNameTable:
    """The names of one route configuration of a model. `demands` are all things that handshakes ask clients for, each
    with the list of ciphers that is in force for it. `has_fallback` as in `RouteConfiguration`.
    """

    __slots__ = ("_default", "_found", "_listeners", "_scopes", "_wildcards", "demands", "has_fallback")

    def __init__(self, model: RoutingModel, configuration: str) -> None:
        """`configuration` is the key of the route configuration."""
        known = {certificate.key: certificate for certificate in model.certificates}
        settings = model.configuration(configuration)
        self.has_fallback = settings.has_fallback
        self._wildcards = settings.wildcards
        self._default = known.get(settings.default_certificate or "")
        listeners = [each for each in model.listeners if each.configuration == configuration]
        self._listeners = ListenerNames(listeners, settings.wildcards)
        hosts: dict[str, list[Host]] = {each.key: [] for each in listeners}
        for host in model.hosts:
            if host.listener in hosts:
                hosts[host.listener].append(host)
        self._scopes = {each.key: _Scope(_known(known, each), hosts[each.key], known) for each in listeners}
        self._found: dict[str, Named] = {}
        self.demands = self._demanded()

    def _demanded(self) -> dict[ClientDemand, str]:
        found = {each.client_demand: "" for each in self._listeners.by_hostname.values() if each.client_demand}
        for scope in self._scopes.values():
            found.update({each: scope.ciphers.get(name, "") for name, each in scope.demands.items()})
        return found

    @property
    def shown(self) -> object:
        """A value that differs if some handshake may get another certificate, other ciphers or other versions."""
        scopes = {key: (each.own, each.certificates, each.ciphers) for key, each in self._scopes.items()}
        oldest = {hostname: each.oldest_tls for hostname, each in self._listeners.by_hostname.items()}
        return self._default, oldest, scopes

    @property
    def is_divided(self) -> bool:
        """Whether a name decides which listener serves the requests of a connection."""
        return self._listeners.is_divided

    @property
    def certificates(self) -> set[Certificate]:
        """Every certificate that a handshake may get."""
        found = set() if self._default is None else {self._default}
        return found.union(*((*scope.own, *scope.certificates.values()) for scope in self._scopes.values()))

    @property
    def ciphers(self) -> set[str]:
        """Every list of ciphers of a host."""
        return {each for scope in self._scopes.values() for each in scope.ciphers.values()}

    @property
    def oldest(self) -> set[str]:
        """The oldest TLS versions that listeners demand."""
        return {each.oldest_tls for each in self._listeners.by_hostname.values() if each.oldest_tls}

    def find(self, server_name: str | None) -> Named:
        """What a handshake for a name as the client sent it gets. None: it sent none."""
        name = server_name_of(server_name or "")
        found = self._found.get(name)
        if found is None:
            found = self._look_up(name)
            if len(self._found) < _NAMES_REMEMBERED:
                self._found[name] = found
        return found

    def _look_up(self, name: str) -> Named:
        listener = self._listeners.listener_of(name)
        if listener is None:
            return Named(certificate=self._default)
        scope, wildcards = self._scopes[listener.key], self._wildcards
        host = next(covering(name, scope.names, wildcards), "")
        certified = next(covering(name, scope.certificates, wildcards), None)
        certificate = _fitting(scope.own, name) if certified is None else scope.certificates[certified]
        return Named(
            host=host or listener.hostname,
            certificate=certificate or self._default,
            ciphers=scope.ciphers.get(host, ""),
            demand=scope.demands.get(host, listener.client_demand),
            oldest=listener.oldest_tls,
        )


def _known(certificates: Mapping[str, Certificate], listener: Listener) -> tuple[Certificate, ...]:
    found = (certificates.get(key) for key in listener.certificates)
    return tuple(each for each in found if each is not None)


def _fitting(certificates: tuple[Certificate, ...], name: str) -> Certificate | None:
    """The first certificate with the name itself, else with its wildcard, or else the first one."""
    if len(certificates) < 2:
        return certificates[0] if certificates else None
    wanted = (name, f"*.{name.partition('.')[2]}")
    return next((each for part in wanted for each in certificates if part in dns_names(each)), certificates[0])
