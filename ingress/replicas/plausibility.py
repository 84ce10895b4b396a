"""Judges whether a message can follow what a replica told before, and what is new in it. No I/O, no clock."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from operator import sub
from typing import Final

from ingress.replicas.messages import Message, MessageRefusal, MessageRefused, SeenRow
from ingress.replicas.other_replica import OtherReplica
from ingress.replicas.sightings import LOADS, ZONES, Columns

SERVICES_MOST: Final = 8192
"""Of one replica so many Services are known, and so many rows of each kind."""

_CLIENTS_MOST: Final = 16_384
_NUMBERS: Final = 2**64
# No process serves more requests a second. A total that grows faster is wrong.
_REQUESTS_A_SECOND_MOST: Final = 1_000_000.0
# What came in less time than this is judged as if it came in so many seconds.
_JUDGED_SECONDS_LEAST: Final = 1.0


def judge(member: OtherReplica, message: Message, now: float) -> None:
    """Raises `MessageRefused` for a message that cannot follow what `member` told before."""
    is_first = member.heard_at == float("-inf")
    if not is_first and message.number <= member.last.number:
        raise MessageRefused(MessageRefusal.REPLAYED)
    if len(member.picks) + sum(row.service not in member.picks for row in message.picks) > SERVICES_MOST:
        raise MessageRefused(MessageRefusal.IMPLAUSIBLE)
    requests_most = _REQUESTS_A_SECOND_MOST * max(now - member.heard_at, _JUDGED_SECONDS_LEAST)
    _judge_seen(member.loads, message.loads, LOADS, requests_most)
    _judge_seen(member.zones, message.zones, ZONES, requests_most)
    for spent in message.spent:
        if spent.passed > spent.asked or max(spent.limit, spent.key) >= _NUMBERS:
            raise MessageRefused(MessageRefusal.IMPLAUSIBLE)
        asked_before, _ = member.spent.get((spent.limit, spent.key), (spent.asked, 0))
        if spent.asked - asked_before > requests_most:
            raise MessageRefused(MessageRefusal.IMPLAUSIBLE)
    if len(member.health.totals.keys() | {row.namespace for row in message.health}) > SERVICES_MOST:
        raise MessageRefused(MessageRefusal.IMPLAUSIBLE)
    for health in message.health:
        answers, _ = member.health.totals.get(health.namespace, (health.answers, 0))
        _judge_total(answers, health.answers, requests_most)
        if health.failed > health.answers:
            raise MessageRefused(MessageRefusal.IMPLAUSIBLE)
    for row in message.picks:
        _judge_total(member.picks.get(row.service, row.total), row.total, requests_most)


def _judge_total(before: int, after: int, requests_most: float) -> None:
    """What came before a row is told for the first time is no news, so such a row may have any total."""
    if after < before:
        raise MessageRefused(MessageRefusal.FALLING)
    if after - before > requests_most:
        raise MessageRefused(MessageRefusal.IMPLAUSIBLE)


def _judge_seen(known: Mapping[int, SeenRow], rows: Iterable[SeenRow], columns: Columns, requests_most: float) -> None:
    for row in rows:
        if len(row.totals) != len(columns.totals) or len(row.state) not in (0, len(columns.state)):
            raise MessageRefused(MessageRefusal.IMPLAUSIBLE)
        before = known.get(row.tag)
        if before is not None and not columns.are_plausible(grown(before, row), requests_most):
            raise MessageRefused(MessageRefusal.IMPLAUSIBLE)


def seen_news(known: dict[int, SeenRow], rows: Iterable[SeenRow]) -> dict[int, SeenRow]:
    """What was seen since the rows that are `known`, which take over `rows`. What a first row holds is no news.

    A row that falls is about something that was gone in between, so it begins anew.
    """
    news = {}
    for row in rows:
        before = known.get(row.tag)
        if before is None and len(known) >= SERVICES_MOST:
            continue
        known[row.tag] = row
        if before is not None:
            news[row.tag] = SeenRow(row.tag, grown(before, row), row.state)
    return news


def grown(before: SeenRow, after: SeenRow) -> tuple[int, ...]:
    """What the totals have grown by; nothing if one of them falls."""
    by = tuple(map(sub, after.totals, before.totals))
    return by if min(by) >= 0 else (0,) * len(by)


def spent_news(member: OtherReplica, message: Message) -> dict[tuple[int, int], tuple[int, int]]:
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
