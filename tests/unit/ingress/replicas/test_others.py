"""Other replicas: heard, silent, gone; and who is not believed."""

from __future__ import annotations

import msgspec
import pytest

from ingress.replicas.messages import (
    FlowRow,
    HealthRow,
    Message,
    MessageRefusal,
    MessageRefused,
    Picks,
    SpentRow,
    decode,
    encode,
)
from ingress.replicas.other_replica import ReplicaState
from ingress.replicas.others import REPLICAS_MOST, OtherReplicas
from ingress.replicas.recent import NAMES_MOST
from ingress.replicas.seen_columns import SeenColumns, packed


def said(number: int, total: int = 0, *, service: str = "shop/cart", seconds: float = 0.5) -> bytes:
    return encode(Message(number=number, zone="zone-b", seconds=seconds, picks=(Picks(service, total),)))


def refusal(members: OtherReplicas, identity: str, data: bytes, now: float) -> MessageRefusal:
    with pytest.raises(MessageRefused) as refused:
        members.hear(identity, data, now)
    return refused.value.refusal


def test_a_replica_is_up_for_three_periods_after_a_message() -> None:
    members = OtherReplicas("own")
    members.hear("b", said(1, 5), 10.0)
    assert [(identity, member.picks.rows) for identity, member in members.up(11.5)] == [("b", {"shop/cart": 5})]
    assert list(members.up(11.6)) == []
    assert members.states(11.6) == {ReplicaState.SILENT: 1}
    assert [(each.name, each.zone, each.age_seconds) for each in members.seen(11.5)] == [("b", "zone-b", 1.5)]


def test_one_who_ended_is_forgotten_and_one_who_comes_anew_is_another_one() -> None:
    members = OtherReplicas("own")
    members.hear("b", said(9, 500), 10.0)
    members.hear("c", said(1, 0), 11.0)  # the same replica after a restart
    members.forget(70.1)
    assert [each.name for each in members.seen(70.1)] == ["c"]


def test_totals_of_rows_that_are_not_told_again_stay() -> None:
    members = OtherReplicas("own")
    members.hear("b", said(1, 5), 10.0)
    member = members.hear("b", said(2, 7, service="shop/pay"), 10.5)
    assert member.picks.rows == {"shop/cart": 5, "shop/pay": 7}


def test_a_message_that_was_heard_before_is_refused_and_changes_nothing() -> None:
    members = OtherReplicas("own")
    members.hear("b", said(2, 5), 10.0)
    for number in (1, 2):
        assert refusal(members, "b", said(number, 9), 10.1) is MessageRefusal.REPLAYED
    assert [member.picks.rows for _, member in members.up(10.2)] == [{"shop/cart": 5}]
    assert members.refused == {MessageRefusal.REPLAYED: 2}


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (said(2, 4), MessageRefusal.FALLING),
        (said(2, 5 + 10**7), MessageRefusal.IMPLAUSIBLE),
        (b"noise", MessageRefusal.MALFORMED),
        (bytes(2**20 + 1), MessageRefusal.TOO_LONG),
    ],
)
def test_one_who_sends_nonsense_is_not_believed_for_a_minute(data: bytes, why: MessageRefusal) -> None:
    members = OtherReplicas("own")
    members.hear("b", said(1, 5), 10.0)
    members.hear("c", said(1, 5), 10.0)
    assert refusal(members, "b", data, 10.5) is why
    assert [identity for identity, _ in members.up(10.6)] == ["c"], "others are believed"
    assert members.states(10.6)[ReplicaState.DISTRUSTED] == 1
    assert refusal(members, "b", said(3, 6), 70.4) is MessageRefusal.DISTRUSTED
    members.hear("b", said(4, 2), 70.6)
    assert {identity for identity, _ in members.up(70.7)} == {"b"}


def test_who_is_known_by_nonsense_alone_is_not_believed_either() -> None:
    members = OtherReplicas("own")
    assert refusal(members, "b", b"noise", 10.0) is MessageRefusal.MALFORMED
    assert refusal(members, "b", said(1), 10.1) is MessageRefusal.DISTRUSTED


def test_a_message_of_the_own_identity_is_refused() -> None:
    members = OtherReplicas("own")
    assert refusal(members, "own", said(1), 10.0) is MessageRefusal.OWN
    assert members.states(10.0) == {}


def test_there_are_at_most_so_many_replicas_until_some_have_ended() -> None:
    members = OtherReplicas("own")
    for number in range(REPLICAS_MOST):
        members.hear(str(number), said(1), 10.0)
    assert refusal(members, "one more", said(1), 10.5) is MessageRefusal.CROWDED
    members.hear("one more", said(1), 71.0)


def test_of_many_replicas_that_start_anew_at_once_each_finds_a_place() -> None:
    """Who was silent longest gives way before its minute is over. Who is not believed keeps its place, and so does who
    is up.
    """
    members = OtherReplicas("own")
    for number in range(REPLICAS_MOST):
        members.hear(str(number), said(1, seconds=0.5), 10.0 + number / 100)
    assert refusal(members, "0", b"noise", 11.0) is MessageRefusal.MALFORMED
    for number in range(32, REPLICAS_MOST):
        members.hear(str(number), said(2, seconds=0.5), 12.0)
    for number in range(31):
        members.hear(f"anew {number}", said(1, seconds=0.5), 13.0)
    assert {identity for identity, _ in members.up(13.0)} == {
        *map(str, range(32, REPLICAS_MOST)),
        *(f"anew {number}" for number in range(31)),
    }
    assert refusal(members, "one more", said(1), 13.0) is MessageRefusal.CROWDED
    assert refusal(members, "0", said(2), 13.0) is MessageRefusal.DISTRUSTED


@pytest.mark.large
def test_a_replica_may_tell_of_ever_more_names_and_the_last_ones_count() -> None:
    """Each message tells of thousands of names of each kind that nobody has heard before."""
    members = OtherReplicas("own")
    for number in range(1, 12):
        first = number * 4096
        names = [f"shop/{each}" for each in range(first, first + 4096)]
        tags, some = tuple(range(first, first + 4096)), tuple(range(first, first + 1024))
        zones = [(f"zone-{each}", "zone-b") for each in range(first, first + 256)]
        message = Message(
            number=number,
            picks=tuple(Picks(name, 5) for name in names),
            health=tuple(HealthRow(name[5:], 5, 0) for name in names),
            load_table=packed(SeenColumns(tags, ([0.0] * 4096,) * 6, ([0.0] * 4096,) * 2)),
            zone_table=packed(SeenColumns(some, ([0.0] * 1024,) * 33)),
            flows=tuple(FlowRow(*each, 1, 0, 0, 0) for each in zones),
            spent=tuple(SpentRow(1, each, 1, 1) for each in tags),
        )
        other = members.hear("b", encode(message), 10.0 + number)
        assert max(len(other.picks.rows), len(other.health.totals.rows)) <= NAMES_MOST
        assert max(len(other.loads), len(other.zones)) <= NAMES_MOST + 4096
        assert len(other.flows.rows) <= 256
        assert len(other.spent.rows) <= 16_384
        assert other.picks.rows.keys() >= {*names}
        assert other.load_news.seen.tags == tags
        assert other.flows.rows.keys() >= {*zones}


def test_of_messages_that_come_too_often_few_are_read() -> None:
    members = OtherReplicas("own")
    for number in range(1, 121):
        members.hear("b", said(number), 10.0)
    assert refusal(members, "b", said(121), 10.0) is MessageRefusal.TOO_MANY
    members.hear("c", said(1), 10.0)
    assert {identity for identity, _ in members.up(10.0)} == {"b", "c"}, "that is no lie"
    for number in range(122, 142):
        members.hear("b", said(number), 11.0)
    assert refusal(members, "b", said(142), 11.0) is MessageRefusal.TOO_MANY


def full(number: int) -> bytes:
    """As much as one message may have, nearly."""
    rows = tuple(Picks(f"shop/{each}", number) for each in range(4096))
    tags = tuple(range(1, 4097))
    table = packed(SeenColumns(tags, ([float(number)] * 4096,) * 6, ([0.1] * 4096,) * 2))
    return encode(Message(number=number, zone="zone-b", picks=rows, load_table=table))


def test_a_flood_of_full_messages_is_read_in_part_and_no_message_of_another_is_dropped() -> None:
    floods = list[str]()
    members, message = OtherReplicas("own", floods.append), full(1)
    later = [encode(msgspec.structs.replace(decode(message), number=number)) for number in range(2, 202)]
    members.hear("flood", message, 10.0)
    members.hear("modest", said(1), 10.0)
    read = 0
    for number, each in enumerate(later, 2):
        now = 10.0 + number / 20.0
        try:
            members.hear("flood", each, now)
            read += 1
        except MessageRefused as refused:
            assert refused.refusal is MessageRefusal.TOO_MUCH
            with pytest.raises(MessageRefused):
                members.admit("flood", now)
        members.admit("modest", now)
        members.hear("modest", said(number), now)
    assert 20 <= read <= 45, "about four a second, of twenty"
    assert {identity for identity, _ in members.up(20.2)} == {"flood", "modest"}, "that is no lie"
    assert floods == ["flood"], "once"


def test_who_is_not_heard_is_not_even_let_in() -> None:
    members = OtherReplicas("own")
    members.admit("own", 10.0)
    members.admit("b", 10.0)
    assert refusal(members, "b", b"noise", 10.0) is MessageRefusal.MALFORMED
    with pytest.raises(MessageRefused, match="distrusted"):
        members.admit("b", 11.0)
    members.admit("b", 71.0)
    assert members.refused == {MessageRefusal.MALFORMED: 1, MessageRefusal.DISTRUSTED: 1}


def test_who_is_another_one_again_and_again_comes_once_a_second() -> None:
    members, came = OtherReplicas("own"), 0
    members.hear("modest", said(1), 10.0)
    for number in range(1000):
        now = 10.0 + number / 100.0
        try:
            members.admit(f"anew {number}", now)
            members.hear(f"anew {number}", said(1, seconds=0.1), now)
            came += 1
        except MessageRefused as refused:
            assert refused.refusal is MessageRefusal.CROWDED
        if number % 100 == 0:
            members.hear("modest", said(2 + number), now)
    assert came <= 2 * REPLICAS_MOST + 10
    assert "modest" in {identity for identity, _ in members.up(20.0)}


def spent(number: int, asked: int, passed: int, *, key: int = 7) -> bytes:
    return encode(Message(number=number, spent=(SpentRow(1, key, asked, passed),)))


def test_what_a_client_spent_is_news_from_the_second_message_on() -> None:
    others = OtherReplicas("own")
    assert others.hear("b", spent(1, 10, 5), 10.0).news == {(1, 7): (0, 0)}
    assert others.hear("b", spent(2, 14, 6), 10.5).news == {(1, 7): (4, 1)}
    assert others.hear("b", spent(3, 2, 2, key=8), 11.0).news == {(1, 8): (2, 2)}, "a client who has just come"
    assert others.hear("b", spent(4, 3, 1), 11.5).news == {(1, 7): (3, 1)}, "a row that was taken over begins anew"


@pytest.mark.parametrize(("asked", "passed", "key"), [(1, 2, 7), (10 + 10**7, 5, 7), (1, 1, 2**64)])
def test_spending_that_cannot_be_is_refused(asked: int, passed: int, key: int) -> None:
    others = OtherReplicas("own")
    others.hear("b", spent(1, 10, 5), 10.0)
    try:
        data = spent(2, asked, passed, key=key)
    except OverflowError:
        return  # no encoder makes such a number
    assert refusal(others, "b", data, 10.5) is MessageRefusal.IMPLAUSIBLE
    assert list(others.up(10.6)) == []


def test_what_a_client_spent_before_its_replica_was_not_believed_is_no_news() -> None:
    others = OtherReplicas("own")
    others.hear("b", spent(1, 10, 5), 10.0)
    assert refusal(others, "b", b"noise", 10.5) is MessageRefusal.MALFORMED
    assert others.hear("b", spent(2, 500, 100), 71.0).news == {(1, 7): (0, 0)}
    assert others.hear("b", spent(3, 502, 101), 71.5).news == {(1, 7): (2, 1)}


def test_a_new_client_cannot_have_asked_more_than_comes_in_the_time() -> None:
    others = OtherReplicas("own")
    others.hear("b", spent(1, 10, 5), 10.0)
    assert refusal(others, "b", spent(2, 10**9, 10**9, key=8), 10.5) is MessageRefusal.IMPLAUSIBLE
