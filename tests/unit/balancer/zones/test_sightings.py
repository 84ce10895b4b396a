"""What a worker saw is added up, told once, and joined by what its peers saw."""

from __future__ import annotations

from balancer.sharing.peers import ALONE, Heard, Seen
from balancer.zones.sightings import Sightings


class _Peers:
    def exchange(self, seen: Seen, *, share: float, baseline: float, now: float) -> Heard:
        return Heard(
            Seen(picks=1.0, done=2.0, local=3.0, local_seconds=4.0, away=5.0, away_seconds=6.0), share, baseline
        )


def test_what_was_seen_is_told_once() -> None:
    sightings = Sightings(ALONE)
    sightings.picks += 3
    sightings.ended(is_local=True, seconds=0.5, at_most=0.2)
    sightings.ended(is_local=False, seconds=0.1, at_most=0.2)
    sightings.ended(is_local=True, seconds=None, at_most=0.2)
    seen, heard = sightings.exchange(share=0.0, baseline=0.0, now=1.0)
    assert seen == Seen(picks=3, done=2, local=1, local_seconds=0.2, away=1, away_seconds=0.1)
    assert heard.share is None
    assert sightings.exchange(share=0.0, baseline=0.0, now=2.0)[0] == Seen()


def test_what_peers_saw_is_added() -> None:
    sightings = Sightings(_Peers())
    sightings.ended(is_local=True, seconds=0.5, at_most=1.0)
    seen, heard = sightings.exchange(share=0.25, baseline=0.5, now=1.0)
    assert seen == Seen(1.0, 3.0, 4.0, 4.5, 5.0, 6.0)
    assert (heard.share, heard.baseline) == (0.25, 0.5)
