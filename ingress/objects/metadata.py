"""Defines what all objects of the API have: a kind, metadata, and how their fields are named on the wire.

Does not know what any kind holds.
"""

from __future__ import annotations

from enum import Enum
from typing import Annotated

import msgspec


class Kind(Enum):
    """The kinds that zonal reads. The value is Kubernetes' name of the kind."""

    # That of Enum is a call of Python for each look-up in a dictionary by kind.
    __hash__ = object.__hash__

    INGRESS = "Ingress"
    INGRESS_CLASS = "IngressClass"
    SERVICE = "Service"
    ENDPOINT_SLICE = "EndpointSlice"
    NODE = "Node"
    SECRET = "Secret"
    CONFIG_MAP = "ConfigMap"
    NAMESPACE = "Namespace"
    GATEWAY_CLASS = "GatewayClass"
    GATEWAY = "Gateway"
    LISTENER_SET = "ListenerSet"
    HTTP_ROUTE = "HTTPRoute"
    GRPC_ROUTE = "GRPCRoute"
    TLS_ROUTE = "TLSRoute"
    TCP_ROUTE = "TCPRoute"
    UDP_ROUTE = "UDPRoute"
    REFERENCE_GRANT = "ReferenceGrant"
    BACKEND_TLS_POLICY = "BackendTLSPolicy"
    ZONE_POLICY = "ZonePolicy"


CLUSTER_WIDE = frozenset({Kind.INGRESS_CLASS, Kind.NODE, Kind.NAMESPACE, Kind.GATEWAY_CLASS})
"""Kinds without a namespace."""

Int32 = Annotated[int, msgspec.Meta(ge=-(2**31), le=2**31 - 1)]
"""The API's int32. Without a bound a number may be too long to be written as text."""


class Wire(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """Fields are named in snake case here and in camel case on the wire."""


class Metadata(Wire, frozen=True):
    """ObjectMeta. `sequence` is the place of the object in a manifest folder; 0 if the cluster dates objects.

    `generation` counts changes of the spec. Statuses say which generation they judge. `finalizers` keep an object that
    is being deleted.
    """

    name: str
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    creation_timestamp: str = ""
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    sequence: int = 0
    deletion_timestamp: str | None = None
    finalizers: tuple[str, ...] = ()
    generation: Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)] = 0


NO_STATUS = msgspec.Raw()
"""The status of an object that has none."""


class ApiObject(Wire, frozen=True):
    """An object of the API. Its class says the `kind`."""

    metadata: Metadata


class Reported(ApiObject, frozen=True):
    """An object whose status zonal writes. `status` is JSON as it came, because others write into it, too."""

    status: msgspec.Raw = NO_STATUS

    def __post_init__(self) -> None:
        """Lets go of the text of the whole list, of which a decoded status is a part."""
        msgspec.structs.force_setattr(self, "status", self.status.copy())
