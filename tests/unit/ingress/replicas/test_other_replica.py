"""How another replica stands, and what is known of its totals."""

from __future__ import annotations

from ingress.replicas.messages import Message
from ingress.replicas.other_replica import KnownTotals, OtherReplica, ReplicaState
from ingress.replicas.seen_columns import SeenColumns


def test_it_is_up_for_three_of_its_periods_unless_it_is_not_believed() -> None:
    other = OtherReplica()
    assert other.state(0.0) is ReplicaState.SILENT
    other.last, other.heard_at = Message(number=1, seconds=0.5), 10.0
    assert other.state(11.5) is ReplicaState.UP
    assert other.state(11.6) is ReplicaState.SILENT
    other.distrusted_until = 12.0
    assert other.state(11.0) is ReplicaState.DISTRUSTED


def test_totals_are_known_whichever_things_the_last_message_was_about() -> None:
    known = KnownTotals()
    for tags, totals in (((7, 8), [1.0, 2.0]), ((7, 8), [3.0, 4.0]), ((9, 7), [5.0, 6.0])):
        known.learn(SeenColumns(tags, (totals,)))
    assert len(known) == 3
    assert [known.first(tag) for tag in (7, 8, 9, 10)] == [6.0, 4.0, 5.0, None]
    asked = SeenColumns((8, 7, 10, 9), ([0.0, 0.0, 11.0, 0.0],))
    assert [*map(tuple, known.learn(asked))] == [(4.0, 6.0, 11.0, 5.0)], "of a new thing: what is told now"
