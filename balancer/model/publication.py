"""Defines the routing model as one value, and its publication.

Collections are tuples that their producer sorts, so equal content is an equal value. The `generation` is in
`Publication`, never in the model.
"""

from __future__ import annotations

from itertools import compress
from operator import is_not
from typing import TypeVar

import msgspec

from balancer.model.certificates import Authority, Certificate, ClientCertificate
from balancer.model.endpoints import Backend
from balancer.model.entry_points import HTTP, HTTPS, EntryPoint
from balancer.model.hooks import HookCode
from balancer.model.logins import Logins
from balancer.model.relays import RelayRoute
from balancer.model.route_configurations import INGRESS_LISTENER, OF_INGRESSES, Listener, RouteConfiguration
from balancer.model.routes import INGRESS, Host, Route
from balancer.model.settings import ProxySettings
from balancer.model.zones import OwnZone, ZoneFacts

_Part = TypeVar("_Part")


class Collections(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """The collections of a model. Hosts and relays are sorted by listener and name, all others by key."""

    entry_points: tuple[EntryPoint, ...] = ()
    route_configurations: tuple[RouteConfiguration, ...] = ()
    listeners: tuple[Listener, ...] = ()
    hosts: tuple[Host, ...] = ()
    relays: tuple[RelayRoute, ...] = ()
    backends: tuple[Backend, ...] = ()
    certificates: tuple[Certificate, ...] = ()
    authorities: tuple[Authority, ...] = ()
    client_certificates: tuple[ClientCertificate, ...] = ()
    logins: tuple[Logins, ...] = ()
    hooks: tuple[HookCode, ...] = ()


class RoutingModel(Collections, frozen=True):
    """Everything the data plane serves, whole. An empty one has the entry points of Ingresses, with nothing behind."""

    entry_points: tuple[EntryPoint, ...] = (HTTP, HTTPS)
    route_configurations: tuple[RouteConfiguration, ...] = (OF_INGRESSES,)
    listeners: tuple[Listener, ...] = (INGRESS_LISTENER,)
    own_zone: OwnZone = OwnZone()
    zones: ZoneFacts = ZoneFacts()
    proxy: ProxySettings = ProxySettings()

    def configuration(self, key: str = INGRESS) -> RouteConfiguration:
        """The route configuration with a key. One that the model does not have has no routes."""
        found = (each for each in self.route_configurations if each.key == key)
        return next(found, RouteConfiguration(key))

    def default_routes(self) -> tuple[Route, ...]:
        """The default routes of all route configurations."""
        return tuple(each.default_route for each in self.route_configurations if each.default_route is not None)


class Publication(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """A model with its generation, a number that grows by one."""

    generation: int
    model: RoutingModel


def other_objects(
    before: tuple[_Part, ...], after: tuple[_Part, ...]
) -> tuple[tuple[_Part, ...], tuple[_Part, ...]] | None:
    """The parts that differ by identity, position by position: those of `before`, and those of `after`.

    None if the numbers of parts differ. A producer keeps unchanged objects, so among thousands of hosts or backends few
    are other objects. These may still be equal.
    """
    if len(before) != len(after):
        return None
    differs = list(map(is_not, before, after))
    return tuple(compress(before, differs)), tuple(compress(after, differs))
