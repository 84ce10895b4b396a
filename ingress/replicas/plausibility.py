"""Judges whether a message can follow what a replica told before, and what is new in it. No I/O, no clock."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import product
from operator import sub
from typing import Final, NamedTuple

from balancer.sharing.sums import grown, highest, lowest
from ingress.replicas.messages import Message, MessageRefusal, MessageRefused, SeenRow, SeenTable
from ingress.replicas.other_replica import NOTHING_SEEN, KnownTotals, OtherReplica, SeenNews
from ingress.replicas.seen_columns import LOADS, ZONES, Columns, SeenColumns, columns_of, unpacked

_NUMBERS: Final = 2**64
# No process serves more requests a second. A total that grows faster is wrong.
_REQUESTS_A_SECOND_MOST: Final = 1_000_000.0
# What came in less time than this is judged as if it came in so many seconds.
_JUDGED_SECONDS_LEAST: Final = 1.0


class Judged(NamedTuple):
    """What is new in the rows of workers in a message that counts."""

    loads: SeenNews
    zones: SeenNews


def judge(member: OtherReplica, message: Message, now: float) -> Judged:
    """Raises `MessageRefused` for a message that cannot follow what `member` told before; what it told counts no more.

    Totals of what workers saw are learnt here.
    """
    if member.heard_at > float("-inf") and message.number <= member.last.number:
        raise MessageRefused(MessageRefusal.REPLAYED)
    requests_most = _REQUESTS_A_SECOND_MOST * max(now - member.heard_at, _JUDGED_SECONDS_LEAST)
    loads = seen_news(member.loads, _seen(message.load_table, message.loads, LOADS), LOADS, requests_most)
    zones = seen_news(member.zones, _seen(message.zone_table, message.zones, ZONES), ZONES, requests_most)
    for spent in message.spent:
        if spent.passed > spent.asked or max(spent.limit, spent.key) >= _NUMBERS:
            raise MessageRefused(MessageRefusal.IMPLAUSIBLE)
        asked_before, _ = member.spent.rows.get((spent.limit, spent.key), (spent.asked if member.is_new else 0, 0))
        if spent.asked - asked_before > requests_most:
            raise MessageRefused(MessageRefusal.IMPLAUSIBLE)
    if any(row.failed > row.answers for row in message.health):
        raise MessageRefused(MessageRefusal.IMPLAUSIBLE)
    if message.health:
        answers = {name: total for name, (total, _) in member.health.totals.rows.items()}
        _judge_totals(answers, [(row.namespace, row.answers) for row in message.health], requests_most)
    _judge_totals(member.picks.rows, [(row.service, row.total) for row in message.picks], requests_most)
    return Judged(loads, zones)


def _judge_totals(known: Mapping[str, int], told: Collection[tuple[str, int]], requests_most: float) -> None:
    """What came before a row is told for the first time is no news, so such a row may have any total."""
    if not told:
        return
    names, totals = zip(*told, strict=True)
    news = [*map(sub, totals, map(known.get, names, totals))]
    if min(news) < 0:
        raise MessageRefused(MessageRefusal.FALLING)
    if max(news) > requests_most:
        raise MessageRefused(MessageRefusal.IMPLAUSIBLE)


def _seen(table: SeenTable | None, rows: Sequence[SeenRow], columns: Columns) -> SeenColumns:
    """What workers saw, as either schema tells it."""
    if table is None and not rows:
        return SeenColumns()
    seen = columns_of(rows, columns) if table is None else unpacked(table)
    if len(seen.totals) != len(columns.totals) or len(seen.state) != len(columns.state):
        raise MessageRefused(MessageRefusal.IMPLAUSIBLE)
    if any(highest(column) > most for column, most in zip(seen.state, columns.most, strict=True)):
        raise MessageRefused(MessageRefusal.IMPLAUSIBLE)
    return seen


def seen_news(known: KnownTotals, seen: SeenColumns, columns: Columns, requests_most: float) -> SeenNews:
    """What was seen since what is `known`, and is known from now on. What a first row holds is no news.

    A row that falls is about something that was gone in between, so it begins anew. Raises `MessageRefused` for what
    cannot be.
    """
    if not seen.tags:
        return NOTHING_SEEN
    news = [*map(grown, seen.totals, known.learn(seen))]
    if min(map(lowest, news)) < 0.0:
        fallen = [number for number, row in enumerate(zip(*news, strict=True)) if min(row) < 0.0]
        for column, number in product(news, fallen):
            column[number] = 0.0
    if not columns.are_plausible(news, requests_most):
        raise MessageRefused(MessageRefusal.IMPLAUSIBLE)
    return SeenNews(seen, news)


def spent_news(member: OtherReplica, message: Message) -> dict[tuple[int, int], tuple[int, int]]:
    """What clients of limits were asked and let pass since the last message.

    A row that falls was taken over by another client and came back, so it begins anew.
    """
    news = {}
    for row in message.spent:
        place = row.limit, row.key
        asked, passed = member.spent.rows.get(place, (row.asked, row.passed) if member.is_new else (0, 0))
        if row.asked < asked or row.passed < passed:
            asked = passed = 0
        news[place] = row.asked - asked, row.passed - passed
    member.spent.learn({(row.limit, row.key): (row.asked, row.passed) for row in message.spent})
    return news
