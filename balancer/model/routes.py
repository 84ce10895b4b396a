"""Hosts in the model: their routes, and the canaries of a route."""

from __future__ import annotations

from enum import Enum
from typing import Annotated, Final

import msgspec

from balancer.model.client_tls import ClientDemand
from balancer.model.edits import ResponseRule
from balancer.model.endpoints import BackendKey
from balancer.model.gates import GateRule
from balancer.model.mirroring import Mirroring
from balancer.model.policies import Affinity, RoutePolicy
from balancer.model.redirects import HttpsRedirect
from balancer.model.rewriting import Rewriting
from balancer.model.secrecy import SECRET
from balancer.model.stand_ins import StandIns
from balancer.model.zones import ZonePolicy

INGRESS: Final = "ingress"
"""The key of the route configuration of Ingresses, and that of its one listener."""

SEARCHED_BYTES_WIDE: Final = 256
"""A longer path is not searched for an expression that may cost much for each byte."""


class PathKind(Enum):
    """How a route's path is compared (networking.k8s.io/v1 PathType; ImplementationSpecific is PREFIX).

    If one path of a host is a regular expression, all are (ingress-nginx: `use-regex`, `rewrite-target`).
    """

    EXACT = "Exact"
    PREFIX = "Prefix"
    REGEX = "Regex"


class PathParameters(Enum):
    """What a `;` in a path means for matching; it begins parameters of a segment to servlet containers.

    `REFUSE`: the path matches as it stands, unless its endpoint could find what another path protects: 400 then.
    `STRIP`: segments match without their parameters. `PASS`: the `;` is a part of the segment, whatever that opens.
    """

    REFUSE = "refuse"
    STRIP = "strip-for-matching"
    PASS = "pass"


class Owner(msgspec.Struct, frozen=True):
    """The object that a route comes from. `name` is empty for the default route, which is the operator's.

    The Services that a route names are in the namespace of the owner.
    """

    kind: str
    namespace: str
    name: str

    @property
    def full_name(self) -> str:
        """Namespace and name, with a slash between them."""
        return f"{self.namespace}/{self.name}"


class Canary(msgspec.Struct, frozen=True):
    """Another backend for some requests of a route, with the rules that choose it. An empty text is no rule.

    `header_pattern` counts without a `header_value`. Of `weight_total` requests that no rule decides, the canary gets
    `weight`. `follows_affinity`: the route's own affinity keeps a client at the canary that served it; otherwise the
    rules decide each time, and `affinity` is the canary's. The values that lead to a canary are marked as secrets,
    because they may be what hides it from the public.
    """

    backend: BackendKey
    owner: Owner
    service: str
    header: str = ""
    header_value: Annotated[str, SECRET] = ""
    header_pattern: Annotated[str, SECRET] = ""
    cookie: str = ""
    weight: int = 0
    weight_total: int = 100
    follows_affinity: bool = True
    affinity: Affinity | None = None
    hash_by: str = ""
    hash_subset: int = 1
    zone_policy: ZonePolicy | None = None


class Route(msgspec.Struct, frozen=True):
    """One path of a host and where it leads. `backend` None: the reference is broken, the path answers 503.

    `service` names a Service in the namespace of `owner`. Metrics and logs show it even where the backend is missing.
    `zone_policy` None: the backend's own policy holds. `canaries` come in the order in which they are asked. `hash_by`
    is text with variables, whose value chooses the endpoint where there is no `affinity`; `hash_subset`: it chooses so
    many, one of which serves.

    `expression` is what a path of the kind `REGEX` is searched for, ignoring case, in RE2's syntax; `path` is what the
    author wrote. Paths of more than `SEARCHED_BYTES_WIDE` bytes are searched for `long_expression` instead, if there is
    one, and a request whose path matches that is refused. `rewriting` None: endpoints get the target that the client
    sent. `mirroring` None: nobody gets copies.

    `closed`: every request answers 503 on purpose, because zonal does not support something that protects the path or
    decides who answers. `gates` are asked in their order, before anything else. `response_rules` edit every response,
    also those of the proxy itself. `stand_ins` None: nothing stands in for the backend.
    """

    path: str
    kind: PathKind
    backend: BackendKey | None
    owner: Owner
    service: str
    policy: RoutePolicy = RoutePolicy()
    zone_policy: ZonePolicy | None = None
    canaries: tuple[Canary, ...] = ()
    affinity: Affinity | None = None
    hash_by: str = ""
    hash_subset: int = 1
    expression: str = ""
    long_expression: str = ""
    rewriting: Rewriting | None = None
    mirroring: Mirroring | None = None
    closed: bool = False
    gates: tuple[GateRule, ...] = ()
    response_rules: tuple[ResponseRule, ...] = ()
    stand_ins: StandIns | None = None

    @property
    def redirects_to_https(self) -> bool:
        """Whether requests over plain HTTP are redirected."""
        return any(isinstance(rule, HttpsRedirect) for rule in self.gates)


class Host(msgspec.Struct, frozen=True):
    """A host name with its routes. `name`: exact name, `*.` and a suffix for leading labels, or empty for all hosts.

    `listener` is the key of the listener that has the host, and `configuration` that of its route configuration. No two
    hosts of a listener have the same name.

    Expressions are tried in the order of `routes`; routes of other kinds have none. `default` answers the paths that no
    route matches. `certificate` is the key of a `Certificate` in the model. `ciphers` is the OpenSSL list of handshakes
    for this name; empty: that of the settings. `client_demand` is what such handshakes ask clients for, None: nothing.
    `path_parameters` says how paths with a `;` match.
    """

    name: str
    routes: tuple[Route, ...] = ()
    default: Route | None = None
    certificate: str | None = None
    ciphers: str = ""
    client_demand: ClientDemand | None = None
    path_parameters: PathParameters = PathParameters.REFUSE
    configuration: str = INGRESS
    listener: str = INGRESS
