"""Patience with places that do not answer: each is waited for once, whatever is wanted of it meanwhile."""

from __future__ import annotations

from ingress.objects.kinds import Kind
from ingress.sources.kubernetes.patience import GIVEN_UP_SECONDS, Patience

SHOP = (Kind.SECRET, "shop")
BLOG = (Kind.SECRET, "blog")


def test_nothing_owed_is_nothing_to_wait_for() -> None:
    assert Patience().ends((), followed=(), now=0.0)


def test_a_place_that_owes_is_waited_for_and_given_up() -> None:
    patience = Patience()
    assert not patience.ends({SHOP}, followed={SHOP}, now=1.0)
    assert not patience.ends({SHOP}, followed={SHOP}, now=1.0 + GIVEN_UP_SECONDS / 2)
    assert patience.ends({SHOP}, followed={SHOP}, now=1.0 + GIVEN_UP_SECONDS)


def test_a_place_that_was_given_up_does_not_spend_the_patience_with_another() -> None:
    patience = Patience()
    patience.ends({SHOP}, followed={SHOP}, now=0.0)
    assert not patience.ends({SHOP, BLOG}, followed={SHOP, BLOG}, now=GIVEN_UP_SECONDS)
    assert patience.ends({SHOP}, followed={SHOP, BLOG}, now=GIVEN_UP_SECONDS)


def test_a_place_that_has_given_what_it_owed_is_waited_for_anew() -> None:
    patience = Patience()
    patience.ends({SHOP}, followed={SHOP}, now=0.0)
    assert patience.ends((), followed={SHOP}, now=1.0)
    assert not patience.ends({SHOP}, followed={SHOP}, now=GIVEN_UP_SECONDS)


def test_leaving_and_coming_back_is_no_new_patience() -> None:
    patience = Patience()
    patience.ends({SHOP}, followed={SHOP}, now=0.0)
    assert patience.ends((), followed=(), now=1.0)
    assert patience.ends({SHOP}, followed={SHOP}, now=GIVEN_UP_SECONDS)
