"""Which status writes are due: only differing ones, foreign edits restored, ours cleared once."""

from __future__ import annotations

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingress.objects.kinds import IngressStatus, LoadBalancerStatus, PublishedAddress
from ingress.settings.context import TranslationContext
from ingress.writing.statuses import CurrentStatus, PatchOutcome, Statuses, StatusPatch, outcome_of, standings_of
from tests.unit.ingress.cluster import ingress, ingress_class, inventory

OURS = (PublishedAddress(hostname="lb.test"), PublishedAddress(ip="203.0.113.7"))
FOREIGN = (PublishedAddress(ip="192.0.2.9"),)


def standing(
    name: str = "web",
    addresses: tuple[PublishedAddress, ...] = (),
    *,
    accepted: bool = True,
    version: str = "1",
    uid: str = "u",
) -> CurrentStatus:
    return CurrentStatus(
        namespace="shop", name=name, uid=uid, version=version, is_accepted=accepted, addresses=addresses
    )


def patch(name: str = "web", addresses: tuple[PublishedAddress, ...] = OURS, version: str = "1") -> StatusPatch:
    return StatusPatch(namespace="shop", name=name, version=version, addresses=addresses)


def test_an_accepted_ingress_without_our_addresses_gets_them() -> None:
    assert Statuses().due([standing()], OURS) == (patch(),)


def test_what_is_right_is_not_written_in_whatever_order_it_is() -> None:
    assert Statuses().due([standing(addresses=OURS), standing("b", OURS[::-1])], OURS) == ()


def test_a_foreign_edit_is_due_to_be_restored() -> None:
    for wrong in (FOREIGN, OURS[:1], (*OURS, *FOREIGN)):
        assert Statuses().due([standing(addresses=wrong)], OURS) == (patch(),)


def test_what_was_never_ours_is_left_alone_even_with_our_addresses() -> None:
    """Two controllers on the same nodes publish the same addresses."""
    assert Statuses().due([standing(addresses=OURS, accepted=False)], OURS) == ()


def test_what_is_ours_no_more_is_cleared_once() -> None:
    statuses = Statuses()
    statuses.note([standing(addresses=OURS)])
    left = standing(addresses=OURS, accepted=False, version="2")
    (cleared,) = statuses.due([left], OURS)
    assert cleared == patch(addresses=(), version="2")
    statuses.written(cleared)
    assert statuses.due([left], OURS) == ()
    assert statuses.due([standing(addresses=OURS, accepted=False, version="3")], OURS) == ()


def test_a_clearing_that_failed_is_due_again() -> None:
    statuses = Statuses()
    statuses.note([standing(addresses=OURS)])
    left = [standing(addresses=OURS, accepted=False, version="2")]
    assert statuses.due(left, OURS) == statuses.due(left, OURS) != ()


def test_what_another_controller_wrote_is_not_cleared() -> None:
    statuses = Statuses()
    statuses.note([standing(addresses=OURS)])
    assert statuses.due([standing(addresses=FOREIGN, accepted=False)], OURS) == ()
    assert statuses.due([standing(addresses=(*OURS, *FOREIGN), accepted=False)], OURS) == ()


def test_an_ingress_that_was_made_anew_was_never_ours() -> None:
    statuses = Statuses()
    statuses.note([standing(addresses=OURS)])
    assert statuses.due([standing(addresses=OURS, accepted=False, uid="other")], OURS) == ()


def test_without_addresses_nothing_is_due_and_what_was_ours_is_remembered() -> None:
    statuses = Statuses()
    statuses.note([standing("a", OURS), standing("b")])
    left = [standing("a", OURS, accepted=False), standing("b", FOREIGN)]
    assert statuses.due(left, ()) == ()
    assert [item.name for item in statuses.due(left, OURS)] == ["a", "b"]


def test_a_write_that_the_watch_has_not_shown_yet_is_not_repeated() -> None:
    statuses = Statuses()
    (first,) = statuses.due([standing()], OURS)
    statuses.written(first)
    assert statuses.due([standing()], OURS) == ()
    assert statuses.due([standing(version="3")], OURS) == (patch(version="3"),)


def test_new_addresses_are_written_even_so() -> None:
    statuses = Statuses()
    (first,) = statuses.due([standing()], OURS)
    statuses.written(first)
    assert statuses.due([standing()], FOREIGN) == (patch(addresses=FOREIGN),)


def test_a_patch_says_the_whole_list_and_the_version_it_was_judged_at() -> None:
    assert patch().path == "/apis/networking.k8s.io/v1/namespaces/shop/ingresses/web/status"
    assert json.loads(patch().body) == {
        "metadata": {"resourceVersion": "1"},
        "status": {"loadBalancer": {"ingress": [{"hostname": "lb.test"}, {"ip": "203.0.113.7"}]}},
    }


def test_a_clearing_removes_the_field() -> None:
    assert json.loads(patch(addresses=(), version="").body) == {"status": {"loadBalancer": {"ingress": None}}}


@pytest.mark.parametrize(
    ("status", "outcome"),
    [
        (200, PatchOutcome.WRITTEN),
        (404, PatchOutcome.GONE),
        (409, PatchOutcome.CHANGED),
        (400, PatchOutcome.REFUSED),
        (401, PatchOutcome.REFUSED),
        (403, PatchOutcome.REFUSED),
        (422, PatchOutcome.REFUSED),
        (408, PatchOutcome.BUSY),
        (429, PatchOutcome.BUSY),
        (500, PatchOutcome.BUSY),
        (503, PatchOutcome.BUSY),
    ],
)
def test_each_answer_means_something_for_the_next_patch(status: int, outcome: PatchOutcome) -> None:
    assert outcome_of(status) is outcome


def test_an_ingress_stands_with_its_class_and_its_status() -> None:
    written = msgspec.structs.replace(ingress("a"), status=IngressStatus(LoadBalancerStatus(OURS)))
    known = inventory(ingress_class(), written, ingress("b", class_name="other"))
    first, second = sorted(standings_of(known, TranslationContext()), key=lambda item: item.name)
    assert (first.place, first.is_accepted, first.addresses) == (("shop", "a"), True, OURS)
    assert (second.place, second.is_accepted, second.addresses) == (("shop", "b"), False, ())


_ADDRESSES = st.lists(st.sampled_from([*OURS, *FOREIGN]), unique=True, max_size=3).map(tuple)
_STANDINGS = st.lists(
    st.builds(standing, st.sampled_from("abc"), _ADDRESSES, accepted=st.booleans(), version=st.just("")),
    unique_by=lambda item: item.name,
    max_size=3,
)


@given(rounds=st.lists(st.tuples(_STANDINGS, _ADDRESSES.map(lambda found: tuple(sorted(found)))), max_size=4))
def test_once_written_nothing_is_due_and_only_ours_was_touched(
    rounds: list[tuple[list[CurrentStatus], tuple[PublishedAddress, ...]]],
) -> None:
    statuses, ever_ours = Statuses(), set()
    for standings, addresses in rounds:
        ever_ours |= {item.name for item in standings if item.is_accepted}
        known = {item.name: item for item in standings}
        for due in statuses.due(standings, addresses):
            assert due.name in ever_ours
            assert set(due.addresses) <= set(addresses)
            statuses.written(due)
            known[due.name] = msgspec.structs.replace(known[due.name], addresses=due.addresses)
        assert statuses.due(known.values(), addresses) == ()
