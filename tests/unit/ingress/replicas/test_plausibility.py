"""What cannot follow from what a replica told before; and what is new in a row."""

from __future__ import annotations

import pytest

from ingress.replicas.messages import HealthRow, Message, MessageRefusal, MessageRefused, SeenRow, encode
from ingress.replicas.other_replica import KnownTotals
from ingress.replicas.others import OtherReplicas
from ingress.replicas.plausibility import seen_news
from ingress.replicas.recent import NAMES_MOST
from ingress.replicas.seen_columns import LOADS, SeenColumns, packed

TAG = 7


def zeros(first: int, width: int) -> tuple[int, ...]:
    return (first,) + (0,) * (width - 1)


def columns(*rows: tuple[int, tuple[float, ...]]) -> SeenColumns:
    """Things by their tags with these totals."""
    tags, totals = zip(*rows, strict=True)
    unknown = [0.0] * len(tags)
    return SeenColumns(tags, tuple([*column] for column in zip(*totals, strict=True)), (unknown, unknown))


FEW_TOTALS = columns((TAG, (1.0,) * 5))
WITHOUT_STATE = columns((TAG, (1.0,) * 6))._replace(state=())


@pytest.mark.parametrize(
    ("then", "refusal"),
    [
        ({"loads": (SeenRow(TAG, zeros(2_000_000, 6)),)}, MessageRefusal.IMPLAUSIBLE),
        ({"loads": (SeenRow(TAG, zeros(1, 7)),)}, MessageRefusal.IMPLAUSIBLE),
        ({"zones": (SeenRow(TAG, zeros(1, 6)),)}, MessageRefusal.IMPLAUSIBLE),
        ({"load_table": packed(columns((TAG, zeros(2_000_000, 6))))}, MessageRefusal.IMPLAUSIBLE),
        ({"load_table": packed(FEW_TOTALS)}, MessageRefusal.IMPLAUSIBLE),
        ({"load_table": packed(WITHOUT_STATE)}, MessageRefusal.IMPLAUSIBLE),
        ({"zone_table": packed(columns((TAG, zeros(1, 6))))}, MessageRefusal.IMPLAUSIBLE),
        ({"health": (HealthRow("shop", 4, 0),)}, MessageRefusal.FALLING),
        ({"health": (HealthRow("shop", 2_000_000, 0),)}, MessageRefusal.IMPLAUSIBLE),
        ({"health": (HealthRow("shop", 6, 7),)}, MessageRefusal.IMPLAUSIBLE),
    ],
)
def test_what_cannot_follow_is_refused(then: dict[str, object], refusal: MessageRefusal) -> None:
    members = OtherReplicas("own")
    first = Message(number=1, loads=(SeenRow(TAG, zeros(5, 6)),), health=(HealthRow("shop", 5, 1),))
    members.hear("b", encode(first), 1.0)
    with pytest.raises(MessageRefused) as refused:
        members.hear("b", encode(Message(number=2, **then)), 1.5)  # type: ignore[arg-type]
    assert refused.value.refusal is refusal


def news(known: KnownTotals, *rows: tuple[int, tuple[float, ...]]) -> list[tuple[float, ...]]:
    """By how much each row has grown; the rows are known from then on."""
    return [*zip(*seen_news(known, columns(*rows), LOADS, 1_000_000.0).grown, strict=True)]


def test_a_row_that_falls_begins_anew() -> None:
    known, other = KnownTotals(), TAG + 1
    assert news(known, (TAG, (5.0,) * 6), (other, (1.0,) * 6)) == [(0.0,) * 6] * 2, "what a first row holds is no news"
    assert news(known, (TAG, (6.0, 5.0, 5.0, 5.0, 5.0, 5.0))) == [(1.0, 0.0, 0.0, 0.0, 0.0, 0.0)]
    fallen = (TAG, (7.0, 5.0, 5.0, 5.0, 5.0, 4.0))
    assert news(known, fallen, (other, (2.0,) * 6)) == [(0.0,) * 6, (1.0,) * 6], "one word falls"
    assert news(known, (TAG, (9.0, 5.0, 5.0, 5.0, 5.0, 4.0))) == [(2.0, 0.0, 0.0, 0.0, 0.0, 0.0)]


def test_names_that_were_told_longest_ago_make_room_for_new_ones() -> None:
    known, halves = KnownTotals(), (range(1, 4097), range(4097, NAMES_MOST + 1))
    for total in (0.0, 4.0):
        for half in halves:
            assert news(known, *((tag, (total,) * 6) for tag in half)) == [(total,) * 6] * 4096
    more = range(NAMES_MOST + 1, NAMES_MOST + 4097)
    assert news(known, *((tag, (9.0,) * 6) for tag in more)) == [(0.0,) * 6] * 4096
    assert news(known, *((tag, (10.0,) * 6) for tag in more)) == [(1.0,) * 6] * 4096, "new ones count from then on"
    assert news(known, (4097, (5.0,) * 6), (1, (5.0,) * 6)) == [(1.0,) * 6, (0.0,) * 6]
    assert len(known) == NAMES_MOST + 1, "the first half has made room"


def test_both_schemas_go_on_from_each_other() -> None:
    """A replica is replaced by one of a later version while another one keeps what it knows of it."""
    members = OtherReplicas("own")
    members.hear("b", encode(Message(number=1, loads=(SeenRow(TAG, (5,) * 6),))), 1.0)
    told = packed(columns((TAG, (8.0, 8.0, 8.0, 0.5, 8.0, 0.25))))
    heard = members.hear("b", encode(Message(number=2, load_table=told)), 1.5)
    assert [column[0] for column in heard.load_news.grown] == pytest.approx([3.0, 3.0, 3.0, 0.499995, 3.0, 0.249995])
