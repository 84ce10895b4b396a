"""Computes what body bytes cost between zones, and what they would have cost a proxy that does not know zones.

Clouds bill each direction of the traffic between two zones. Tariffs are made in advance, one for each zone in which a
backend has endpoints. Does not know requests.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from balancer.model.endpoints import Endpoint
from balancer.model.zones import Zone, ZonePrices

GIGABYTE: Final = 10**9
"""Bytes of what a price is for."""

MONTH_SECONDS: Final = 30 * 86400
"""Dollars a month are those of 30 days, on every page and in every command."""


class Tariff(msgspec.Struct, frozen=True):
    """Dollars for one byte to the endpoint (`sent`) and from it (`received`), each real and as a zone-blind average."""

    sent: float = 0.0
    received: float = 0.0
    blind_sent: float = 0.0
    blind_received: float = 0.0

    def dollars(self, request_bytes: int, response_bytes: int) -> float:
        """The cost of these bytes."""
        return self.sent * request_bytes + self.received * response_bytes

    def blind_dollars(self, request_bytes: int, response_bytes: int) -> float:
        """The average cost of these bytes over all ready endpoints."""
        return self.blind_sent * request_bytes + self.blind_received * response_bytes


FREE = Tariff()


def price(prices: ZonePrices, from_zone: Zone | None, to_zone: Zone | None) -> float:
    """Dollars for a gigabyte (10^9 bytes). 0 inside a zone, and 0 if a zone is unknown."""
    if from_zone is None or to_zone is None or from_zone == to_zone:
        return 0.0
    for source, target, dollars in prices.pairs:
        if source == from_zone and target == to_zone:
            return dollars
    return prices.default


def tariffs(prices: ZonePrices, own_zone: Zone | None, endpoints: tuple[Endpoint, ...]) -> Mapping[Zone | None, Tariff]:
    """The tariff for each zone of `endpoints`.

    The blind average is over the ready endpoints, or over those that serve while they terminate if none is ready.
    """
    sent = {zone: price(prices, own_zone, zone) / GIGABYTE for zone in {endpoint.zone for endpoint in endpoints}}
    received = {zone: price(prices, zone, own_zone) / GIGABYTE for zone in sent}
    ready = [endpoint.zone for endpoint in endpoints if endpoint.ready]
    blind = ready or [endpoint.zone for endpoint in endpoints if endpoint.serving_terminating]
    blind_sent, blind_received = _average(sent, blind), _average(received, blind)
    return {zone: _tariff(sent[zone], received[zone], blind_sent, blind_received) for zone in sent}


def _tariff(sent: float, received: float, blind_sent: float, blind_received: float) -> Tariff:
    """A tariff without prices is always `FREE`, so that nothing is computed of it for a request."""
    tariff = Tariff(sent, received, blind_sent, blind_received)
    return FREE if tariff == FREE else tariff


def _average(prices: Mapping[Zone | None, float], zones: list[Zone | None]) -> float:
    return sum(prices[zone] for zone in zones) / len(zones) if zones else 0.0
