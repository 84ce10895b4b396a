"""Estimates what the logged bytes cost between zones, and what zonal would have saved. No I/O.

An endpoint's zone comes from the EndpointSlices of the dump. Does not know lines.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from balancer.model.publication import RoutingModel
from balancer.model.zones import Zone, ZonePrices
from balancer.zones.cost import GIGABYTE, MONTH_SECONDS, price


class Saving(msgspec.Struct, frozen=True):
    """Dollars for the log, and for a month at its rate; None: the log says no times.

    `known_bytes` are those of requests whose endpoint has a zone in the dump, of `bytes` in all.
    """

    today: float
    saved: float
    a_month: float | None
    bytes: int
    known_bytes: int


class Meter:
    """Adds up bytes by the endpoint that answered."""

    __slots__ = ("_prices", "_served_zones", "_sums", "_zones", "bytes")

    def __init__(self, model: RoutingModel, prices: ZonePrices, zones: Iterable[Zone]) -> None:
        """`zones` are those of the replicas of ingress-nginx, each with the same share of the requests."""
        self._prices = prices
        self._zones = tuple(zones) or _zones_of(model)
        endpoints = [(backend, endpoint) for backend in model.backends for endpoint in backend.endpoints]
        self._served_zones: Mapping[str, tuple[Zone | None, frozenset[Zone | None]]] = {
            f"{endpoint.address}:{endpoint.port}": (
                endpoint.zone,
                frozenset(each.zone for each in backend.endpoints if each.ready),
            )
            for backend, endpoint in endpoints
        }
        self._sums: dict[str, list[int]] = {}
        self.bytes = 0

    def add(self, address: str, request_bytes: int, response_bytes: int) -> None:
        """Counts a request that the endpoint `address` answered."""
        self.bytes += request_bytes + response_bytes
        sums = self._sums.get(address)
        if sums is None:
            sums = self._sums.setdefault(address, [0, 0])
        sums[0] += request_bytes
        sums[1] += response_bytes

    def saving(self, seconds: float | None) -> Saving:
        """What was counted, over `seconds`."""
        today = kept = 0.0
        known = 0
        for address, (sent, received) in self._sums.items():
            zone, zones = self._served_zones.get(address, (None, frozenset[Zone | None]()))
            if zone is None or not self._zones:
                continue
            known += sent + received
            for own in self._zones:
                there, back = price(self._prices, own, zone), price(self._prices, zone, own)
                dollars = (there * sent + back * received) / GIGABYTE / len(self._zones)
                today += dollars
                kept += dollars if own in zones else 0.0
        a_month = kept * MONTH_SECONDS / seconds if seconds else None
        return Saving(today=today, saved=kept, a_month=a_month, bytes=self.bytes, known_bytes=known)


def _zones_of(model: RoutingModel) -> tuple[Zone, ...]:
    """The zones of all endpoints."""
    found = {endpoint.zone for backend in model.backends for endpoint in backend.endpoints if endpoint.zone is not None}
    return tuple(sorted(found))
