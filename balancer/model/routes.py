"""Hosts in the model: their routes, and the branches of a route."""

from __future__ import annotations

from enum import Enum
from itertools import chain
from typing import Annotated, Final

import msgspec

from balancer.errors import ErrorKind
from balancer.model.client_tls import ClientDemand
from balancer.model.conditions import ANY, Conditions
from balancer.model.edits import RequestEdit, ResponseRule
from balancer.model.endpoints import BackendKey
from balancer.model.gates import GateRule
from balancer.model.mirroring import BackendMirror, Mirroring
from balancer.model.policies import Affinity, RoutePolicy
from balancer.model.redirects import HttpsRedirect
from balancer.model.rewriting import PathReplacement, Rewriting
from balancer.model.secrecy import SECRET
from balancer.model.stand_ins import StandIns
from balancer.model.zones import ZonePolicy

INGRESS: Final = "ingress"
"""The key of the route configuration of Ingresses, and that of its one listener."""

SEARCHED_BYTES_WIDE: Final = 256
"""A longer path is not searched for an expression that may cost much for each byte."""


class PathKind(Enum):
    """How a route's path is compared (networking.k8s.io/v1 PathType; ImplementationSpecific is PREFIX).

    On a host of Ingresses all paths are expressions if one is (ingress-nginx: `use-regex`, `rewrite-target`). Where
    kinds are mixed, or routes have conditions, exact paths come first, then expressions, then prefixes.
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


class TrailingSlash(Enum):
    """What a slash at the end of a prefix means: `/a/` is another prefix than `/a` (Ingress), or the same one."""

    APART = "apart"
    SAME = "same"


class Owner(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """The object that a route or branch comes from. `name` is empty for the default route, which is the operator's."""

    kind: str
    namespace: str
    name: str

    @property
    def full_name(self) -> str:
        """Namespace and name, with a slash between them."""
        return f"{self.namespace}/{self.name}"


class ServiceName(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """A Service, which may be in another namespace than the route that names it. `name` empty: there is none."""

    namespace: str
    name: str

    @property
    def full_name(self) -> str:
        """Namespace and name, with a slash between them."""
        return f"{self.namespace}/{self.name}"


class Canary(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """The rules that make some requests of a route take a branch before shares count. An empty text is no rule.

    `header_pattern` counts without a `header_value`. Of `weight_total` requests that no rule decides, the branch gets
    `weight`. `follows_affinity`: the affinity of the route's main branch keeps a client at the branch that served it;
    otherwise the rules decide each time, and the branch has an affinity of its own. The values that lead to a canary
    are marked as secrets, because they may be what hides it from the public.
    """

    header: str = ""
    header_value: Annotated[str, SECRET] = ""
    header_pattern: Annotated[str, SECRET] = ""
    cookie: str = ""
    weight: int = 0
    weight_total: int = 100
    follows_affinity: bool = True


class BranchFilters(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """What is done for requests of one branch alone, after what is done for all requests of its route.

    `gates` are asked once the branch is chosen. `host` and `rewriting` count in place of those of the route; None keeps
    those. `mirrors` get copies beside those of the route.
    """

    gates: tuple[GateRule, ...] = ()
    host: str | None = None
    rewriting: PathReplacement | None = None
    mirrors: tuple[BackendMirror, ...] = ()


class Branch(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """One backend of a route, and what is done only for requests that it serves.

    `backend` None: requests of the branch get `error`, and no other branch takes them over. `owner` is the object that
    asks for the branch, `service` what it names; metrics and logs show both even where the backend is missing.

    `weight` is the share among the branches that are no canaries. A branch with `canary` takes requests before shares
    count, and leaves them to the main branch while it has no endpoints. `zone_policy` None: the backend's own policy
    holds. `hash_by` is text with variables, whose value chooses the endpoint where there is no `affinity`;
    `hash_subset`: it chooses so many, one of which serves. `request_edits` and `response_rules` come after those of the
    route. `filters` None: nothing else is done for the requests of the branch alone.
    """

    backend: BackendKey | None
    owner: Owner
    service: ServiceName
    weight: int = 1
    canary: Canary | None = None
    error: ErrorKind = ErrorKind.NO_BACKEND
    affinity: Affinity | None = None
    hash_by: str = ""
    hash_subset: int = 1
    zone_policy: ZonePolicy | None = None
    request_edits: tuple[RequestEdit, ...] = ()
    response_rules: tuple[ResponseRule, ...] = ()
    filters: BranchFilters | None = None


class Route(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """One path of a host and where it leads.

    `conditions` are what a request must show beside its path. If several routes of a host have the same path and kind,
    the first one whose conditions hold serves; if none does, the next shorter prefix is tried.

    `branches` has at least one. The first one is the main branch and no canary. Canaries come last, in the order in
    which they are asked.

    `expression` is what a path of the kind `REGEX` is searched for, ignoring case, in RE2's syntax; `path` is what the
    author wrote. Paths of more than `SEARCHED_BYTES_WIDE` bytes are searched for `long_expression` instead, if there is
    one, and a request whose path matches that is refused. `rewriting` None: endpoints get the target that the client
    sent. `mirroring` None: no URL gets copies. `mirrors` are backends that get some, at most `MIRRORS_MOST`.

    `closed`: every request answers 503 on purpose, because zonal does not support something that protects the path or
    decides who answers. `gates` are asked in their order, before anything else. `response_rules` edit every response,
    also those of the proxy itself. `request_edits` edit what endpoints get, in their order. `stand_ins` None: nothing
    stands in for the backend.
    """

    path: str
    kind: PathKind
    owner: Owner
    branches: tuple[Branch, ...]
    conditions: Conditions = ANY
    policy: RoutePolicy = RoutePolicy()
    expression: str = ""
    long_expression: str = ""
    rewriting: Rewriting | PathReplacement | None = None
    mirroring: Mirroring | None = None
    mirrors: tuple[BackendMirror, ...] = ()
    closed: bool = False
    gates: tuple[GateRule, ...] = ()
    request_edits: tuple[RequestEdit, ...] = ()
    response_rules: tuple[ResponseRule, ...] = ()
    stand_ins: StandIns | None = None

    @property
    def main(self) -> Branch:
        """The first branch."""
        return self.branches[0]

    @property
    def canaries(self) -> tuple[Branch, ...]:
        """The branches that take requests before shares count, in their order."""
        return tuple(branch for branch in self.branches if branch.canary is not None)

    @property
    def all_gates(self) -> tuple[GateRule, ...]:
        """The gates of the route, then those of its branches."""
        own = (branch.filters.gates for branch in self.branches if branch.filters is not None)
        return tuple(chain(self.gates, *own))

    @property
    def redirects_to_https(self) -> bool:
        """Whether requests over plain HTTP are redirected."""
        return any(isinstance(rule, HttpsRedirect) for rule in self.gates)


class Host(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """A host name with its routes. `name`: exact name, `*.` and a suffix for leading labels, or empty for all hosts.

    `listener` is the key of the listener that has the host, and `configuration` that of its route configuration. No two
    hosts of a listener have the same name.

    Expressions are tried in the order of `routes`; routes of other kinds have none. `default` answers the paths that no
    route matches. `certificate` is the key of a `Certificate` in the model. `ciphers` is the OpenSSL list of handshakes
    for this name; empty: that of the settings. `client_demand` is what such handshakes ask clients for, None: nothing.
    `path_parameters` says how paths with a `;` match, `trailing_slash` what a slash at the end of a prefix means.
    """

    name: str
    routes: tuple[Route, ...] = ()
    default: Route | None = None
    certificate: str | None = None
    ciphers: str = ""
    client_demand: ClientDemand | None = None
    path_parameters: PathParameters = PathParameters.REFUSE
    trailing_slash: TrailingSlash = TrailingSlash.APART
    configuration: str = INGRESS
    listener: str = INGRESS
