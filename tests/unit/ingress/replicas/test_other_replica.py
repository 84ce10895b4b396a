"""How another replica stands."""

from __future__ import annotations

from ingress.replicas.messages import Message
from ingress.replicas.other_replica import OtherReplica, ReplicaState


def test_it_is_up_for_three_of_its_periods_unless_it_is_not_believed() -> None:
    other = OtherReplica()
    assert other.state(0.0) is ReplicaState.SILENT
    other.last, other.heard_at = Message(number=1, seconds=0.5), 10.0
    assert other.state(11.5) is ReplicaState.UP
    assert other.state(11.6) is ReplicaState.SILENT
    other.distrusted_until = 12.0
    assert other.state(11.0) is ReplicaState.DISTRUSTED
