"""What cannot follow from what a replica told before; and what is new in a row."""

from __future__ import annotations

import pytest

from ingress.replicas.messages import HealthRow, Message, MessageRefusal, MessageRefused, SeenRow, encode
from ingress.replicas.others import OtherReplicas
from ingress.replicas.plausibility import SERVICES_MOST, seen_news
from ingress.replicas.sightings import LOADS

TAG = 7


def zeros(first: int, width: int) -> tuple[int, ...]:
    return (first,) + (0,) * (width - 1)


@pytest.mark.parametrize(
    ("then", "refusal"),
    [
        ({"loads": (SeenRow(TAG, zeros(2_000_000, 6)),)}, MessageRefusal.IMPLAUSIBLE),
        ({"loads": (SeenRow(TAG, zeros(1, 7)),)}, MessageRefusal.IMPLAUSIBLE),
        ({"zones": (SeenRow(TAG, zeros(1, 6)),)}, MessageRefusal.IMPLAUSIBLE),
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


def news(known: dict[int, SeenRow], *rows: SeenRow) -> list[tuple[int, ...]]:
    """By how much each row has grown; the rows are known from then on."""
    found = seen_news(known, rows, LOADS, 1_000_000.0)
    known.update(zip(found.tags, found.rows, strict=True))
    return [*zip(*found.columns, strict=True)]


def test_a_row_that_falls_begins_anew() -> None:
    known: dict[int, SeenRow] = {}
    other = SeenRow(TAG + 1, (1,) * 6)
    assert news(known, SeenRow(TAG, (5,) * 6), other) == [(0,) * 6] * 2, "what a first row holds is no news"
    assert news(known, SeenRow(TAG, (6, 5, 5, 5, 5, 5), (1, 2))) == [(1, 0, 0, 0, 0, 0)]
    grown = SeenRow(TAG + 1, (2,) * 6)
    assert news(known, SeenRow(TAG, (7, 5, 5, 5, 5, 4)), grown) == [(0,) * 6, (1,) * 6], "one word falls"
    assert news(known, SeenRow(TAG, (9, 5, 5, 5, 5, 4))) == [(2, 0, 0, 0, 0, 0)]


def test_rows_are_bounded() -> None:
    known = {tag: SeenRow(tag, (0,) * 6) for tag in range(1, SERVICES_MOST + 1)}
    assert news(known, SeenRow(SERVICES_MOST + 1, (9,) * 6), SeenRow(1, (3,) * 6)) == [(3,) * 6], "known ones go on"
    assert len(known) == SERVICES_MOST
    assert seen_news(known, [SeenRow(SERVICES_MOST + 1, (9,) * 6)], LOADS, 1_000_000.0).rows == (), "a message counts"


def test_a_thing_is_told_once_in_a_message() -> None:
    row = SeenRow(TAG, (1,) * 6)
    with pytest.raises(MessageRefused):
        seen_news({TAG: SeenRow(TAG, (0,) * 6)}, [row, row], LOADS, 1_000_000.0)
