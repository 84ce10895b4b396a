"""Events for everybody who looks, in bounded memory."""

from __future__ import annotations

import pytest

from ingress.admin.overview.viewers import TooManyViewers, Viewers


def nothing() -> None:
    """Cuts nobody off."""


async def test_everybody_gets_every_event_until_the_end() -> None:
    viewers = Viewers()
    first, second = viewers.join(nothing), viewers.join(nothing)
    viewers.tell(b"1")
    assert (await first.next(), await second.next()) == (b"1", b"1")
    viewers.end()
    assert (await first.next(), await second.next()) == (None, None)
    with pytest.raises(TooManyViewers):
        viewers.join(nothing)


async def test_a_viewer_that_takes_nothing_is_cut_off_and_holds_nobody_up() -> None:
    viewers, cut = Viewers(), []
    viewers.join(lambda: cut.append("stuck"))
    quick = viewers.join(lambda: cut.append("quick"))
    for number in range(100):
        viewers.tell(b"%d" % number)
        assert await quick.next() == b"%d" % number
    assert cut == ["stuck"]
    assert len(viewers) == 1


async def test_only_so_many_may_look() -> None:
    viewers = Viewers()
    joined = [viewers.join(nothing) for _ in range(32)]
    with pytest.raises(TooManyViewers):
        viewers.join(nothing)
    with joined[0]:
        pass
    viewers.join(nothing)


async def test_it_is_known_whether_anybody_looks() -> None:
    viewers = Viewers()
    assert not viewers.arrived.is_set()
    with viewers.join(nothing):
        assert viewers.arrived.is_set()
    assert not viewers.arrived.is_set()
