"""Says in which zone a client is, by the networks that the operator names, and what the way from there to us costs.

A client is whom the connection, a PROXY header or a trusted proxy names: a pod, a virtual machine, or a node of a load
balancer. Outside of the networks its zone is unknown. No I/O.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from balancer.matching.addresses import AddressSet, address_of
from balancer.model.zones import UNKNOWN_ZONE, ClientNetwork, Zone, ZoneFacts
from balancer.zones.cost import GIGABYTE, price

_CLIENTS_REMEMBERED = 4096


class Hop(NamedTuple):
    """The way of a client's bytes: its zone as metrics show it, and dollars for one byte to us and from us."""

    client_zone: str
    sent: float
    received: float


class ClientHops:
    """The hops of clients to a replica in one zone. Made at the swap."""

    __slots__ = ("_by_zone", "_hops", "_known", "_unknown")

    def __init__(self, facts: ZoneFacts, own: Zone | None) -> None:
        groups: dict[tuple[int, Zone], list[str]] = {}
        for each in facts.client_networks:
            groups.setdefault((_bits(each), each.zone), []).append(each.network)
        # The longest network that holds an address says its zone.
        ordered = sorted(groups.items(), reverse=True)
        self._by_zone = tuple((zone, AddressSet(networks)) for (_, zone), networks in ordered)
        prices = facts.prices
        self._hops: Mapping[Zone, Hop] = {
            zone: Hop(zone, price(prices, zone, own) / GIGABYTE, price(prices, own, zone) / GIGABYTE)
            for zone in {each.zone for each in facts.client_networks}
        }
        self._unknown = Hop(UNKNOWN_ZONE, 0.0, 0.0)
        self._known: dict[str, Hop] = {}

    def hop_of(self, client: str) -> Hop:
        """The hop of a client by its address."""
        hop = self._known.get(client)
        if hop is None:
            if len(self._known) >= _CLIENTS_REMEMBERED:
                self._known.clear()
            hop = self._known[client] = self._looked_up(client)
        return hop

    def _looked_up(self, client: str) -> Hop:
        address = address_of(client)
        if address is not None:
            for zone, networks in self._by_zone:
                if address in networks:
                    return self._hops[zone]
        return self._unknown


def client_hops(facts: ZoneFacts, own: Zone | None) -> ClientHops | None:
    """What tells the zones of clients; None where the operator names no networks, so that nobody asks."""
    return ClientHops(facts, own) if facts.client_networks else None


def _bits(network: ClientNetwork) -> int:
    """The length of the prefix, comparable within one version of IP."""
    return int(network.network.partition("/")[2])
