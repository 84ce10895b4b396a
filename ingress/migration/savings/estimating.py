"""Estimates what the bytes of each Service cost between zones today, and what zonal would save of that. No I/O.

It supposes what ingress-nginx does: each of its pods has the same share of the requests, and picks any ready endpoint.
Does not know where the byte counts come from.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from balancer.model.endpoints import Backend
from balancer.model.zones import Zone, ZonePrices
from balancer.zones.cost import GIGABYTE, price
from ingress.migration.savings.bills import MOST_OVERHEAD


class CountedBytes(msgspec.Struct, frozen=True):
    """The bytes to (`sent`) and from (`received`) the endpoints of a Service for one host."""

    host: str
    namespace: str
    service: str
    sent: float
    received: float

    @property
    def all(self) -> float:
        """Both directions."""
        return self.sent + self.received


class HostEstimate(msgspec.Struct, frozen=True):
    """Dollars of a month for one host and Service. `gigabytes` are those of a month.

    `today` and `saved` are None if no zone of the endpoints is known.
    """

    host: str
    namespace: str
    service: str
    gigabytes: float
    today: float | None
    saved: float | None


class Estimate(msgspec.Struct, frozen=True):
    """All of them. `known_share` is the share of the bytes whose endpoints have zones.

    What is really saved lies between `saved` and `saved_most`, as far as what was counted can tell. Dollars are None if
    no endpoint has a zone.
    """

    rows: tuple[HostEstimate, ...]
    gigabytes: float
    known_share: float
    today: float | None
    saved: float | None
    saved_most: float | None


def estimated(
    counted: Iterable[CountedBytes],
    backends: Iterable[Backend],
    prices: ZonePrices,
    zones: Sequence[Zone],
    *,
    months: float,
) -> Estimate:
    """The estimate for a month, when the bytes are those of so many `months`.

    `zones` are those of the pods of ingress-nginx, one for each pod; none: the zones of all endpoints, evenly.
    """
    served = _zones_of_services(backends)
    own = zones or sorted({zone for each in served.values() for zone in each if zone is not None})
    rows = [_row(each, served.get((each.namespace, each.service), ()), own, prices, months) for each in counted]
    rows.sort(key=lambda row: (-(row.saved or 0.0), row.host, row.namespace, row.service))
    whole = sum(row.gigabytes for row in rows)
    known = sum(row.gigabytes for row in rows if row.saved is not None)
    if whole and not known:
        return Estimate(tuple(rows), whole, known_share=0.0, today=None, saved=None, saved_most=None)
    saved = sum(row.saved or 0.0 for row in rows)
    return Estimate(
        rows=tuple(rows),
        gigabytes=whole,
        known_share=known / whole if whole else 0.0,
        today=sum(row.today or 0.0 for row in rows),
        saved=saved,
        saved_most=(saved * whole / known if known else 0.0) * (1 + MOST_OVERHEAD),
    )


def _zones_of_services(backends: Iterable[Backend]) -> Mapping[tuple[str, str], tuple[Zone | None, ...]]:
    """The zones of the ready endpoints of each Service. Ports count once: all of them have the same pods."""
    found: dict[tuple[str, str], tuple[Zone | None, ...]] = {}
    for backend in backends:
        zones = tuple(each.zone for each in backend.endpoints if each.ready)
        key = backend.namespace, backend.service
        if len(zones) > len(found.get(key, ())):
            found[key] = zones
    return found


def _row(
    counted: CountedBytes, zones: Sequence[Zone | None], own: Sequence[Zone], prices: ZonePrices, months: float
) -> HostEstimate:
    named = (counted.host, counted.namespace, counted.service)
    gigabytes = counted.all / GIGABYTE / months
    known = [zone for zone in zones if zone is not None]
    if not known or not own:
        return HostEstimate(*named, gigabytes, None, None)
    today = stays = 0.0
    for zone in own:
        dollars = sum(_dollars(counted, prices, zone, to) for to in known) / len(known)
        today += dollars / len(own)
        stays += dollars / len(own) if zone in known else 0.0
    return HostEstimate(*named, gigabytes, today / months, stays / months)


def _dollars(counted: CountedBytes, prices: ZonePrices, own: Zone, to: Zone) -> float:
    return (price(prices, own, to) * counted.sent + price(prices, to, own) * counted.received) / GIGABYTE
