"""A process without others hears nothing."""

from __future__ import annotations

from balancer.sharing.zone_peers import PLACES, STATE_WORDS, ZoneSeen, nobody_else


def test_who_is_alone_hears_nothing() -> None:
    peers = nobody_else("shop/cart:80 zone-a")
    peers.tell((1.0,) * STATE_WORDS, 1.0)
    assert peers.exchange(ZoneSeen((1.0,) * PLACES, (0.5,) * PLACES, 3.0), 1.0) == ZoneSeen()
    assert peers.newest(1.0) is None
