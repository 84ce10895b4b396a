"""The first Ingress to name a backend decides what is set for it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import cast

from balancer.model.endpoints import BackendKey
from balancer.model.routes import Branch, Owner, PathKind, ServiceName
from ingress.findings import Findings
from ingress.objects.kinds import ServicePort, ServicePortReference
from ingress.settings.table.option import Overrides
from ingress.sources.inventory import Inventory
from ingress.translation.claims import BranchClaim, Claim, Claims
from ingress.translation.memory import InventoryView, Memory
from ingress.translation.services.backend_overrides import SaidOverrides, backend_overrides
from tests.unit.ingress.cluster import inventory, reasons, service
from tests.unit.ingress.said import said

CART = BackendKey("shop/cart:80")
BY_NAME, BY_NUMBER = ServicePortReference("http", 0), ServicePortReference("", 80)
THREE, FOUR = said({"max-concurrency": "3"}), said({"max-concurrency": "4", "zone-panic-threshold": "4"})


def claims(
    name: str,
    overrides: Overrides,
    *,
    port: ServicePortReference = BY_NUMBER,
    to: str = "cart",
    namespace: str = "shop",
) -> Claims:
    owner = Owner("Ingress", namespace, name)
    branch = BranchClaim(Branch(None, owner, ServiceName(namespace, to)), port, overrides=overrides)
    claim = Claim(owner, "shop.test", "/", PathKind.PREFIX, (branch,))
    return Claims(owner, claims=(claim,))


def overrides_of(asked: Iterable[Claims], known: Inventory, findings: Findings) -> Mapping[BackendKey, Overrides]:
    memory: Memory[SaidOverrides] = Memory()
    memory.begin(InventoryView(known))
    return backend_overrides(asked, memory, findings)


def test_the_first_to_name_a_backend_wins_with_all_that_it_sets() -> None:
    known, findings = inventory(service()), Findings()
    asked = (claims("old", THREE, port=BY_NAME), claims("young", FOUR))
    assert overrides_of(asked, known, findings) == {CART: THREE}
    assert overrides_of(reversed(asked), known, findings) == {CART: FOUR}
    assert findings.frozen() == ()


def test_the_first_to_name_a_backend_wins_even_if_it_sets_nothing() -> None:
    asked = (claims("old", Overrides()), claims("young", FOUR))
    assert overrides_of(asked, inventory(service()), Findings()) == {CART: Overrides()}


def test_a_claim_to_nothing_sets_nothing() -> None:
    known = inventory(service(), service("dns", ServicePort(53, "dns", "UDP")))
    asked = (
        claims("missing", THREE, to="missing"),
        claims("other-namespace", THREE, namespace="other"),
        claims("other-port", THREE, port=ServicePortReference("", 81)),
        claims("udp", THREE, to="dns", port=ServicePortReference("", 53)),
    )
    assert overrides_of(asked, known, Findings()) == {}


def test_a_mistake_of_ours_costs_only_the_object_that_triggers_it() -> None:
    broken = Claims(Owner("Ingress", "shop", "broken"), claims=(cast("Claim", None),))
    findings = Findings()
    assert overrides_of((broken, claims("web", THREE)), inventory(service()), findings) == {CART: THREE}
    assert reasons(findings.frozen()) == [("broken", "InternalError")]
