"""Reads the listeners of Gateways and of the ListenerSets attached to them: what each of them may serve, and why not.

Whether two listeners can stand beside each other is for `listener_conflicts`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import msgspec

from ingress.objects.gateway import Gateway, ListenerSet, ListenerSpec, ListenerTlsSpec
from ingress.objects.gateway_references import GATEWAY_GROUP
from ingress.translation.gateway.features import ROUTES_BY_PROTOCOL, ROUTES_WHERE_TLS_ENDS
from ingress.translation.gateway.listener_options import oldest_tls, options_problem
from ingress.translation.gateway.standings import Problem

_WITH_TLS = frozenset(("HTTPS", "TLS"))
_RELAYED = frozenset(("TLS", "TCP"))
_NAMED_TWICE = Problem("UnsupportedValue", "Another listener before this one has its name: give it another one.")


class ListenerOwner(msgspec.Struct, frozen=True, order=True):
    """The Gateway or ListenerSet that a listener belongs to."""

    kind: str
    namespace: str
    name: str


class ReadListener(msgspec.Struct, frozen=True):
    """One listener of a Gateway, its own or that of a ListenerSet. No other listener of the cluster has its `key`.

    `gateway` is the Gateway by namespace and name. `kinds` are the kinds of routes that it takes. `refused` says why
    the listener is not accepted, `conflict` with what it collides (then it is not accepted, either), `unresolved` which
    of its references cannot be followed. `certificates` are those that can be used, `namespace/name`.
    Clients show certificates of the `authorities`, which are ConfigMaps, if there are any; `authorities_digest` stands
    for what these hold. `lets_others_in`: clients without a certificate come in as well. `serves`: it can be served.
    Where each Gateway has ports of its own, `socket` is the bound socket, `configuration` the route configuration, and
    `pending` what the listener waits for. `overlaps` is the place of another listener whose TLS overlaps with its own.
    """

    owner: ListenerOwner
    gateway: tuple[str, str]
    spec: ListenerSpec
    kinds: tuple[str, ...] = ()
    refused: Problem | None = None
    conflict: Problem | None = None
    unresolved: Problem | None = None
    certificates: tuple[str, ...] = ()
    authorities: tuple[tuple[str, str], ...] = ()
    authorities_digest: str = ""
    lets_others_in: bool = False
    serves: bool = True
    socket: str = ""
    configuration: str = ""
    pending: Problem | None = None
    overlaps: str = ""
    key: str = ""

    @property
    def is_open(self) -> bool:
        """Whether nothing is against opening its port, even if no certificate can be shown there."""
        return self.conflict is None and self.refused is None

    @property
    def ends_tls(self) -> bool:
        """Whether handshakes end here and need a certificate."""
        mode = self.spec.tls.mode if self.spec.tls is not None else "Terminate"
        return self.spec.protocol in _WITH_TLS and mode == "Terminate"

    @property
    def oldest_tls(self) -> str:
        """The oldest version of TLS of its handshakes, as in `Listener`; empty: as the operator says."""
        return oldest_tls(self.spec.tls.options) if self.spec.tls is not None and self.ends_tls else ""

    @property
    def relays(self) -> bool:
        """Whether its connections are relayed, and no HTTP is spoken."""
        return self.spec.protocol in _RELAYED

    @property
    def passes_tls(self) -> bool:
        """Whether its connections are TLS that ends at endpoints."""
        return self.spec.protocol == "TLS" and not self.ends_tls

    @property
    def place(self) -> str:
        """The listener in words, as they stand in messages."""
        return f"listener {self.spec.name} of {self.owner.kind} {self.owner.namespace}/{self.owner.name}"

    def place_told_to(self, reader: ReadListener) -> str:
        """The listener in words for whoever reads the status of `reader`: no names of objects in other namespaces."""
        if self.owner.namespace == reader.owner.namespace:
            return self.place
        is_parent = self.owner.kind == "Gateway" and self.gateway == reader.gateway
        return "a listener of its Gateway" if is_parent else "a listener of another namespace"


def read_listener(
    spec: ListenerSpec, owner: ListenerOwner, gateway: tuple[str, str], ports: Collection[int]
) -> ReadListener:
    """One listener by itself. `ports` are those that can be opened. Letter case of a protocol says nothing."""
    if spec.protocol.upper() in ROUTES_BY_PROTOCOL:
        spec = msgspec.structs.replace(spec, protocol=spec.protocol.upper())
    kinds, unknown = _kinds(spec)
    key = f"{owner.kind}/{owner.namespace}/{owner.name}/{spec.name}"
    refused = _refusal(spec, ports)
    return ReadListener(owner, gateway, spec, kinds=kinds, refused=refused, unresolved=unknown, key=key)


def listeners_of(item: Gateway | ListenerSet, gateway: tuple[str, str], ports: Collection[int]) -> list[ReadListener]:
    """The listeners of one object, in its order. Of several with one name the first has it."""
    owner = ListenerOwner(item.kind.value, item.metadata.namespace, item.metadata.name)
    found: dict[str, ReadListener] = {}
    read: list[ReadListener] = []
    for each in item.spec.listeners:
        made = read_listener(each, owner, gateway, ports)
        if found.setdefault(each.name, made) is not made:
            made = msgspec.structs.replace(made, refused=_NAMED_TWICE)
        read.append(made)
    return read


def _refusal(spec: ListenerSpec, ports: Collection[int]) -> Problem | None:
    if spec.protocol not in ROUTES_BY_PROTOCOL:
        known = ", ".join(ROUTES_BY_PROTOCOL)
        return Problem("UnsupportedProtocol", f"The protocol {spec.protocol!r} is not supported: use one of {known}.")
    if spec.port not in ports:
        message = f"The port {spec.port} cannot be opened: name it in --gateway-ports, or use one of {_listed(ports)}."
        return Problem("PortUnavailable", message)
    if (problem := _tls_refusal(spec, spec.tls)) is not None:
        return Problem("UnsupportedValue", problem)
    return None


def _tls_refusal(spec: ListenerSpec, tls: ListenerTlsSpec | None) -> str | None:
    if spec.protocol not in _WITH_TLS:
        return None
    if tls is None:
        return f"The protocol {spec.protocol} needs tls: add it."
    if tls.mode not in {"Terminate", "Passthrough"} or (spec.protocol == "HTTPS" and tls.mode != "Terminate"):
        return f"The mode {tls.mode!r} of tls is not supported for the protocol {spec.protocol}: use another one."
    if tls.options and tls.mode != "Terminate":
        return f"The option {min(tls.options)} of tls means nothing where TLS does not end: remove it."
    return options_problem(tls.options)


def _kinds(spec: ListenerSpec) -> tuple[tuple[str, ...], Problem | None]:
    """The kinds of routes that a listener takes, in the order in which it names them, and the problem if it names
    others.
    """
    ends = spec.protocol == "TLS" and spec.tls is not None and spec.tls.mode == "Terminate"
    possible = [each.value for each in (ROUTES_WHERE_TLS_ENDS if ends else ROUTES_BY_PROTOCOL.get(spec.protocol, ()))]
    named = spec.allowed_routes.kinds
    if not named:
        return tuple(possible), None
    unknown = sorted({each.kind for each in named if each.group != GATEWAY_GROUP or each.kind not in possible})
    wanted = dict.fromkeys(each.kind for each in named if each.group == GATEWAY_GROUP)
    taken = tuple(each for each in wanted if each in possible)
    if not unknown:
        return taken, None
    taker = "TLS that passes through" if spec.protocol == "TLS" and not ends else f"the protocol {spec.protocol}"
    message = f"allowedRoutes names {', '.join(unknown)}, which {taker} does not take: remove it."
    return taken, Problem("InvalidRouteKinds", message)


def _listed(ports: Collection[int]) -> str:
    return ", ".join(map(str, sorted(ports)[:8])) or "none that is open"


def by_owner(listeners: Collection[ReadListener]) -> Mapping[ListenerOwner, tuple[ReadListener, ...]]:
    """The listeners of each Gateway and ListenerSet, in their order."""
    found: dict[ListenerOwner, list[ReadListener]] = {}
    for each in listeners:
        found.setdefault(each.owner, []).append(each)
    return {owner: tuple(each) for owner, each in found.items()}
