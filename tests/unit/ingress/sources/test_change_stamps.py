"""A stamp tells later what has changed since, for an object, the slices of a Service, or a whole kind."""

from __future__ import annotations

from ingress.objects.kinds import Kind
from ingress.sources.change_stamps import ChangeStamps

CART, PAY = ("shop", "cart"), ("shop", "pay")


def test_only_the_object_that_has_changed_has_changed() -> None:
    stamps = ChangeStamps()
    stamps.note(Kind.SERVICE, CART)
    stamp = stamps.now
    stamps.note(Kind.SERVICE, PAY)
    assert not stamps.changed_after(stamp, (Kind.SERVICE, CART))
    assert stamps.changed_after(stamp, (Kind.SERVICE, PAY))
    assert not stamps.changed_after(stamp, (Kind.SECRET, PAY))
    assert stamps.kinds_after(stamp) == {Kind.SERVICE}
    assert stamps.kinds_after(stamps.now) == frozenset()


def test_who_has_looked_at_a_kind_sees_each_change_of_it() -> None:
    stamps = ChangeStamps()
    stamps.note(Kind.NODE, ("", "n1"))
    assert stamps.changed_after(0, (Kind.NODE, None))
    assert not stamps.changed_after(stamps.now, (Kind.NODE, None))


def test_a_first_list_changes_every_object_of_its_kind() -> None:
    stamps = ChangeStamps()
    stamps.note(Kind.SERVICE, CART)
    stamp = stamps.now
    stamps.note_all(Kind.SERVICE)
    assert stamps.changed_after(stamp, (Kind.SERVICE, PAY))
    assert not stamps.changed_after(stamps.now, (Kind.SERVICE, CART))
