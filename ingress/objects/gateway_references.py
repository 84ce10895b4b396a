"""Defines how objects of Gateway API refer to other objects.

A field that is absent has the value that the API server would set. Does not know whether the other object exists.
"""

from __future__ import annotations

from typing import Final

from ingress.objects.metadata import Int32, Wire

GATEWAY_GROUP: Final = "gateway.networking.k8s.io"


class ParentReference(Wire, frozen=True):
    """What a route or ListenerSet wants to be attached to. An empty namespace is that of the object itself.

    An empty `section_name` means every listener, and the port 0 every port.
    """

    name: str = ""
    group: str = GATEWAY_GROUP
    kind: str = "Gateway"
    namespace: str = ""
    section_name: str = ""
    port: Int32 = 0


class ObjectReference(Wire, frozen=True):
    """An object by group, kind and name: an authority, a target of a policy, an extension."""

    name: str = ""
    group: str = ""
    kind: str = ""
    namespace: str = ""
    section_name: str = ""


class SecretReference(Wire, frozen=True):
    """A Secret, unless it says another group or kind. An empty namespace is that of the object itself."""

    name: str = ""
    group: str = ""
    kind: str = "Secret"
    namespace: str = ""


class ServiceBackend(Wire, frozen=True):
    """A port of a Service, unless it says another group or kind. The port 0 means absent."""

    name: str = ""
    group: str = ""
    kind: str = "Service"
    namespace: str = ""
    port: Int32 = 0


class WeightedBackend(ServiceBackend, frozen=True):
    """A backend of a TLSRoute or TCPRoute, with its share of the connections."""

    weight: Int32 = 1
