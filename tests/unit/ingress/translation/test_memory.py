"""What was made is made again only if something that it was made of has changed, and its findings are repeated."""

from __future__ import annotations

from ingress.findings import ALIKE_LIMIT, Findings, Severity, Subject
from ingress.sources.events import Removed, Upserted
from ingress.sources.inventory import Inventory
from ingress.translation.memory import FindingNotes, InventoryView, Memory, repeat
from tests.unit.ingress.cluster import ingress, inventory, service

ASKER = Subject("Ingress", "shop", "web")


def note(findings: Findings, message: str) -> None:
    findings.add(ASKER, reason="Odd", message=message, effect="", severity=Severity.COSMETIC)


class Making:
    """Makes names of Services, and counts how often."""

    def __init__(self) -> None:
        self.memory: Memory[str] = Memory()
        self.count = 0

    def make(self, known: Inventory, findings: Findings) -> str:
        self.count += 1
        note(findings, "seen")
        found = known.service("shop", "cart")
        return "" if found is None else found.spec.type

    def translate(self, known: Inventory, *given: object) -> tuple[str, int, int]:
        """What is made, how often something was made until now, and the number of findings."""
        findings = Findings()
        self.memory.begin(InventoryView(known))
        made = self.memory.of("key", given, self.make, findings)
        return made, self.count, len(findings.frozen())


def test_it_is_made_once_and_its_findings_are_repeated() -> None:
    making, known = Making(), inventory(service())
    assert making.translate(known, 1) == ("ClusterIP", 1, 1)
    assert making.translate(known, 1) == ("ClusterIP", 1, 1)
    assert making.translate(known, 2) == ("ClusterIP", 2, 1)


def test_it_is_made_again_when_what_it_looked_for_changes_comes_or_goes() -> None:
    making, known = Making(), inventory(service(), service("pay"))
    making.translate(known)
    known.apply(Upserted(service("pay", kind="ExternalName")))
    assert making.translate(known)[1] == 1
    known.apply(Upserted(service(kind="ExternalName")))
    assert making.translate(known) == ("ExternalName", 2, 1)
    known.apply(Removed(service().kind, "shop", "cart"))
    assert making.translate(known) == ("", 3, 1)
    known.apply(Upserted(service()))
    assert making.translate(known) == ("ClusterIP", 4, 1)


def test_an_equal_result_stays_the_same_object() -> None:
    known, memory = inventory(), Memory[list[int]]()
    memory.begin(InventoryView(known))
    first = memory.of("key", (1,), lambda *_: [7], Findings())
    memory.begin(InventoryView(known))
    assert memory.of("key", (2,), lambda *_: [7], Findings()) is first


def test_what_is_not_asked_for_is_forgotten_unless_all_is_kept() -> None:
    making, known = Making(), inventory(service())
    making.translate(known)
    making.memory.begin(InventoryView(known))
    making.memory.keep_all()
    assert making.translate(known)[1] == 1
    making.memory.begin(InventoryView(known))
    assert making.translate(known)[1] == 2


def test_another_inventory_has_nothing_in_common() -> None:
    making = Making()
    making.translate(inventory(service()))
    assert making.translate(inventory(service(kind="ExternalName"))) == ("ExternalName", 2, 1)


def test_while_secrets_wait_what_has_read_any_is_made_anew() -> None:
    known, made = inventory(), list[object]()
    memory: Memory[int] = Memory()

    def make(seen: Inventory, _: Findings) -> int:
        made.append(seen.secret("shop", "t"))
        return len(made)

    for view in (known, known.holding_back({("shop", "t"): None}), known, known):
        memory.begin(InventoryView(view))
        memory.of("key", (), make, Findings())
    assert len(made) == 3


def test_findings_beyond_the_limit_are_not_kept() -> None:
    notes, findings = FindingNotes(), Findings()
    for number in range(5 * ALIKE_LIMIT):
        note(notes, str(number))
    repeat(notes.notes, findings)
    assert findings.frozen() == notes.frozen()
    assert len(findings.frozen()) == ALIKE_LIMIT + 1


def test_who_would_give_the_same_gets_it_again_while_the_kinds_it_saw_are_quiet() -> None:
    making, known = Making(), inventory(service())
    making.translate(known, 1)
    known.apply(Upserted(ingress("web")))
    making.memory.begin(InventoryView(known))
    findings = Findings()
    assert making.memory.again("key", findings) == "ClusterIP"
    assert len(findings.frozen()) == 1
    assert making.memory.again("another", findings) is None
    known.apply(Upserted(service("pay")))
    making.memory.begin(InventoryView(known))
    assert making.memory.again("key", findings) is None
    assert making.memory.of("key", (1,), making.make, findings) == "ClusterIP"
    assert making.count == 1
