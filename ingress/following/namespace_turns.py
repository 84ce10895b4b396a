"""Decides whose changes a translation takes, so that a namespace that changes all the time delays no other.

What a namespace has changed costs time until all workers serve it. For as long the namespace rests after it: its
further changes wait, the newest of each object, and those of others go on. Time is an argument, in monotonic seconds.
"""

from __future__ import annotations

from ingress.objects.gateway_routes import GrpcRoute, HttpRoute
from ingress.objects.kinds import CLUSTER_WIDE, Ingress, Kind
from ingress.sources.events import Event, Removed, Replaced, Upserted

MOST_UNITS = 2000
"""Paths of hosts that a namespace may change in one translation: to make and serve them takes a fifth of a second."""

_REST_SECONDS_MAX = 5.0
# A model that workers do not serve after so many times of its translation is waited for no longer: a worker may hang.
_DELIVERIES = 4.0
_LOOK_SECONDS = 0.02

# Endpoints have a way of their own. What another namespace no longer allows must not wait.
_NEVER_WAIT = CLUSTER_WIDE | {Kind.ENDPOINT_SLICE, Kind.REFERENCE_GRANT}
# A model waits for those that it wants, so the first version of one never waits for the model.
_WANTED = frozenset({Kind.SECRET, Kind.CONFIG_MAP})

_EVERYBODY = ""  # in place of a namespace

_Key = tuple[Kind, str]
_Change = Upserted | Removed


class _Served:
    """What a translation has brought, until all workers serve it: `units` by namespace, and how long it took."""

    __slots__ = ("at", "seconds", "units")

    def __init__(self, at: float, seconds: float, units: dict[str, int]) -> None:
        self.at = at
        self.seconds = seconds
        self.units = units


class NamespaceTurns:
    """The changes that wait, and the namespaces that rest."""

    __slots__ = ("_brought", "_rests", "_served", "_since", "_waiting")

    def __init__(self) -> None:
        self._waiting: dict[str, dict[_Key, _Change]] = {}
        self._since: dict[str, float] = {}  # when the last of them came
        self._rests: dict[str, float] = {}  # until when
        self._brought: dict[str, int] = {}  # units of each namespace since the last translation began
        self._served: _Served | None = None

    def keep(self, event: Event, now: float, *, is_newer: bool) -> bool:
        """Whether `event` has to wait; then it is kept. `is_newer`: it replaces an object that is known."""
        if isinstance(event, Replaced):
            self._forget(event.kind)
        if not isinstance(event, _Change):
            return False
        kind, namespace, name = _named(event)
        if kind in _NEVER_WAIT:
            return False
        waiting = self._waiting.get(namespace)
        if waiting is None or (kind, name) not in waiting:
            if kind in _WANTED and not is_newer and isinstance(event, Upserted):
                return False
            if waiting is None and not self._rests_now(namespace, now):
                return False
        self._waiting.setdefault(namespace, {})[kind, name] = event
        self._since[namespace] = now
        return True

    def brought(self, event: Event) -> None:
        """`event` has changed what the next translation reads."""
        namespace = _EVERYBODY
        if isinstance(event, _Change):
            kind, namespace, _ = _named(event)
            if kind is Kind.ENDPOINT_SLICE:
                return
        self._brought[namespace] = self._brought.get(namespace, 0) + _units(event)

    def begin(self) -> dict[str, int]:
        """A translation takes what was brought. Returns that, for `translated`."""
        brought = self._brought
        self._brought = {}
        return brought

    def translated(self, brought: dict[str, int], now: float, seconds: float) -> None:
        """The translation that `begin` began has ended, and took so long. Its namespaces rest until it is served."""
        self._end_rests(now)
        self._served = _Served(now, seconds, brought)
        total = sum(brought.values())
        for namespace, units in brought.items():
            self._rests[namespace] = now + min(_DELIVERIES * seconds * units / total, _REST_SECONDS_MAX)

    def see(self, now: float, *, is_in_use: bool) -> None:
        """Whether all workers serve the last translation: its namespaces rest then for as long as their parts of it
        took. Where others wait as well, each rests as many times longer, so that all together use half of the time.
        """
        served = self._served
        if served is None:
            return
        if not is_in_use and now < served.at + min(_DELIVERIES * served.seconds, _REST_SECONDS_MAX):
            return
        self._served = None
        total, seconds = sum(served.units.values()), served.seconds + now - served.at
        for namespace, units in served.units.items():
            others = len(self._waiting) - (namespace in self._waiting)
            self._rests[namespace] = now + min(seconds * units / total * (1 + others), _REST_SECONDS_MAX)

    def due_at(self, now: float) -> float | None:
        """When to see next whether workers serve the last translation, and to `take`; None if nothing will be new."""
        looks_at = now + _LOOK_SECONDS if self._served is not None else None
        if sum(self._brought.values()) >= MOST_UNITS:
            return looks_at
        ends = (self._rests.get(each, now) for each in self._waiting if each not in self._brought)
        return min((at for at in (looks_at, *ends) if at is not None), default=None)

    def take(self, now: float) -> list[tuple[_Change, float]]:
        """What may go on now, and when it came: as much as one translation may take of one namespace, those first that
        have rested for longest.
        """
        found: list[tuple[_Change, float]] = []
        room = MOST_UNITS - sum(self._brought.values())
        for namespace in sorted(self._waiting, key=lambda each: self._rests.get(each, 0.0)):
            if room <= 0 or self._rests.get(namespace, 0.0) > now:
                break
            waiting, since = self._waiting[namespace], self._since[namespace]
            while waiting and room > 0:
                event = waiting.pop(next(iter(waiting)))
                room -= _units(event)
                found.append((event, since))
            if not waiting:
                self._leave(namespace)
        return found

    def take_all(self) -> list[_Change]:
        """Everything that waits, when nothing more will come."""
        found = [event for waiting in self._waiting.values() for event in waiting.values()]
        self._waiting.clear()
        self._since.clear()
        return found

    def rest_of_everybody(self, now: float) -> float:
        """Until when a translation waits that brings nothing of a namespace, such as news of Nodes."""
        is_alone = self._brought.keys() == {_EVERYBODY}
        return self._rests.get(_EVERYBODY, now) if is_alone else now

    def _rests_now(self, namespace: str, now: float) -> bool:
        return self._rests.get(namespace, now) > now or self._brought.get(namespace, 0) >= MOST_UNITS

    def _end_rests(self, now: float) -> None:
        kept = {each: until for each, until in self._rests.items() if until > now or each in self._waiting}
        self._rests = kept

    def _forget(self, kind: Kind) -> None:
        """A list of the kind makes what has waited obsolete."""
        for namespace, waiting in list(self._waiting.items()):
            for key in [key for key in waiting if key[0] is kind]:
                del waiting[key]
            if not waiting:
                self._leave(namespace)

    def _leave(self, namespace: str) -> None:
        del self._waiting[namespace]
        del self._since[namespace]


def _named(event: _Change) -> tuple[Kind, str, str]:
    if isinstance(event, Removed):
        return event.kind, event.namespace, event.name
    return event.object.kind, event.object.metadata.namespace, event.object.metadata.name


def _units(event: Event) -> int:
    """About how many paths of hosts an event is about."""
    if not isinstance(event, Upserted):
        return 1
    item = event.object
    if isinstance(item, Ingress):
        return 1 + sum(len(rule.http.paths) if rule.http is not None else 1 for rule in item.spec.rules)
    if isinstance(item, HttpRoute | GrpcRoute):
        return 1 + len(item.spec.hostnames) * sum(len(rule.matches) for rule in item.spec.rules)
    return 1
