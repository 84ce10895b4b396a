"""Counts streams, which are relayed as bytes, into the slot table of a worker.

Bytes, costs and zone decisions count in the metrics of requests. Only the thread that owns the slot table may call this
module.
"""

from __future__ import annotations

from typing import NamedTuple

from balancer.metrics.definitions import ZONE_BLIND_COST, ZONE_BYTES, ZONE_COST, ZONE_DECISIONS
from balancer.metrics.recorder import Recorder
from balancer.metrics.stream_metrics import STREAM_CONNECT, STREAM_CONNECTIONS, STREAM_SECONDS


class StreamLabels(NamedTuple):
    """Under what a stream is counted. `error` is empty if both sides had said everything."""

    namespace: str
    ingress: str
    kind: str
    service: str
    from_zone: str
    to_zone: str
    locality: str
    error: str


class StreamRecorder:
    """Counts by means of the recorder of requests."""

    __slots__ = ("_recorder",)

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder

    def connected(self, namespace: str, service: str, to_zone: str, reason: str, seconds: float) -> None:
        """Counts that an endpoint accepted after `seconds`. `reason` is that of the pick."""
        self._recorder.observe(STREAM_CONNECT, (namespace, service, to_zone), seconds)
        self._recorder.count(ZONE_DECISIONS, (namespace, service, reason))

    def carried(
        self,
        namespace: str,
        service: str,
        zones: tuple[str, str],
        sizes: tuple[int, int],
        dollars: tuple[float, float],
    ) -> None:
        """Counts bytes between two zones: sent and received, with their cost and that of a zone-blind proxy."""
        recorder, place = self._recorder, (namespace, service)
        recorder.count(ZONE_BYTES, (*place, *zones, "request"), float(sizes[0]))
        recorder.count(ZONE_BYTES, (*place, *zones, "response"), float(sizes[1]))
        if any(dollars):
            recorder.count(ZONE_COST, place, dollars[0])
            recorder.count(ZONE_BLIND_COST, place, dollars[1])

    def ended(self, labels: StreamLabels, seconds: float) -> None:
        """Counts a stream at its end."""
        self._recorder.count(STREAM_CONNECTIONS, tuple(labels))
        self._recorder.count(STREAM_SECONDS, labels[:4], seconds)
