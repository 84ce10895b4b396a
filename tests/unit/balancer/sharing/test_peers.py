"""What controllers hear from others: nothing where there are no others."""

from __future__ import annotations

from balancer.sharing.peers import ALONE, Heard, Seen, alone


def test_nobody_is_heard_alone() -> None:
    told = Seen(picks=5, done=4, local=3, local_seconds=0.1)
    assert alone("shop/cart").exchange(told, share=0.5, baseline=0.02, now=1.0) == Heard()
    assert Heard() == (Seen(0.0, 0.0, 0.0, 0.0, 0.0, 0.0), None, 0.0)
    assert alone("shop/cart") is ALONE
