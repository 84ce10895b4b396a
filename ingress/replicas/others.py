"""Keeps what each other replica has told, and whom to believe. No I/O, no clock: times are seconds of any clock.

A replica is known by the identity that its certificate proves, never by what a message says. Ages count from the
arrival of a message, because the clocks of hosts differ.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Final

from ingress.replicas.allowances import newcomers_bucket
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

    __slots__ = ("_members", "_newcomers", "_on_flood", "_own", "refused")

    def __init__(self, own: str, on_flood: Callable[[str], None] = lambda _: None) -> None:
        """`own` is the identity of this replica. `on_flood` is told once who sends more than is read."""
        self._own = own
        self._on_flood = on_flood
        self._members: dict[str, OtherReplica] = {}
        self._newcomers = newcomers_bucket(2 * REPLICAS_MOST)  # all may come, and start anew at once
        self.refused: Counter[MessageRefusal] = Counter()

    def hear(self, identity: str, data: bytes, now: float) -> OtherReplica:
        """Takes a message of the replica with `identity`, and returns that replica. Raises `MessageRefused`.

        A replica that sends what makes no sense is not believed for a minute, and what it told before is dropped.
        """
        try:
            return self._heard(identity, data, now)
        except MessageRefused as refused:
            self._note(identity, refused.refusal, now)
            raise

    def admit(self, identity: str, now: float) -> None:
        """Must be asked before anything of the replica with `identity` is read. Raises `MessageRefused` if nothing is.

        So what a replica sends that is not heard costs nothing. The own replica is let in, to be told that it is.
        """
        try:
            member = self._members.get(identity)
            if member is not None:
                _admit(member, now)
            elif identity != self._own:
                self._make_room(now)
        except MessageRefused as refused:
            self._note(identity, refused.refusal, now)
            raise

    def _note(self, identity: str, refusal: MessageRefusal, now: float) -> None:
        """Counts a refusal, and does what follows for the replica with `identity`."""
        self.refused[refusal] += 1
        member = self._members.get(identity)
        if member is None:
            return
        if refusal in _NONSENSE:
            member.distrusted_until = now + _DISTRUSTED_SECONDS
            member.drop()
        elif refusal in _FLOODS and not member.budget.floods:
            member.budget.floods = True
            self._on_flood(identity)

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
        """Raises `MessageRefused` if all places are those of replicas that are up, or that are not believed, or if too
        many have come lately.

        Of those that are silent, the one that was heard longest ago gives way: where many replicas start anew at once,
        each of them is another one from then on.
        """
        if not self._newcomers.holds(now):
            raise MessageRefused(MessageRefusal.CROWDED)
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
        if member is None:
            self._make_room(now)
            self._newcomers.take()
            member = OtherReplica()
            self._members[identity] = member  # known from here on, so that nonsense has a consequence
        _admit(member, now)
        member.budget.take(data)
        message = decode(data)
        member.budget.learn(message)
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


def _admit(member: OtherReplica, now: float) -> None:
    """Raises `MessageRefused` if nothing of a replica is read now."""
    if now < member.distrusted_until:
        raise MessageRefused(MessageRefusal.DISTRUSTED)
    refusal = member.budget.refusal(now)
    if refusal is not None:
        raise MessageRefused(refusal)


_FLOODS: Final = frozenset((MessageRefusal.TOO_MANY, MessageRefusal.TOO_MUCH))
_NONSENSE: Final = frozenset(
    (MessageRefusal.TOO_LONG, MessageRefusal.MALFORMED, MessageRefusal.FALLING, MessageRefusal.IMPLAUSIBLE)
)
