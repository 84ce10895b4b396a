"""All used backends are remembered as a whole while neither what they were made of nor slices and Nodes change."""

from __future__ import annotations

from balancer.model.endpoints import Backend, BackendKey
from ingress.findings import Findings
from ingress.objects.kinds import KubernetesObject
from ingress.settings.table.cluster import ClusterSettings
from ingress.settings.table.option import Overrides
from ingress.sources.events import Upserted
from ingress.translation.memory import InventoryView
from ingress.translation.services.backend_memories import BackendMemories, UsedBackends
from tests.unit.ingress.cluster import endpoint, endpoint_slice, ingress, inventory, node, rule, service
from tests.unit.ingress.said import said

_Said = dict[BackendKey, Overrides]
_Step = tuple[KubernetesObject, ClusterSettings, _Said, set[BackendKey] | frozenset[BackendKey] | None]


class Using:
    """Counts how often the used backends are made."""

    def __init__(self) -> None:
        self.memories = BackendMemories()
        self.count = 0

    def make(self) -> UsedBackends:
        self.count += 1
        return UsedBackends()


def test_they_are_made_again_for_other_backends_and_for_changes_that_endpoints_see() -> None:
    using, known = Using(), inventory(service(), endpoint_slice(), node("n1"))
    counts = []
    steps: list[tuple[tuple[str, ...], KubernetesObject]] = [
        (("a",), ingress("web", rule())),
        (("a",), ingress("web", rule("b.test"))),
        (("b",), ingress("web", rule())),
        (("b",), node("n1", "zone-b")),
        (("b",), endpoint_slice("cart-1", endpoint("10.0.0.9"))),
        (("b",), ingress("web", rule("c.test"))),
    ]
    for given, item in steps:
        known.apply(Upserted(item))
        using.memories.begin(InventoryView(known))
        using.memories.used(given, using.make)
        counts.append(using.count)
    assert counts == [1, 1, 2, 3, 4, 4]


def test_another_inventory_has_nothing_in_common() -> None:
    using = Using()
    for _ in range(2):
        using.memories.begin(InventoryView(inventory(service())))
        using.memories.used(("a",), using.make)
    assert using.count == 2


def test_what_is_kept_as_a_whole_is_kept_in_its_parts() -> None:
    using, known, made = Using(), inventory(service()), list[str]()

    def make(*_: object) -> Backend:
        made.append("")
        return Backend(BackendKey("shop/cart:80"), "shop", "cart", "80")

    for looks in (True, False, True):
        using.memories.begin(InventoryView(known))
        if looks:
            using.memories.placed.of("key", (), make, Findings())
        using.memories.used(("a",), using.make)
    assert len(made) == 1


def test_what_differs_for_backends_is_known_while_services_and_settings_stay() -> None:
    memories, known, settings = BackendMemories(), inventory(service()), ClusterSettings()
    cart, pay = BackendKey("shop/cart:80"), BackendKey("shop/pay:80")
    some, others = said({"max-concurrency": "1"}), said({"max-concurrency": "2"})
    steps: list[_Step] = [
        (ingress("a"), settings, {cart: some}, None),
        (ingress("b"), settings, {cart: some}, frozenset()),
        (ingress("c"), settings, {cart: others, pay: some}, {cart, pay}),
        (ingress("d"), settings, {pay: some}, {cart}),
        (service("pay"), settings, {pay: some}, None),
        (ingress("e"), ClusterSettings(), {pay: some}, None),
        (ingress("f"), settings, {pay: some}, None),
    ]
    for item, given, overrides, expected in steps:
        known.apply(Upserted(item))
        memories.begin(InventoryView(known))
        assert memories.others(given, overrides) == expected
        memories.used((), UsedBackends)
    memories.begin(InventoryView(inventory(service())))
    assert memories.others(settings, {pay: some}) is None
