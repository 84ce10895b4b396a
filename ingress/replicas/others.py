"""Keeps what each other replica has told, and whom to believe. No I/O, no clock: times are seconds of any clock.

A replica is known by the identity that its certificate proves, never by what a message says. Ages count from the
arrival of a message, because the clocks of hosts differ.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from enum import Enum
from typing import Final

from balancer.picking.failing import EndpointPlace
from ingress.replicas.messages import FailureRow, Message, MessageRefusal, MessageRefused, decode

REPLICAS_MOST: Final = 64

_SERVICES_MOST: Final = 8192
_CLIENTS_MOST: Final = 16_384
_NUMBERS: Final = 2**64

# What is older than so many periods of its sender is unknown.
_PERIODS_UP: Final = 3.0
# A replica that was silent for so long has ended. Another one with its address has an identity of its own.
_GONE_SECONDS: Final = 60.0
# Whoever has sent nonsense is not believed for so long.
_DISTRUSTED_SECONDS: Final = 60.0
# No process serves more requests a second. A total that grows faster is wrong.
_REQUESTS_A_SECOND_MOST: Final = 1_000_000.0
# What came in less time than this is judged as if it came in so many seconds.
_JUDGED_SECONDS_LEAST: Final = 1.0


class ReplicaState(Enum):
    """How another replica stands: heard lately, silent for three periods, or not believed."""

    UP = "up"
    SILENT = "silent"
    DISTRUSTED = "distrusted"


class OtherReplica:
    """Another replica. `picks` are its totals by Service, `heard_at` is when its last message came.

    `news` is what it was asked and let pass of each client of a limit between the last message and the one before.
    `failing` are the endpoints that fail there.
    """

    __slots__ = ("distrusted_until", "failing", "heard_at", "last", "news", "picks", "spent")

    def __init__(self) -> None:
        self.last = Message(number=1)
        self.heard_at = float("-inf")
        self.picks: dict[str, int] = {}
        self.spent: dict[tuple[int, int], tuple[int, int]] = {}
        self.news: dict[tuple[int, int], tuple[int, int]] = {}
        self.failing: dict[EndpointPlace, FailureRow] = {}
        self.distrusted_until = float("-inf")

    def state(self, now: float) -> ReplicaState:
        """How it stands at `now`."""
        if now < self.distrusted_until:
            return ReplicaState.DISTRUSTED
        is_fresh = now - self.heard_at <= _PERIODS_UP * self.last.seconds
        return ReplicaState.UP if is_fresh else ReplicaState.SILENT


class OtherReplicas:
    """All other replicas that have told something. `refused` counts messages that did not count."""

    __slots__ = ("_members", "_own", "refused")

    def __init__(self, own: str) -> None:
        """`own` is the identity of this replica."""
        self._own = own
        self._members: dict[str, OtherReplica] = {}
        self.refused: Counter[MessageRefusal] = Counter()

    def hear(self, identity: str, data: bytes, now: float) -> OtherReplica:
        """Takes a message of the replica with `identity`, and returns that replica. Raises `MessageRefused`.

        A replica that sends what makes no sense is not believed for a minute, and what it told before is dropped.
        """
        try:
            return self._heard(identity, data, now)
        except MessageRefused as refused:
            self.refused[refused.refusal] += 1
            if refused.refusal in _NONSENSE and (liar := self._members.get(identity)) is not None:
                liar.distrusted_until = now + _DISTRUSTED_SECONDS
                liar.picks.clear()
                liar.spent.clear()
                liar.failing.clear()
            raise

    def forget(self, now: float) -> None:
        """Drops replicas that have ended."""
        for identity, member in list(self._members.items()):
            if now - member.heard_at > _GONE_SECONDS and now >= member.distrusted_until:
                del self._members[identity]

    def up(self, now: float) -> Iterator[tuple[str, OtherReplica]]:
        """The replicas that were heard lately and are believed, with their identities."""
        return (each for each in self._members.items() if each[1].state(now) is ReplicaState.UP)

    def states(self, now: float) -> Counter[ReplicaState]:
        """How many replicas stand how."""
        return Counter(member.state(now) for member in self._members.values())

    def ages(self, now: float) -> dict[str, float]:
        """The seconds since the last message of each replica, by what it calls itself."""
        return {member.last.name or identity: now - member.heard_at for identity, member in self._members.items()}

    def _heard(self, identity: str, data: bytes, now: float) -> OtherReplica:
        if identity == self._own:
            raise MessageRefused(MessageRefusal.OWN)
        member = self._members.get(identity)
        if member is not None and now < member.distrusted_until:
            raise MessageRefused(MessageRefusal.DISTRUSTED)
        if member is None:
            self.forget(now)
            if len(self._members) >= REPLICAS_MOST:
                raise MessageRefused(MessageRefusal.CROWDED)
            member = OtherReplica()
            self._members[identity] = member  # known from here on, so that nonsense has a consequence
        message = decode(data)
        _judge(member, message, now)
        member.picks.update((row.service, row.total) for row in message.picks)
        member.news = _news(member, message)
        if message.failing is not None:
            member.failing = {(row.backend, row.endpoint): row for row in message.failing}
        member.last = message
        member.heard_at = now
        return member


_NONSENSE: Final = frozenset(
    (MessageRefusal.TOO_LONG, MessageRefusal.MALFORMED, MessageRefusal.FALLING, MessageRefusal.IMPLAUSIBLE)
)


def _judge(member: OtherReplica, message: Message, now: float) -> None:
    """Raises `MessageRefused` for a message that cannot follow what `member` told before."""
    is_first = member.heard_at == float("-inf")
    if not is_first and message.number <= member.last.number:
        raise MessageRefused(MessageRefusal.REPLAYED)
    if len(member.picks) + sum(row.service not in member.picks for row in message.picks) > _SERVICES_MOST:
        raise MessageRefused(MessageRefusal.IMPLAUSIBLE)
    seconds = max(now - member.heard_at, _JUDGED_SECONDS_LEAST)
    for spent in message.spent:
        if spent.passed > spent.asked or max(spent.limit, spent.key) >= _NUMBERS:
            raise MessageRefused(MessageRefusal.IMPLAUSIBLE)
        asked_before, _ = member.spent.get((spent.limit, spent.key), (spent.asked, 0))
        if spent.asked - asked_before > _REQUESTS_A_SECOND_MOST * seconds:
            raise MessageRefused(MessageRefusal.IMPLAUSIBLE)
    for row in message.picks:
        before = member.picks.get(row.service)
        if before is None:
            continue  # what was picked before a row is told for the first time is no news
        if row.total < before:
            raise MessageRefused(MessageRefusal.FALLING)
        if row.total - before > _REQUESTS_A_SECOND_MOST * seconds:
            raise MessageRefused(MessageRefusal.IMPLAUSIBLE)


def _news(member: OtherReplica, message: Message) -> dict[tuple[int, int], tuple[int, int]]:
    """What clients of limits were asked and let pass since the last message.

    A row that falls was taken over by another client and came back, so it begins anew.
    """
    is_first = member.heard_at == float("-inf")
    if len(member.spent) + len(message.spent) > _CLIENTS_MOST:
        member.spent.clear()
        is_first = True
    news = {}
    for row in message.spent:
        place = row.limit, row.key
        asked, passed = member.spent.get(place, (row.asked, row.passed) if is_first else (0, 0))
        if row.asked < asked or row.passed < passed:
            asked = passed = 0
        news[place] = row.asked - asked, row.passed - passed
        member.spent[place] = row.asked, row.passed
    return news
