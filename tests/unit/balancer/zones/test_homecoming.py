"""Endpoints that come home bring back what they can carry, once they are believed."""

from __future__ import annotations

from balancer.zones.homecoming import Homecoming


def test_endpoints_that_came_carry_their_part_after_a_while() -> None:
    zone = Homecoming()
    zone.follow(1, share=0.0)
    zone.follow(2, share=0.6)
    assert zone.share_after(0.6, now=10.0) == 0.6
    assert zone.share_after(0.6, now=11.9) == 0.6
    assert zone.share_after(0.6, now=12.0) == 1.0 - 0.4 * 2
    assert zone.share_after(0.5, now=13.0) == 0.5, "they count once"


def test_endpoints_that_leave_bring_nothing_back() -> None:
    zone = Homecoming()
    zone.follow(4, share=0.0)
    zone.follow(2, share=0.6)
    assert [zone.share_after(0.6, now) for now in (1.0, 9.0)] == [0.6, 0.6]
    assert zone.endpoints == 2
