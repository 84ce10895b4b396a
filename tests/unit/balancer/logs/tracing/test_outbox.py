"""The queue of spans: it is bounded, leaves in batches, outlives every collector, and ends in time."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import AsyncIterator, Sequence

import pytest

from balancer.logs.tracing.outbox import NOT_SENT, QUEUE_FULL, SpanOutbox
from balancer.logs.tracing.spans import FinishedSpan
from balancer.model.tracing import SpanExport
from tests.fakes.sockets import PATIENCE_SECONDS, until

EXPORT = SpanExport("collector.test", queue_most=4, delay_seconds=0.001, batch_most=2)
LAZY = SpanExport("collector.test", queue_most=100, delay_seconds=PATIENCE_SECONDS * 10, batch_most=50)


def span(number: int) -> FinishedSpan:
    return FinishedSpan(f"{number:032x}", "1" * 16, "", str(number), 0, 1, (), failed=False)


class Collector:
    """Takes batches while `open` is set, and notes them."""

    def __init__(self, *, takes: bool = True) -> None:
        self.open = threading.Event()
        self.open.set()
        self.batches: list[list[str]] = []
        self.asked = self.closed = 0
        self.takes = takes
        self.exports: list[SpanExport] = []

    def connect(self, export: SpanExport) -> Collector:
        self.exports.append(export)
        return self

    def export(self, spans: Sequence[FinishedSpan]) -> bool:
        self.asked += 1
        self.open.wait()
        self.batches.append([each.name for each in spans])
        return self.takes

    def close(self) -> None:
        self.closed += 1


class Counts:
    """Counts dropped spans by reason."""

    def __init__(self) -> None:
        self.by_reason: Counter[str] = Counter()

    def drop(self, reason: str, number: int) -> None:
        self.by_reason[reason] += number


@pytest.fixture
async def collector() -> AsyncIterator[Collector]:
    made = Collector()
    yield made
    made.open.set()


async def test_spans_leave_in_order_and_in_batches(collector: Collector) -> None:
    counts = Counts()
    outbox = SpanOutbox(counts.drop, collector.connect)
    outbox.follow(LAZY)
    for number in range(60):
        outbox.put(span(number), "shop")
    await outbox.stop(PATIENCE_SECONDS)
    assert [name for batch in collector.batches for name in batch] == [str(number) for number in range(60)]
    assert max(map(len, collector.batches)) <= LAZY.batch_most
    assert (collector.closed, counts.by_reason) == (1, {})


async def test_a_whole_batch_does_not_wait(collector: Collector) -> None:
    outbox = SpanOutbox(Counts().drop, collector.connect)
    outbox.follow(LAZY)
    for number in range(LAZY.batch_most):
        outbox.put(span(number), "shop")
    await until(lambda: bool(collector.batches))
    await outbox.stop(PATIENCE_SECONDS)


async def test_a_full_queue_drops_the_next_spans_and_counts_them(collector: Collector) -> None:
    counts = Counts()
    outbox = SpanOutbox(counts.drop, collector.connect)
    outbox.follow(EXPORT)
    collector.open.clear()
    outbox.put(span(0), "shop")
    await until(lambda: collector.asked == 1)  # the thread waits with the only span
    for number in range(1, EXPORT.queue_most + 4):
        outbox.put(span(number), "shop")
    assert counts.by_reason == {QUEUE_FULL: 3}
    collector.open.set()
    await outbox.stop(PATIENCE_SECONDS)
    assert sum(map(len, collector.batches)) == 1 + EXPORT.queue_most


async def test_a_namespace_with_many_spans_leaves_room_for_those_of_others(collector: Collector) -> None:
    counts = Counts()
    outbox = SpanOutbox(counts.drop, collector.connect)
    outbox.follow(LAZY)
    collector.open.clear()
    for number in range(LAZY.queue_most + 50):
        outbox.put(span(number), "greedy")
    dropped = counts.by_reason[QUEUE_FULL]
    for number in range(LAZY.queue_most // 4):
        outbox.put(span(number), "modest")
    assert dropped
    assert counts.by_reason == {QUEUE_FULL: dropped}
    collector.open.set()
    await outbox.stop(PATIENCE_SECONDS)


async def test_what_a_collector_refuses_is_counted_and_later_spans_are_sent(collector: Collector) -> None:
    counts = Counts()
    outbox = SpanOutbox(counts.drop, collector.connect)
    outbox.follow(EXPORT)
    collector.takes = False
    outbox.put(span(0), "shop")
    await until(lambda: counts.by_reason[NOT_SENT] == 1)
    collector.takes = True
    outbox.put(span(1), "shop")
    await until(lambda: ["1"] in collector.batches)
    await outbox.stop(PATIENCE_SECONDS)
    assert counts.by_reason == {NOT_SENT: 1}


async def test_an_exporter_that_raises_costs_its_batch(collector: Collector) -> None:
    class Broken(Collector):
        def export(self, spans: Sequence[FinishedSpan]) -> bool:
            raise ValueError("broken")

    counts = Counts()
    outbox = SpanOutbox(counts.drop, Broken().connect)
    outbox.follow(EXPORT)
    outbox.put(span(0), "shop")
    await until(lambda: counts.by_reason[NOT_SENT] == 1)
    await outbox.stop(PATIENCE_SECONDS)


async def test_without_the_library_spans_are_counted_as_dropped() -> None:
    def fails(export: SpanExport) -> Collector:
        raise ModuleNotFoundError("opentelemetry")

    counts = Counts()
    outbox = SpanOutbox(counts.drop, fails)
    outbox.follow(EXPORT)
    outbox.put(span(0), "shop")
    await until(lambda: counts.by_reason[NOT_SENT] == 1)
    await outbox.stop(PATIENCE_SECONDS)


async def test_the_end_does_not_wait_for_a_collector_that_hangs(collector: Collector) -> None:
    outbox = SpanOutbox(Counts().drop, collector.connect)
    outbox.follow(EXPORT)
    collector.open.clear()
    outbox.put(span(0), "shop")
    await until(lambda: collector.asked == 1)
    await outbox.stop(0.01)
    assert collector.batches == []


async def test_a_collector_that_fails_at_the_end_is_not_asked_again(collector: Collector) -> None:
    counts = Counts()
    outbox = SpanOutbox(counts.drop, collector.connect)
    outbox.follow(LAZY)
    collector.takes = False
    for number in range(3):
        outbox.put(span(number), "shop")
    await outbox.stop(PATIENCE_SECONDS)
    assert (collector.asked, counts.by_reason) == (1, {NOT_SENT: 3})


async def test_after_a_change_spans_go_to_the_new_collector(collector: Collector) -> None:
    outbox = SpanOutbox(Counts().drop, collector.connect)
    outbox.follow(LAZY)
    outbox.put(span(0), "shop")
    outbox.follow(LAZY)
    outbox.follow(EXPORT)
    outbox.put(span(1), "shop")
    await outbox.stop(PATIENCE_SECONDS)
    assert collector.exports == [LAZY, EXPORT]
    assert sorted(name for batch in collector.batches for name in batch) == ["0", "1"]


async def test_without_spans_nothing_is_opened(collector: Collector) -> None:
    outbox = SpanOutbox(Counts().drop, collector.connect)
    outbox.put(span(0), "shop")  # nobody collects spans
    outbox.follow(EXPORT)
    await asyncio.wait_for(outbox.stop(PATIENCE_SECONDS), PATIENCE_SECONDS)
    outbox.put(span(1), "shop")
    assert collector.exports == []
