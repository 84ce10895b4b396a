"""Queues finished spans, and sends them in batches from a thread of its own.

Never delays a request: when the queue of a namespace is full, further spans of that namespace are dropped and counted.
Does not know how spans are encoded or sent.
"""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Final, Protocol

from balancer.logs.tracing.exporting import open_exporter
from balancer.logs.tracing.spans import FinishedSpan
from balancer.model.tracing import SpanExport
from balancer.runtime.shares import FairShares

_LOG = logging.getLogger(__name__)

# Encoding is Python code. So long, and no longer, the event loop waits for the thread each time.
_SWITCH_SECONDS: Final = 0.0005

QUEUE_FULL, NOT_SENT = "queue_full", "not_sent"
"""The reasons for dropped spans, as the metrics name them."""

Dropped = Callable[[str, int], None]
"""Called in the event loop with the reason and the number of dropped spans."""


class SpanExporter(Protocol):
    """Sends batches. All calls come from one thread, and a call may take some seconds."""

    def export(self, spans: Sequence[FinishedSpan]) -> bool:
        """Sends a batch. Returns whether the collector took the batch. Never raises because of the collector."""

    def close(self) -> None:
        """Closes the connections. No batch follows."""


OpenExporter = Callable[[SpanExport], SpanExporter]


class SpanOutbox:
    """The spans of one event loop. All calls must come from that loop. The first span starts a thread."""

    __slots__ = ("_dropped", "_export", "_loop", "_open", "_sender", "_senders")

    def __init__(self, dropped: Dropped, open_exporter: OpenExporter = open_exporter) -> None:
        self._loop = asyncio.get_running_loop()
        self._dropped = dropped
        self._open = open_exporter
        self._export: SpanExport | None = None
        self._sender: _Sender | None = None
        self._senders: list[_Sender] = []

    def follow(self, export: SpanExport | None) -> None:
        """Sends later spans as `export` says; None: drops them. Spans in the queue are sent by the old exporter."""
        if export != self._export:
            self._end()
            self._export = export

    def put(self, span: FinishedSpan, namespace: str) -> None:
        """Queues a span of a route of `namespace`, or drops the span if that namespace has no room left."""
        if self._export is None:
            return
        if self._sender is None:
            self._sender = _Sender(self._export, self._open, self._dropped, self._loop)
            self._senders = [*(each for each in self._senders if not each.ended.is_set()), self._sender]
        if not self._sender.put(span, namespace):
            self._dropped(QUEUE_FULL, 1)

    async def stop(self, seconds: float) -> None:
        """Takes no more spans. Sends those in the queue, for `seconds` at most."""
        self.follow(None)
        waits = [asyncio.ensure_future(each.ended.wait()) for each in self._senders]
        if waits:
            _, late = await asyncio.wait(waits, timeout=seconds)
            for each in late:
                each.cancel()

    def _end(self) -> None:
        if self._sender is not None:
            self._sender.end()
            self._sender = None


class _Sender:
    """A queue and the thread that empties it.

    The thread is a daemon, because a collector that never answers must not keep the process alive.
    """

    __slots__ = ("_dropped", "_export", "_is_ending", "_loop", "_open", "_room", "_spans", "_wake", "ended")

    def __init__(
        self, export: SpanExport, open_exporter: OpenExporter, dropped: Dropped, loop: asyncio.AbstractEventLoop
    ) -> None:
        self._export = export
        self._open = open_exporter
        self._dropped = dropped
        self._loop = loop
        self._spans: deque[tuple[FinishedSpan, str]] = deque()  # its methods are atomic
        self._room = FairShares(2 * export.queue_most)  # so one namespace alone has the queue that was asked for
        self._wake = threading.Event()
        self._is_ending = False
        self.ended = asyncio.Event()
        sys.setswitchinterval(min(sys.getswitchinterval(), _SWITCH_SECONDS))
        threading.Thread(target=self._run, name="spans", daemon=True).start()

    def put(self, span: FinishedSpan, namespace: str) -> bool:
        """Queues a span. Returns False if `namespace` has no room left."""
        spans, export = self._spans, self._export
        if not self._room.take(namespace):
            return False
        spans.append((span, namespace))
        if len(spans) >= min(export.batch_most, export.queue_most) and not self._wake.is_set():
            self._wake.set()
        return True

    def _left(self, namespaces: Sequence[str]) -> None:
        for namespace in namespaces:
            self._room.give_back(namespace)

    def end(self) -> None:
        """Ends the thread after it has sent the queue, or after the collector fails."""
        self._is_ending = True
        self._wake.set()

    # In the thread.

    def _run(self) -> None:
        try:
            exporter = self._open(self._export)
        except Exception:  # the library is missing or broken; requests are served all the same
            _LOG.exception("spans cannot be sent")
            exporter = _Nowhere()
        is_last = False
        while not is_last:
            self._wake.wait(self._export.delay_seconds)
            self._wake.clear()
            is_last = self._is_ending
            self._send_all(exporter)
        with suppress(Exception):
            exporter.close()
        self._tell(self.ended.set)

    def _send_all(self, exporter: SpanExporter) -> None:
        """Sends the spans that are in the queue now. Spans that are added meanwhile wait for the next turn."""
        left = len(self._spans)
        while left > 0:
            batch = [self._spans.popleft() for _ in range(min(left, self._export.batch_most))]
            left -= len(batch)
            self._tell(partial(self._left, [namespace for _, namespace in batch]))
            if self._is_sent(exporter, [span for span, _ in batch]):
                continue
            dropped = len(batch)
            if self._is_ending:
                dropped += left
                left = 0
            self._tell(partial(self._dropped, NOT_SENT, dropped))

    def _is_sent(self, exporter: SpanExporter, batch: Sequence[FinishedSpan]) -> bool:
        try:
            return exporter.export(batch)
        except Exception:
            _LOG.exception("spans could not be sent")
            return False

    def _tell(self, what: Callable[[], None]) -> None:
        with suppress(RuntimeError):  # the loop has closed
            self._loop.call_soon_threadsafe(what)


class _Nowhere:
    """Takes the place of an exporter that could not be made, and refuses every batch."""

    def export(self, spans: Sequence[FinishedSpan]) -> bool:
        return False

    def close(self) -> None:
        """Holds nothing."""
