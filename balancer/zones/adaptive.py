"""Controls the policy `adaptive`: decides how many of 10,000 requests leave the own zone because of its load.

Turns what a worker sees of one backend (picks, answers and their latency) into a share. Spills while the own zone is
strained and another zone is quicker by more than the toll, in steps that grow with the gap, and takes back when there
is no gap. Does not know endpoints or randomness; time is an argument. The simulator chose the constants.
"""

from __future__ import annotations

import math
from operator import add

from balancer.model.zones import ZonePolicy
from balancer.zones.flow import ZoneFlow
from balancer.zones.peers import ALONE, Peers, Seen
from balancer.zones.reasons import Reason
from balancer.zones.strain import RemoteLatency, Strain
from balancer.zones.verdicts import ALL_BASIS_POINTS

# Workers of one replica agree on a share in about so many seconds.
_AGREE_SECONDS = 2.0
# The share is reconsidered this often while requests come, so that a step of the load is answered before a queue builds
# up.
_TICK_SECONDS = 0.05
# A longer pause between two requests says nothing about its length.
_STEP_SECONDS_MAX = 1.0
# Always kept in the own zone, so that its recovery becomes visible.
_LOCAL_LEAST = 0.03
# A smaller share counts as none, and what was known about other zones is forgotten.
_SHARE_LEAST = 0.002

# In parts of all requests a second: for a latency twice as long as it should be, and for one lower by a whole toll.
_UP_PER_SECOND = 0.3
_DOWN_PER_SECOND = 0.05
# A share of the toll: a latency that is so little below its target needs no change (the dead band).
_BAND = 0.4
# Leaving, returning and turning need a difference of so many standard errors, which chance alone reaches in one test of
# 40. Each recent change of direction adds one. One is forgotten in so many seconds: two a minute are the goal. Going on
# upwards needs the same, except while no change of direction is remembered.
_ERRORS, _FORGOTTEN_SECONDS = 2.0, 30.0
# A share that moved by so much is another state, about which evidence is collected anew.
_RESOLUTION = 0.02
# Averages need some hundred answers, so they follow later where requests are few. Steps upwards are smaller there:
# below so many requests a second in proportion, but never less than this part.
_FULL_RATE, _PART_LEAST = 700.0, 0.3
# An endpoint that has come is believed after so long. Then the share falls by what it can carry.
_ARRIVAL_SECONDS = 2.0
_GAP_MAX = 1.5
# Every change of direction makes steps so much smaller, down to the least. Steps in one direction grow again, by a
# factor of e in so many seconds. So noise around the optimum moves the share less and less (Kesten's rule).
_TURNED, _PACE_LEAST, _PACE_SECONDS = 0.35, 0.06, 4.0
# While other zones are unknown, this share of the requests goes there to learn about them.
_EXPLORED = 0.018

# At this multiple of its target, the latency shows a growing queue. Then the share follows from the zone's throughput
# compared with its arrivals: down to 80 % of the throughput while the surge is young, so that the queue shrinks. Later
# 95 %, because small pools have such latencies now and then without more load.
_SURGE = 1.5
_SURGE_SECONDS = 5.0
_KEPT_YOUNG, _KEPT = 0.8, 0.95
# Beside that, as much leaves as empties the queue in about so many seconds.
_DRAIN_SECONDS = 1.0
# The next such step waits for half a window of rates, or the luckiest of many estimates would decide.
_JUMP_SECONDS, _JUMP_WINDOWS = 0.1, 0.5
# Below this multiple of the target, the next step upwards waits while the latency falls.
_PLAIN = 1.25
# A latency that falls by this factor in a tick is recovering: a larger step would be too much.
_FALLS = 0.995
# When the queue is gone, the share returns at once to what leaves the zone this part of its capacity, less one standard
# error: what is too much returns in small steps, but what is too little would need another turn.
_CARRIED, _CARRIED_ERRORS = 0.8, 1.0
# A zone that gets no more than that part may be so many times slower before it is strained: small pools are slower
# there without overload.
_EASED = 1.1

# After leaving in vain, or with so little that it was noise, the next try waits. The wait doubles each time.
_LITTLE = 0.04
_PAUSE_SECONDS, _PAUSE_SECONDS_MAX = 8.0, 60.0


def cost(latency_seconds: float, in_flight: float, dearness: float = 1.0) -> float:
    """The cost of a request to an endpoint. The better of two random endpoints is the one with the lower cost, in any
    zone.
    """
    return latency_seconds * (in_flight + 1) * dearness


def dearness(price: float, *, dearest: float, toll_ratio: float) -> float:
    """A factor for `cost`: the dearest other zone may cost the toll more in latency than a free zone."""
    return 1.0 + toll_ratio * price / dearest if dearest > 0.0 else 1.0


class SpillController:
    """Decides for one backend, policy and worker, by what this worker sees.

    `basis_points` of 10,000 requests leave the zone now. `budget_exhausted`: more would leave without the budget.
    """

    __slots__ = (
        "_answers",
        "_at",
        "_budget",
        "_direction",
        "_due",
        "_endpoints",
        "_flow",
        "_highest",
        "_home_at",
        "_home_share",
        "_is_strained",
        "_jump_at",
        "_last_quick",
        "_local_done",
        "_pace",
        "_pause",
        "_paused_until",
        "_peers",
        "_picks",
        "_remote",
        "_rest_share",
        "_seconds",
        "_share",
        "_strain",
        "_surge_until",
        "_toll",
        "_turns",
        "_vain_seconds",
        "basis_points",
        "budget_exhausted",
    )

    def __init__(self, policy: ZonePolicy, *, start: int = 0, peers: Peers = ALONE) -> None:
        """`start` is a random position in the first 10,000 basis points, so that workers do not spill in step.

        `peers` are the controllers of the same backend in other workers of this replica.
        """
        self._peers = peers
        self._toll = (policy.toll_ratio, policy.toll_seconds)
        self._budget = policy.spill_budget_percent / 100.0
        self._strain = Strain(toll_ratio=policy.toll_ratio, toll_seconds=policy.toll_seconds)
        self._remote = RemoteLatency()
        self.basis_points = 0
        self.budget_exhausted = self._is_strained = False
        self._share = 0.0
        self._due = start % ALL_BASIS_POINTS
        self._at: float | None = None
        self._picks = self._local_done = 0
        self._answers, self._seconds = [0, 0], [0.0, 0.0]
        self._flow = ZoneFlow()
        self._last_quick = 0.0
        self._direction, self._pace = 0, 1.0
        self._turns, self._rest_share = 0.0, 0.0
        self._surge_until = self._jump_at = 0.0
        self._highest = 0.0
        self._endpoints, self._home_share = 0, 1.0
        self._home_at: float | None = None
        self._pause, self._paused_until, self._vain_seconds = _PAUSE_SECONDS, 0.0, 0.0

    @property
    def share(self) -> float:
        """The share of requests that leave the zone, from 0 to 1."""
        return self._share

    @property
    def overload_factor(self) -> float:
        """The latency of the own zone as a multiple of its latency without strain; 1 before this is known."""
        return self._strain.steady_seconds / self._strain.baseline if self._strain.is_known else 1.0

    def next_leaves(self, now: float) -> bool:
        """Whether the next request leaves the zone. The caller must then pick it. `now` is in seconds and never goes
        back.

        Leaving requests are spread evenly: any n requests in a row contain the share of n, give or take one.
        """
        if self._at is None:
            self._at = now
        elif now - self._at >= _TICK_SECONDS:
            self.tick(now)
        self._picks += 1
        self._due += self.basis_points
        if self._due < ALL_BASIS_POINTS:
            return False
        self._due -= ALL_BASIS_POINTS
        return True

    def reason(self, *, leaves: bool) -> Reason:
        """Why a request leaves the zone or stays."""
        if leaves:
            return Reason.SPILL_LOAD
        return Reason.SPILL_BUDGET_EXHAUSTED if self.budget_exhausted else Reason.ZONE_LOCAL

    def ended(self, *, is_local: bool, seconds: float | None) -> None:
        """A picked request got its response after `seconds`. None: its end says nothing about latency."""
        self._local_done += is_local
        if seconds is not None:
            self._answers[is_local] += 1
            self._seconds[is_local] += min(seconds, self._strain.clamp_seconds)

    def follow(self, endpoints: int) -> None:
        """The own zone has so many endpoints from now on; at least one. If there are more, less needs to leave."""
        if endpoints == self._endpoints:
            return
        if self._endpoints > endpoints:
            self._flow.shrink(endpoints / self._endpoints)
        grows, self._home_at = endpoints > self._endpoints > 0, None
        self._home_share = max(0.0, 1.0 - (1.0 - self._share) * endpoints / self._endpoints) if grows else 1.0
        self._endpoints = endpoints

    def _home(self, now: float, share: float) -> float:
        """The share after endpoints came home: once they have been there for a while, they carry as much as others."""
        if self._home_share >= share:
            return share
        if self._home_at is None:
            self._home_at = now + _ARRIVAL_SECONDS
        if now < self._home_at:
            return share
        share, self._home_share = self._home_share, 1.0
        return share

    def tick(self, now: float) -> None:
        """Learns from what came since the last tick, and moves the share. `next_leaves` calls this often enough."""
        elapsed = now - (self._at if self._at is not None else now)
        self._at = now
        if elapsed <= 0.0:
            return
        seen = self._exchanged(now, min(elapsed, _STEP_SECONDS_MAX))
        self._learn(seen, elapsed)
        strain = self._strain
        if strain.is_known and not self._is_paused(now):
            share = min(self._moved(now, min(elapsed, _STEP_SECONDS_MAX), seen.local), 1.0 - _LOCAL_LEAST)
            share = self._home(now, share)
            self.budget_exhausted = self._is_strained and share >= self._budget
            self._share = min(share, self._budget)
            self._forget(elapsed)
            self._highest = max(self._highest, self._share)
            self.basis_points = round(self._share * ALL_BASIS_POINTS)

    def _forget(self, elapsed: float) -> None:
        """Forgets changes of direction with time, and the evidence about the last share once the share has moved."""
        self._turns = max(0.0, self._turns - elapsed / _FORGOTTEN_SECONDS)
        if abs(self._share - self._rest_share) >= _RESOLUTION:
            self._rest_share = self._share
            self._strain.restart()

    def _exchanged(self, now: float, seconds: float) -> Seen:
        """What all workers of the replica saw since the last tick. Takes over their share, by and by."""
        (away, local), (away_seconds, local_seconds) = self._answers, self._seconds
        mine = Seen(self._picks, self._local_done, local, local_seconds, away, away_seconds)
        self._picks = self._local_done = 0
        self._answers, self._seconds = [0, 0], [0.0, 0.0]
        strain = self._strain
        heard = self._peers.exchange(mine, share=self._share, baseline=strain.baseline, now=now)
        if heard.share is not None:
            if strain.is_known:
                self._share += (heard.share - self._share) * min(1.0, seconds / _AGREE_SECONDS)
            else:
                self._share = min(heard.share, self._budget)
                strain.adopt(heard.baseline)
        return Seen(*map(add, mine, heard.seen))

    def _learn(self, seen: Seen, elapsed: float) -> None:
        flow = self._flow
        flow.learn(seen, elapsed)
        self._remote.learn(seen.away, seen.away_seconds, elapsed=elapsed, rate=flow.rate)
        self._strain.learn(
            seen.local,
            seen.local_seconds,
            elapsed=elapsed,
            rate=flow.done_rate,
            spilling=self._share > 0.0,
            remote=self._remote,
        )

    def _is_paused(self, now: float) -> bool:
        """Whether leaving was in vain recently, and the zone is not much worse now."""
        if self._share > 0.0 or now >= self._paused_until:
            return False
        return self._strain.quick_seconds < _SURGE * self._vain_seconds

    def _moved(self, now: float, seconds: float, answers: float) -> float:
        """The share after `seconds`, in which the own zone gave `answers`."""
        strain, share, flow = self._strain, self._share, self._flow
        ratio, toll_seconds = self._toll
        bearable = self._remote.bearable_seconds(toll_ratio=ratio, toll_seconds=toll_seconds)
        target = max(strain.limit_seconds, bearable)
        eased = _EASED if share >= flow.share_beyond(_CARRIED) else 1.0
        quick = strain.quick_seconds
        errors = self._turns + (0.0 if self._direction > 0 and not self._turns else _ERRORS)
        self._is_strained = strain.surely_above(eased * target, errors=errors)
        worsens = answers > 0 and quick >= _FALLS * self._last_quick
        self._last_quick = quick
        if flow.has_queue and quick < target:
            return self._settled()
        young = share == 0.0 or now < self._surge_until
        surges = (strain.peak_seconds if young else quick) > _SURGE * target and quick > target
        grows = surges and flow.piles_up(share=share, seconds=target)
        flow.note_queue(grows=grows, is_full=quick > _SURGE * target and not strain.is_falling)
        if surges and (grows or strain.surely_above(_SURGE * target, errors=_ERRORS)):
            return self._jumped(now, target, young=young, worsens=worsens)
        target, bearable = eased * target, eased * bearable
        if self._is_strained:
            climbs = worsens and quick > target and not self._waits(now, target)
            return self._climbed(target, seconds) if climbs else share
        return self._returned(now, target, bearable, seconds) if share > 0.0 else share

    def _waits(self, now: float, target: float) -> bool:
        """Whether the last step still works: the latency falls, after a surge or where little is missing."""
        strain = self._strain
        drains = now < self._jump_at + _SURGE_SECONDS and strain.quick_seconds < strain.steady_seconds
        return drains or (strain.steady_seconds < _PLAIN * target and strain.is_falling)

    def _jumped(self, now: float, target: float, *, young: bool, worsens: bool) -> float:
        share, flow = self._share, self._flow
        if share == 0.0:
            self._surge_until = now + _SURGE_SECONDS
        if now < self._jump_at or not (worsens or share == 0.0):
            return share
        self._jump_at = now + _JUMP_WINDOWS * flow.window
        waiting_seconds = max(0.0, self._strain.quick_seconds - target) if flow.has_queue else 0.0
        kept = max(0.0, (_KEPT_YOUNG if young else _KEPT) - waiting_seconds / _DRAIN_SECONDS)
        rate = flow.long_rate if share > 0.0 else flow.rate
        # While the latency falls, the queue may be gone, and what is done is less than what could be.
        able = flow.done_rate if flow.is_full else max(flow.done_rate, flow.capacity)
        step = 1.0 - kept * able / max(rate, 1e-9) - share
        return share + step * self._paced(1, _JUMP_SECONDS) if step > 0.0 else share

    def _settled(self) -> float:
        """The share after a queue is gone: no more leaves than what the zone is known not to carry."""
        self._flow.end_queue()
        enough = max(self._flow.share_beyond(_CARRIED, errors=_CARRIED_ERRORS), _SHARE_LEAST)
        if enough >= self._share:
            return self._share
        self._paced(-1, 0.0)
        return enough

    def _climbed(self, target: float, seconds: float) -> float:
        gap = min(self._strain.steady_seconds / target - 1.0, 1.0)
        share = self._share + _UP_PER_SECOND * gap * self._lately(seconds) * self._paced(1, seconds)
        return share if self._remote.is_known else max(self._share, min(share, _EXPLORED))

    def _returned(self, now: float, target: float, bearable: float, seconds: float) -> float:
        strain = self._strain
        ratio, toll_seconds = self._toll
        if strain.is_young and self._remote.is_known:
            target = bearable  # a baseline that was learned under load is too high to return by
        errors = _ERRORS + (0.0 if self._direction < 0 else self._turns)
        toll = max(strain.baseline * ratio + toll_seconds, 1e-9)
        gap = min((target - strain.at_most(errors=errors)) / toll - _BAND, _GAP_MAX)
        if gap <= 0.0:
            return self._share
        share = self._share - _DOWN_PER_SECOND * gap * seconds * self._paced(-1, seconds)
        only_explores = share <= _EXPLORED and not self._remote.is_known
        if share >= _SHARE_LEAST and not only_explores:
            return share
        return self._ended(now, in_vain=bearable > strain.limit_seconds)

    def _ended(self, now: float, *, in_vain: bool) -> float:
        """The share 0, with a pause before the next try if leaving was `in_vain` or noise."""
        strain, steady = self._strain, self._strain.steady_seconds
        self._remote = RemoteLatency()
        if (in_vain and steady > strain.limit_seconds) or self._highest <= _LITTLE:
            strain.forgive()
            self._paused_until, self._vain_seconds = now + self._pause, steady
            self._pause = min(2.0 * self._pause, _PAUSE_SECONDS_MAX)
        else:
            self._pause = _PAUSE_SECONDS
        self._highest, self._direction, self._pace, self._turns = 0.0, 0, 1.0, 0.0
        return 0.0

    def _lately(self, seconds: float) -> float:
        """The part of `seconds` that counts: few requests show a step late, so steps are smaller then."""
        return seconds * min(1.0, max(_PART_LEAST, self._flow.rate / _FULL_RATE))

    def _paced(self, direction: int, seconds: float) -> float:
        """The part of a step to take in `direction`."""
        turned = direction == -self._direction
        self._turns += turned
        self._direction = direction
        pace = self._pace * (_TURNED if turned else math.exp(seconds / _PACE_SECONDS))
        self._pace = min(1.0, max(pace, _PACE_LEAST))
        return self._pace
