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
from balancer.model.gates import GateRule
from balancer.model.logins import Logins
from balancer.model.routes import Host, Route
from balancer.model.settings import ProxySettings
from balancer.model.zones import OwnZone, ZoneFacts

_Part = TypeVar("_Part")


class RoutingModel(msgspec.Struct, frozen=True):
    """Everything the data plane serves, whole. Hosts are sorted by name, all other collections by key.

    `unmatched_gates` judge the requests that no route serves, which then get 404.
    """

    hosts: tuple[Host, ...] = ()
    backends: tuple[Backend, ...] = ()
    certificates: tuple[Certificate, ...] = ()
    authorities: tuple[Authority, ...] = ()
    client_certificates: tuple[ClientCertificate, ...] = ()
    logins: tuple[Logins, ...] = ()
    own_zone: OwnZone = OwnZone()
    zones: ZoneFacts = ZoneFacts()
    default_route: Route | None = None
    unmatched_gates: tuple[GateRule, ...] = ()
    default_certificate: str | None = None
    proxy: ProxySettings = ProxySettings()


class Publication(msgspec.Struct, frozen=True):
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
