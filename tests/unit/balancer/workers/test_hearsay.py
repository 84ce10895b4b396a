"""What others say about endpoints reaches those that a worker knows, within the part of each namespace."""

from __future__ import annotations

from balancer.live import LiveTable
from balancer.metrics.recorder import Recorder
from balancer.metrics.slots import MINIMUM_BYTES, SlotTable
from balancer.model.endpoints import BackendKey
from balancer.picking.ejections import Cause, EjectionStep
from balancer.picking.failing import FAILING_MOST, FailingRow
from balancer.picking.healthlog import HealthLog
from balancer.proxy.forwarder import Sight
from balancer.workers.hearsay import hear, suspect
from balancer.workers.messages import SuspectRow
from tests import builders as build

KEY = "shop/cart:80"
STEP = EjectionStep(1.0, 20.0, Cause.SILENCE, 1)


def live_with(*keys: str, count: int = 2) -> LiveTable:
    live = LiveTable(lambda _: 0)
    backends = [build.backend(key, build.endpoints("a" * count)) for key in keys]
    live.swap(build.publication(1, build.model(*backends)))
    return live


def labels(live: LiveTable, key: str = KEY) -> list[str]:
    return list(live.view.backends[BackendKey(key)].members)


def ejected(live: LiveTable, key: str = KEY) -> int:
    return live.view.backends[BackendKey(key)].health.ejected()


def sight() -> Sight:
    return Sight(Recorder(SlotTable(bytearray(MINIMUM_BYTES))), HealthLog())


def test_what_another_worker_ejected_is_ejected_and_comes_back() -> None:
    live = live_with(KEY)
    label = labels(live)[0]
    hear(live, [FailingRow(KEY, label, 1, False)], 0.5)
    assert ejected(live) == 0
    hear(live, [FailingRow(KEY, label, 5, False, STEP)], 2.0)
    assert ejected(live) == 1
    hear(live, [FailingRow(KEY, label, 0, False, EjectionStep(3.0))], 4.0)
    assert ejected(live) == 0


def test_endpoints_that_are_not_known_are_passed_over() -> None:
    live = live_with(KEY)
    hear(
        live, [FailingRow("shop/gone:80", "10.0.0.1:80", 5, False, STEP), FailingRow(KEY, "gone", 5, False, STEP)], 2.0
    )
    suspect(live, [SuspectRow("shop/gone:80", "10.0.0.1:80", ejects=True)], sight(), 2.0)
    assert ejected(live) == 0


def test_a_namespace_that_has_its_part_takes_nothing_from_another_one() -> None:
    greedy = [f"greedy/cart-{number}:80" for number in range(FAILING_MOST)]
    live = live_with(*greedy, KEY)
    for key in (*greedy, KEY):
        hear(live, [FailingRow(key, labels(live, key)[0], 5, False, STEP)], 2.0)
    assert sum(ejected(live, key) for key in greedy) == FAILING_MOST // 2
    assert ejected(live) == 1


def test_other_replicas_that_agree_eject_and_one_that_suspects_does_not() -> None:
    live = live_with(KEY)
    first, second = labels(live)
    suspect(live, [SuspectRow(KEY, first, ejects=True), SuspectRow(KEY, second, ejects=False)], sight(), 1.0)
    members = live.view.backends[BackendKey(KEY)].members
    assert [members[label].health.is_well for label in (first, second)] == [False, True]
