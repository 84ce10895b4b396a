"""Every look-up is noted, whether there is such an object or not."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ingress.objects.kinds import Ingress, IngressClass, Kind, Node
from ingress.sources.change_stamps import Look
from ingress.sources.inventory import Inventory
from ingress.sources.recorded import RecordedInventory
from tests.unit.ingress.cluster import inventory, service


@pytest.mark.parametrize(
    ("ask", "look"),
    [
        (lambda known: known.of(Ingress), (Kind.INGRESS, None)),
        (lambda known: known.ingress("shop", "web"), (Kind.INGRESS, ("shop", "web"))),
        (lambda known: known.of(IngressClass), (Kind.INGRESS_CLASS, None)),
        (lambda known: known.service("shop", "cart"), (Kind.SERVICE, ("shop", "cart"))),
        (lambda known: known.slices("shop", "cart"), (Kind.ENDPOINT_SLICE, ("shop", "cart"))),
        (lambda known: known.node("n1"), (Kind.NODE, ("", "n1"))),
        (lambda known: known.of(Node), (Kind.NODE, None)),
        (lambda known: known.addresses("shop", "x.test"), (None, ("shop", "x.test"))),
        (lambda known: known.secret("shop", "t"), (Kind.SECRET, ("shop", "t"))),
        (lambda known: known.why_no_secret("shop", "t"), (Kind.SECRET, ("shop", "t"))),
        (lambda known: known.config_map("shop", "c"), (Kind.CONFIG_MAP, ("shop", "c"))),
    ],
)
def test_a_look_is_noted_and_answered_as_ever(ask: Callable[[Inventory], object], look: Look) -> None:
    known = inventory(service())
    recorded = RecordedInventory(known)
    assert repr(ask(recorded)) == repr(ask(known))
    assert recorded.take_looks() == {look}
    assert recorded.take_looks() == frozenset()


def test_no_question_about_objects_is_left_out() -> None:
    known = {"apply", "complete", "findings", "holding_back", "holds_back", "knows"}
    known |= {"has_changed_beyond_slices", "is_newer_version"}
    asked = {name for name in vars(Inventory) if not name.startswith("_")} - {*Inventory.__slots__, "take_changes"}
    assert asked - known == {name for name in vars(RecordedInventory) if not name.startswith("_")} - {
        "looks",
        "take_looks",
    }
