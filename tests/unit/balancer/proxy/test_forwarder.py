"""What connects have shown is told once: ejections are counted, and each change has its line. Who is gone is left."""

from __future__ import annotations

import logging

import pytest

from balancer.metrics.definitions import EJECTIONS
from balancer.metrics.recorder import NUMBERS, Recorder
from balancer.metrics.slots import SlotTable, read
from balancer.picking.backend import BackendRuntime
from balancer.picking.endpoint_health import Change
from balancer.picking.healthlog import HealthLog
from balancer.proxy.forwarder import Forwarder, Sight
from tests import builders
from tests.fakes.sockets import until
from tests.fakes.streams import MemoryPools


@pytest.mark.parametrize(
    ("change", "ejections"),
    [
        (Change.EJECTED, 1),
        (Change.EJECTED_AGAIN, 1),
        (Change.FELL_SILENT, 1),
        (Change.HEARD, 0),
        (Change.RETURNED, 0),
    ],
)
def test_ejections_of_every_kind_are_counted(change: Change, ejections: int) -> None:
    slots = bytearray(64 * 1024)
    runtime = BackendRuntime.fresh(
        builders.backend(of=builders.endpoints("a")), own_zone=builders.own_zone(None), random_below=lambda _: 0
    )
    (member,) = runtime.members.values()
    Sight(Recorder(SlotTable(slots)), HealthLog()).tell_all(runtime, ((member, change),), 0.0)
    counted = [entry for entry in read(slots) if entry.key.metric == NUMBERS[EJECTIONS.name]]
    assert [entry.key.labels for entry in counted] == [("shop", "cart")] * ejections


def test_a_change_has_its_line(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    runtime = BackendRuntime.fresh(
        builders.backend(of=builders.endpoints("a")), own_zone=builders.own_zone(None), random_below=lambda _: 0
    )
    (member,) = runtime.members.values()
    sight = Sight(Recorder(SlotTable(bytearray(64 * 1024))), HealthLog())
    sight.tell(runtime, member, Change.EJECTED, 0.0, "endpoint_closed")
    assert caplog.messages == [
        "endpoint 10.0.0.1:80 (zone-a) of shop/cart:80 is ejected for 0 s: it failed too often in a row, last with "
        "endpoint_closed"
    ]


async def test_whoever_is_known_to_be_silent_need_not_be_asked() -> None:
    runtime = BackendRuntime.fresh(
        builders.backend(of=builders.endpoints("ab")), own_zone=builders.own_zone(None), random_below=lambda _: 0
    )
    member, _ = runtime.members.values()
    pools = MemoryPools(lambda _: None)
    recorder = Recorder(SlotTable(bytearray(64 * 1024)))
    forwarder = Forwarder(pools=pools, recorder=recorder, health_log=HealthLog())
    member.is_silent = True
    assert forwarder.look_in(runtime, member, None, True, 0.5) == 0.0
    assert pools.asked_in_http2 == [True], "idle connections of this pool end"
    assert not pools.coming
    member.is_silent = False
    assert forwarder.look_in(runtime, member, None, True, 0.5) > 0.0
    await until(lambda: not pools.coming)
