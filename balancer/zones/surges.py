"""Answers a surge: a queue grows so quickly that a step by the gap would come too late.

The share then follows at once from what the zone gets done, compared with what it gets. Does not know when there is a
surge. Time is an argument, in seconds.
"""

from __future__ import annotations

from balancer.zones.flow import ZoneFlow
from balancer.zones.strain import Strain

# Down to 80 % of the throughput while the surge is young, so that the queue shrinks. Later 95 %, because small pools
# have such latencies now and then without more load.
_SURGE_SECONDS = 5.0
_KEPT_YOUNG, _KEPT = 0.8, 0.95
# Beside that, as much leaves as empties the queue in about so many seconds.
_DRAIN_SECONDS = 1.0
# The next such step waits for half a window of rates, or the luckiest of many estimates would decide.
_JUMP_WINDOWS = 0.5
# Below this multiple of the target, the next step upwards waits while the latency falls.
_PLAIN = 1.25


class Surge:
    """The last surge of one zone: when it began, and when the share may jump again."""

    __slots__ = ("_jump_at", "_until")

    def __init__(self) -> None:
        self._until = 0.0
        self._jump_at = 0.0

    def is_young(self, share: float, now: float) -> bool:
        """Whether a surge has just begun, or would begin now."""
        return share == 0.0 or now < self._until

    def may_jump(self, share: float, now: float, flow: ZoneFlow, *, worsens: bool) -> bool:
        """Whether the share may follow from the rates now. `worsens`: the latency does not fall."""
        if share == 0.0:
            self._until = now + _SURGE_SECONDS
        if now < self._jump_at or not (worsens or share == 0.0):
            return False
        self._jump_at = now + _JUMP_WINDOWS * flow.window
        return True

    def waits(self, strain: Strain, target: float, now: float) -> bool:
        """Whether the last step still works: the latency falls, after a surge or where little is missing."""
        drains = now < self._jump_at + _SURGE_SECONDS and strain.quick_seconds < strain.steady_seconds
        return drains or (strain.steady_seconds < _PLAIN * target and strain.is_falling)


def share_in_surge(share: float, flow: ZoneFlow, *, too_slow_seconds: float, young: bool) -> float:
    """The share that lets the queue shrink, while `share` leaves and latency is so much above what it may be."""
    waiting_seconds = max(0.0, too_slow_seconds) if flow.has_queue else 0.0
    kept = max(0.0, (_KEPT_YOUNG if young else _KEPT) - waiting_seconds / _DRAIN_SECONDS)
    # Replicas that have met see many times more requests within a second, and hear of them in parts. What is done is
    # compared with what came in the same window then, and not with a mean of before.
    rate = flow.rate if share == 0.0 or flow.has_changed else flow.long_rate
    # While the latency falls, the queue may be gone, and what is done is less than what could be.
    able = flow.done_rate if flow.is_full else max(flow.done_rate, flow.capacity)
    return 1.0 - kept * able / max(rate, 1e-9)
