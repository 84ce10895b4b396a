"""Keeps what each other replica has told, and whom to believe. No I/O, no clock: times are seconds of any clock.

A replica is known by the identity that its certificate proves, never by what a message says. Ages count from the
arrival of a message, because the clocks of hosts differ.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final

from ingress.replicas.facts import ReplicaSeen
from ingress.replicas.messages import MessageRefusal, MessageRefused, decode
from ingress.replicas.other_replica import OtherReplica, ReplicaState
from ingress.replicas.plausibility import judge, spent_news

REPLICAS_MOST: Final = 64

# A replica that was silent for so long has ended. Another one with its address has an identity of its own.
_GONE_SECONDS: Final = 60.0
# Whoever has sent nonsense is not believed for so long.
_DISTRUSTED_SECONDS: Final = 60.0


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
                liar.drop()
            raise

    def forget(self, now: float) -> None:
        """Drops replicas that have ended."""
        for identity, member in list(self._members.items()):
            if now - member.heard_at > _GONE_SECONDS and now >= member.distrusted_until:
                del self._members[identity]

    def up(self, now: float) -> Iterator[tuple[str, OtherReplica]]:
        """The replicas that were heard lately and are believed, with their identities."""
        return (each for each in self._members.items() if each[1].state(now) is ReplicaState.UP)

    def seen(self, now: float) -> tuple[ReplicaSeen, ...]:
        """All of them as they are shown, by name."""
        return tuple(
            sorted(
                ReplicaSeen(
                    name=member.last.name or identity,
                    zone=member.last.zone,
                    state=member.state(now).value,
                    age_seconds=now - member.heard_at,
                    is_away=member.last.away,
                    flows=tuple(member.flows.rows.values()),
                )
                for identity, member in self._members.items()
                if member.heard_at > float("-inf")
            )
        )

    def states(self, now: float) -> Counter[ReplicaState]:
        """How many replicas stand how."""
        return Counter(member.state(now) for member in self._members.values())

    def _make_room(self, now: float) -> None:
        """Raises `MessageRefused` if all places are those of replicas that are up, or that are not believed.

        Of those that are silent, the one that was heard longest ago gives way: where many replicas start anew at once,
        each of them is another one from then on.
        """
        self.forget(now)
        if len(self._members) < REPLICAS_MOST:
            return
        silent = [
            (member.heard_at, identity)
            for identity, member in self._members.items()
            if member.state(now) is ReplicaState.SILENT
        ]
        if not silent:
            raise MessageRefused(MessageRefusal.CROWDED)
        del self._members[min(silent)[1]]

    def _heard(self, identity: str, data: bytes, now: float) -> OtherReplica:
        if identity == self._own:
            raise MessageRefused(MessageRefusal.OWN)
        member = self._members.get(identity)
        if member is not None and now < member.distrusted_until:
            raise MessageRefused(MessageRefusal.DISTRUSTED)
        if member is None:
            self._make_room(now)
            member = OtherReplica()
            self._members[identity] = member  # known from here on, so that nonsense has a consequence
        if not member.allowance.take(now):
            raise MessageRefused(MessageRefusal.TOO_MANY)
        message = decode(data)
        judged = judge(member, message, now)
        member.picks.learn({row.service: row.total for row in message.picks})
        member.news = spent_news(member, message)
        member.load_news = judged.loads
        member.zone_news = judged.zones
        if message.failing is not None:
            member.failing = {(row.backend, row.endpoint): row for row in message.failing}
        if message.left is not None:
            member.left = frozenset((row.backend, row.zone) for row in message.left)
        member.health.learn(message.health, now)
        member.flows.learn({(row.from_zone, row.to_zone): row for row in message.flows})
        member.last = message
        member.heard_at = now
        member.is_new = False
        return member


_NONSENSE: Final = frozenset(
    (MessageRefusal.TOO_LONG, MessageRefusal.MALFORMED, MessageRefusal.FALLING, MessageRefusal.IMPLAUSIBLE)
)
