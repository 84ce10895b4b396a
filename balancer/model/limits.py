"""Limits in the model: how many requests of one client address pass, and how fast a response body is sent."""

from __future__ import annotations

from enum import Enum

import msgspec


class LimitScope(Enum):
    """Who counts together: the workers of a replica, or all replicas that tell each other."""

    REPLICA = "replica"
    FLEET = "fleet"


class Rate(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """So many requests in so many seconds, and how many more may come at once."""

    requests: int
    seconds: int
    burst: int


class RateLimit(msgspec.Struct, frozen=True, omit_defaults=True, gc=False, tag="rate_limit"):
    """Lets requests of one client pass at one or two rates (ingress-nginx: limit-rps and limit-rpm).

    Routes with the same `zone` count together. A client is an address; with a `key`, text with variables, it is the
    value of that text, and requests without a value are not limited. Addresses in `exempt`, networks as in
    `SourceRanges`, are not limited either. A refused request is answered with `status`.
    """

    zone: str
    rates: tuple[Rate, ...]
    exempt: tuple[str, ...] = ()
    key: str = ""
    status: int = 503
    scope: LimitScope = LimitScope.REPLICA


class FlightLimit(msgspec.Struct, frozen=True, omit_defaults=True, gc=False, tag="flight_limit"):
    """Lets `most` requests of one client be in flight at the same time (ingress-nginx: limit-connections).

    The other fields are as in `RateLimit`.
    """

    zone: str
    most: int
    exempt: tuple[str, ...] = ()
    key: str = ""
    status: int = 503
