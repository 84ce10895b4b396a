"""Compares what the log says of a request with what would become of it.

Says nothing where circumstances decide: a client that left, a limit, an endpoint that failed. No I/O.
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from ingress.migration.rehearsal.foreseeing import Foreseen
from ingress.migration.rehearsal.lines import DEFAULT_BACKEND, LoggedRequest

_REFUSALS = frozenset((401, 403))
# A service that is asked who may pass may answer so, and sends people to sign in.
_OF_SIGN_IN = frozenset((302, 401, 403, 500))
# Clients that left or sent what nobody takes, bodies, limits and endpoints that failed.
_CIRCUMSTANCES = frozenset(
    (400, 405, 408, 411, 413, 414, 415, 417, 421, 429, 431, 494, 495, 496, 497, 499, 500, 502, 503, 504)
)


class Unlike(Enum):
    """In what a request would differ. The values are what people read."""

    BACKEND = "backend"
    STATUS = "status"
    PROTECTION = "protection"


class Unlikeness(NamedTuple):
    """How a request would differ: `said` is a clause for all requests that differ in the same way."""

    kind: Unlike
    said: str


def compared(logged: LoggedRequest, foreseen: Foreseen) -> Unlikeness | None:
    """How the request would differ; None if it would not, as far as anybody can tell."""
    if foreseen.status:
        return _answered(logged, foreseen)
    return _kept(logged, foreseen) if logged.passed is False else _passed(logged, foreseen)


def _answered(logged: LoggedRequest, foreseen: Foreseen) -> Unlikeness | None:
    """zonal answers by itself."""
    status = foreseen.status
    if logged.passed and not (logged.upstream == DEFAULT_BACKEND and logged.status // 100 == status // 100):
        kind = Unlike.PROTECTION if status in _REFUSALS else Unlike.STATUS
        return Unlikeness(kind, f"{_who(logged)} answered, zonal answers {status}{_at(foreseen)}")
    if logged.status // 100 == status // 100 or logged.status in _CIRCUMSTANCES:
        return None
    kind = Unlike.PROTECTION if {logged.status, status} & _REFUSALS else Unlike.STATUS
    return Unlikeness(kind, f"ingress-nginx answered {logged.status}, zonal answers {status}{_at(foreseen)}")


def _passed(logged: LoggedRequest, foreseen: Foreseen) -> Unlikeness | None:
    """Both ask an endpoint, as far as the log says."""
    if not logged.upstream or logged.upstream in foreseen.names:
        return None
    if logged.alternative and logged.alternative in foreseen.names:
        return None
    asked = " or ".join(sorted(foreseen.names)) or "nobody"
    return Unlikeness(Unlike.BACKEND, f"{_who(logged)} answered, zonal asks {asked}{_at(foreseen)}")


def _kept(logged: LoggedRequest, foreseen: Foreseen) -> Unlikeness | None:
    """ingress-nginx answered by itself, and zonal asks an endpoint unless a gate keeps the request."""
    status = logged.status
    if status in _CIRCUMSTANCES or (foreseen.unknown and status in _OF_SIGN_IN):
        return None
    if foreseen.preflights and logged.method == "OPTIONS":
        return None
    kind = Unlike.PROTECTION if status in _REFUSALS else Unlike.STATUS
    asked = " or ".join(sorted(foreseen.names)) or "nobody"
    return Unlikeness(kind, f"ingress-nginx answered {status}, zonal asks {asked}{_at(foreseen)}")


def _who(logged: LoggedRequest) -> str:
    return logged.upstream or "an endpoint"


def _at(foreseen: Foreseen) -> str:
    return f" ({foreseen.place})" if foreseen.place else ""
