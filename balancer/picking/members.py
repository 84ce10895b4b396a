"""Holds members, the state of endpoints that outlives changes of a backend, and picks of members.

Does not know how a pick is chosen. What the I/O side attaches to a member is opaque here.
"""

from __future__ import annotations

from typing import Final, NamedTuple, Protocol

from balancer.model.endpoints import Endpoint
from balancer.picking.endpoint_health import EndpointHealth
from balancer.picking.loads import Latency
from balancer.picking.outcomes import Outcome
from balancer.zones.cost import FREE, Tariff
from balancer.zones.locality import Locality
from balancer.zones.reasons import Reason

_NEVER: Final = float("-inf")


class Member:
    """The state of an endpoint. A member exists as long as its address and port are in the backend.

    `label` is `address:port`, `label_alone` a tuple of it. `pool` belongs to the I/O side. `in_flight` counts
    requests under way. `latency` is None before the first answer. `namespace` is that of the backend. `is_silent`:
    a connection to it is pending for long while others answer (`silence.py`). `asked_at` is when the last connection
    began that was made only to ask whether it is there.
    """

    __slots__ = (
        "asked_at",
        "endpoint",
        "health",
        "in_flight",
        "is_silent",
        "label",
        "label_alone",
        "latency",
        "namespace",
        "pool",
    )

    def __init__(self, endpoint: Endpoint, namespace: str = "", label: str = "") -> None:
        """`label` empty: it is made here."""
        self.endpoint = endpoint
        self.namespace = namespace
        self.label = label or label_of(endpoint)
        self.label_alone = (self.label,)
        self.pool: object | None = None
        self.in_flight = 0
        self.is_silent = False
        self.asked_at = _NEVER
        self.health = EndpointHealth()
        self.latency: Latency | None = None


class Foretold(NamedTuple):
    """The reason, prices and locality that a request would have had under the policy of a dry run."""

    reason: Reason
    tariff: Tariff
    locality: Locality


class Observer(Protocol):
    """Learns how the attempts end whose picks a policy made."""

    def ended(self, pick: Pick, outcome: Outcome, *, seconds: float, now: float) -> None:
        """Learns that an attempt got its response or failure after `seconds`."""


Slots = tuple[int, int, int, int, int, int, int, int, int, int]


class PickNote:
    """A cache of metrics and log lines for the next request with the same pick. Picking does not read it.

    `slots`, `names` and `rest` hold for the last `destination` and `status` alone. `way` is the part of a line that
    follows from the pick and `from_zone`, so another destination finds it.
    """

    __slots__ = ("destination", "from_zone", "names", "rest", "slots", "status", "way")

    def __init__(self) -> None:
        self.destination: object | None = None
        self.status = 0
        self.from_zone = ""
        self.names = ""
        self.rest = ""
        self.way = ""
        self.slots: Slots = (0, 0, 0, 0, 0, 0, 0, 0, 0, 0)


class Pick:
    """One prepared choice: the member, its endpoint at that time, its locality, and the reason.

    `tariff` prices the bytes. `probe`: this request probes an ejected endpoint, so its report decides. `foretold` is
    set in a dry run. `observer` belongs to a policy that learns from its requests. Many requests share a pick, so only
    its `note` changes. A changed copy takes the note along, unless what is noted depends on the change.
    """

    __slots__ = (
        "endpoint",
        "foretold",
        "locality",
        "member",
        "note",
        "observer",
        "probe",
        "reason",
        "tariff",
        "to_zone",
    )

    def __init__(  # noqa: PLR0917 -- compiled calls have no names
        self,
        member: Member,
        endpoint: Endpoint,
        to_zone: str,
        locality: Locality,
        reason: Reason,
        tariff: Tariff = FREE,
        observer: Observer | None = None,
        note: PickNote | None = None,
    ) -> None:
        self.member = member
        self.endpoint = endpoint
        self.to_zone = to_zone
        self.locality = locality
        self.reason = reason
        self.tariff = tariff
        self.observer = observer
        self.probe = False
        self.foretold: Foretold | None = None
        self.note = PickNote() if note is None else note

    def for_reason(self, reason: Reason) -> Pick:
        """This pick for another reason."""
        pick = self._copy()
        pick.reason = reason
        pick.note = PickNote()
        return pick

    def as_probe(self) -> Pick:
        """This pick for the request that probes the endpoint."""
        pick = self._copy()
        pick.probe = True
        return pick

    def foretelling(self, foretold: Foretold | None) -> Pick:
        """This pick with what the policy of a dry run would have decided."""
        pick = self._copy()
        pick.foretold = foretold
        return pick

    def _copy(self) -> Pick:
        pick = Pick(
            self.member, self.endpoint, self.to_zone, self.locality, self.reason, self.tariff, self.observer, self.note
        )
        pick.probe = self.probe
        pick.foretold = self.foretold
        return pick


def label_of(endpoint: Endpoint) -> str:
    """`address:port`, with an IPv6 address in brackets (RFC 3986 3.2.2)."""
    address = f"[{endpoint.address}]" if ":" in endpoint.address else endpoint.address
    return f"{address}:{endpoint.port}"
