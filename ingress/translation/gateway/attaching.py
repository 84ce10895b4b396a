"""Which listeners a route is attached to by one of its parentRefs, and why by none.

A pure function of a route and listeners. The reason is that of the listeners that came nearest.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

from ingress.objects.gateway_references import ParentReference
from ingress.objects.gateway_routes import GatewayRoute, TcpRoute, UdpRoute
from ingress.translation.gateway.hostnames import shared_names
from ingress.translation.gateway.listeners import ReadListener
from ingress.translation.gateway.namespaces import NamespaceLabels
from ingress.translation.gateway.standings import Problem

NAMES_MOST: Final = 8192
"""The most hostnames that one route may have on all listeners together: a TLSRoute may say 4,096."""

TOO_MANY_NAMES: Final = Problem(
    "UnsupportedValue",
    f"The route has more than {NAMES_MOST} hostnames on its listeners: name fewer, or fewer listeners.",
)


class Attachment(msgspec.Struct, frozen=True):
    """A listener that takes a route, and the names that the two have in common; the empty one is every name."""

    listener: ReadListener
    hostnames: tuple[str, ...]


def attach(
    route: GatewayRoute, reference: ParentReference, listeners: Iterable[ReadListener], labels: NamespaceLabels
) -> tuple[Attachment, ...] | Problem:
    """The attachments of `route` to `listeners`, those of the object that `reference` names; or why there is none."""
    named = [each for each in listeners if _is_named(each, reference)]
    if not named:
        message = f"The parent has no listener {_asked(reference)} that counts: see its status, or name another one."
        return Problem("NoMatchingParent", message)
    allowed = [each for each in named if _allows(each, route, labels)]
    if not allowed:
        message = (
            f"No listener of the parent takes a {route.kind.value} of the namespace {route.metadata.namespace}:"
            " change allowedRoutes there, or name another listener."
        )
        return Problem("NotAllowedByListeners", message)
    hostnames = hostnames_of(route)
    found: list[Attachment] = []
    for each in allowed:
        found.append(Attachment(each, shared_names(each.spec.hostname, hostnames)))
        if sum(len(one.hostnames) for one in found) > NAMES_MOST:
            return TOO_MANY_NAMES
    attached = tuple(each for each in found if each.hostnames)
    if not attached:
        message = f"No hostname of the route is one of {', '.join(each.spec.hostname for each in allowed)}: change one."
        return Problem("NoMatchingListenerHostname", message)
    return attached


def hostnames_of(route: GatewayRoute) -> tuple[str, ...]:
    """The hostnames that a route says; a TCPRoute or UDPRoute says none."""
    return () if isinstance(route, (TcpRoute, UdpRoute)) else route.spec.hostnames


def _is_named(listener: ReadListener, reference: ParentReference) -> bool:
    names = not reference.section_name or reference.section_name == listener.spec.name
    return names and reference.port in {0, listener.spec.port}


def _allows(listener: ReadListener, route: GatewayRoute, labels: NamespaceLabels) -> bool:
    allowed = listener.spec.allowed_routes.namespaces
    return route.kind.value in listener.kinds and labels.takes(
        allowed.source, allowed.selector, own=listener.owner.namespace, namespace=route.metadata.namespace
    )


def _asked(reference: ParentReference) -> str:
    name = f"with the name {reference.section_name}" if reference.section_name else ""
    port = f"on port {reference.port}" if reference.port else ""
    return " and ".join(filter(None, (name, port))) or "at all"
