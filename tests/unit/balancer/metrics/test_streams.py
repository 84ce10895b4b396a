"""Streams count into the table of the worker, and their bytes where those of requests do."""

from __future__ import annotations

from balancer.metrics.recorder import SUM, Recorder
from balancer.metrics.slots import MINIMUM_BYTES, SlotTable
from balancer.metrics.streams import StreamLabels, StreamRecorder
from tests.unit.balancer.relays.scenes import counted

LABELS = StreamLabels("shop", "r", "TCPRoute", "db", "a", "b", "remote", "stream_idle")


def test_everything_about_a_stream_is_counted() -> None:
    buffer = bytearray(8 * MINIMUM_BYTES)
    streams = StreamRecorder(Recorder(SlotTable(buffer)))
    for _ in range(2):
        streams.connected("shop", "db", "b", "zone_local", 0.0001)
        streams.carried("shop", "db", ("a", "b"), (3, 4), (0.5, 0.25))
        streams.ended(LABELS, 1.5)
    assert counted(buffer, "zonal_stream_connections_total") == {tuple(LABELS): 2.0}
    assert counted(buffer, "zonal_stream_seconds_total") == {LABELS[:4]: 3.0}
    assert counted(buffer, "zonal_stream_connect_seconds") == {("shop", "db", "b"): 2.0}
    assert counted(buffer, "zonal_zone_cost_dollars_total") == {("shop", "db"): 1.0}
    assert counted(buffer, "zonal_zone_blind_cost_dollars_total") == {("shop", "db"): 0.5}
    assert counted(buffer, "zonal_zone_decisions_total") == {("shop", "db", "zone_local"): 2.0}
    assert set(counted(buffer, "zonal_zone_bytes_total").values()) == {6.0, 8.0}
    assert SUM > 1
