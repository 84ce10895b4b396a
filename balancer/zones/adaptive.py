"""Controls the policy `adaptive`: decides how many of 10,000 requests leave the own zone because of its load.

Turns what a worker sees of one backend (picks, answers and their latency) into a share. Spills while the own zone is
strained and another zone is quicker by more than the toll, in steps that grow with the gap, and takes back when there
is no gap. Does not know endpoints or randomness; time is an argument. The simulator chose the constants.
"""

from __future__ import annotations

import math

from balancer.model.zones import ZonePolicy
from balancer.sharing.peers import ALONE, Peers, Seen
from balancer.zones.flow import ZoneFlow
from balancer.zones.homecoming import Homecoming
from balancer.zones.reasons import Reason
from balancer.zones.shares import LOCAL_LEAST, MovingShare, Pause
from balancer.zones.sightings import Sightings
from balancer.zones.strain import RemoteLatency, Strain
from balancer.zones.surges import Surge, share_in_surge
from balancer.zones.verdicts import ALL_BASIS_POINTS

# Workers of one replica agree on a share in about so many seconds.
_AGREE_SECONDS = 2.0
# The share is reconsidered this often while requests come, so that a step of the load is answered before a queue builds
# up.
_TICK_SECONDS = 0.05
# A longer pause between two requests says nothing about its length.
_STEP_SECONDS_MAX = 1.0
# A smaller share counts as none, and what was known about other zones is forgotten.
_SHARE_LEAST = 0.002

# In parts of all requests a second: for a latency twice as long as it should be, and for one lower by a whole toll.
_UP_PER_SECOND = 0.3
_DOWN_PER_SECOND = 0.05
# A share of the toll: a latency that is so little below its target needs no change (the dead band).
_BAND = 0.4
# Leaving, returning and turning need a difference of so many standard errors, which chance alone reaches in one test of
# 40. Each recent change of direction adds one. Going on upwards needs the same, except while no change of direction is
# remembered.
_ERRORS = 2.0
# A share that moved by so much is another state, about which evidence is collected anew.
_RESOLUTION = 0.02
# Averages need some hundred answers, so they follow later where requests are few. Steps upwards are smaller there:
# below so many requests a second in proportion, but never less than this part.
_FULL_RATE, _PART_LEAST = 700.0, 0.3
_GAP_MAX = 1.5
# While other zones are unknown, this share of the requests goes there to learn about them.
_EXPLORED = 0.018

# At this multiple of its target, the latency shows a growing queue (`surges` answers it). A step there has this length.
_SURGE, _JUMP_SECONDS = 1.5, 0.1
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
        "_at",
        "_budget",
        "_due",
        "_flow",
        "_highest",
        "_homecoming",
        "_is_strained",
        "_last_quick",
        "_pause",
        "_remote",
        "_rest_share",
        "_share",
        "_sightings",
        "_strain",
        "_surge",
        "_toll",
        "_vain_seconds",
        "basis_points",
        "budget_exhausted",
    )

    def __init__(self, policy: ZonePolicy, *, start: int = 0, peers: Peers = ALONE) -> None:
        """`start` is a random position in the first 10,000 basis points, so that workers do not spill in step.

        `peers` are the controllers of the same backend in other workers of this replica.
        """
        self._sightings = Sightings(peers)
        self._flow = ZoneFlow()
        self._toll = (policy.toll_ratio, policy.toll_seconds)
        self._budget = policy.spill_budget_percent / 100.0
        self._strain = Strain(toll_ratio=policy.toll_ratio, toll_seconds=policy.toll_seconds)
        self._remote = RemoteLatency()
        self._share = MovingShare(self._budget)
        self._surge = Surge()
        self._homecoming = Homecoming()
        self.basis_points = 0
        self.budget_exhausted = False
        self._is_strained = False
        self._due = start % ALL_BASIS_POINTS
        self._at: float | None = None
        self._last_quick = 0.0
        self._rest_share = 0.0
        self._highest = 0.0
        self._pause = Pause(_PAUSE_SECONDS, _PAUSE_SECONDS_MAX)
        self._vain_seconds = 0.0

    @property
    def share(self) -> float:
        """The share of requests that leave the zone, from 0 to 1."""
        return self._share.value

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
        self._sightings.picks += 1
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
        self._sightings.ended(is_local=is_local, seconds=seconds, at_most=self._strain.clamp_seconds)

    def follow(self, endpoints: int) -> None:
        """The own zone has so many endpoints from now on; at least one. If there are more, less needs to leave."""
        before = self._homecoming.endpoints
        if endpoints == before:
            return
        if before > endpoints:
            self._flow.shrink(endpoints / before)
        self._homecoming.follow(endpoints, share=self._share.value)

    def tick(self, now: float) -> None:
        """Learns from what came since the last tick, and moves the share. `next_leaves` calls this often enough."""
        elapsed = now - (self._at if self._at is not None else now)
        self._at = now
        if elapsed <= 0.0:
            return
        seen = self._exchanged(now, min(elapsed, _STEP_SECONDS_MAX))
        self._learn(seen, elapsed)
        if self._strain.is_known and not self._is_paused(now):
            moved = self._moved(now, min(elapsed, _STEP_SECONDS_MAX), seen.local)
            share = self._homecoming.share_after(min(moved, 1.0 - LOCAL_LEAST), now)
            self.budget_exhausted = self._is_strained and share >= self._budget
            self._share.move(share)
            self._forget(elapsed)
            self._highest = max(self._highest, self._share.value)
            self.basis_points = self._share.basis_points

    def _forget(self, elapsed: float) -> None:
        """Forgets changes of direction with time, and the evidence about the last share once the share has moved."""
        self._share.forget(elapsed)
        if abs(self._share.value - self._rest_share) >= _RESOLUTION:
            self._rest_share = self._share.value
            self._strain.restart()

    def _exchanged(self, now: float, seconds: float) -> Seen:
        """What all workers of the replica saw since the last tick. Takes over their share, by and by."""
        share, strain = self._share, self._strain
        seen, heard = self._sightings.exchange(share=share.value, baseline=strain.baseline, now=now)
        if heard.share is not None:
            if strain.is_known:
                # What others told is older than the own share. So a difference that is no other state is none.
                apart = heard.share - share.value
                beyond = math.copysign(max(0.0, abs(apart) - _RESOLUTION), apart)
                share.value += beyond * min(1.0, seconds / _AGREE_SECONDS)
            else:
                share.value = min(heard.share, self._budget)
                strain.adopt(heard.baseline)
        return seen

    def _learn(self, seen: Seen, elapsed: float) -> None:
        flow = self._flow
        flow.learn(seen, elapsed)
        self._remote.learn(seen.away, seen.away_seconds, elapsed=elapsed, rate=flow.rate)
        self._strain.learn(
            seen.local,
            seen.local_seconds,
            elapsed=elapsed,
            rate=flow.done_rate,
            spilling=self._share.value > 0.0,
            remote=self._remote,
        )

    def _is_paused(self, now: float) -> bool:
        """Whether leaving was in vain recently, and the zone is not much worse now."""
        if self._share.value > 0.0 or now >= self._pause.until:
            return False
        return self._strain.quick_seconds < _SURGE * self._vain_seconds

    def _moved(self, now: float, seconds: float, answers: float) -> float:
        """The share after `seconds`, in which the own zone gave `answers`."""
        strain, share, flow = self._strain, self._share.value, self._flow
        ratio, toll_seconds = self._toll
        bearable = self._remote.bearable_seconds(toll_ratio=ratio, toll_seconds=toll_seconds)
        target = max(strain.limit_seconds, bearable)
        eased = _EASED if share >= flow.share_beyond(_CARRIED) else 1.0
        quick, turns = strain.quick_seconds, self._share.turns
        errors = turns + (0.0 if self._share.direction > 0 and not turns else _ERRORS)
        self._is_strained = strain.surely_above(eased * target, errors=errors)
        worsens = answers > 0 and quick >= _FALLS * self._last_quick
        self._last_quick = quick
        if flow.has_queue and quick < target:
            return self._settled()
        young = self._surge.is_young(share, now)
        surges = (strain.peak_seconds if young else quick) > _SURGE * target and quick > target
        grows = surges and flow.piles_up(share=share, seconds=target)
        flow.note_queue(grows=grows, is_full=quick > _SURGE * target and not strain.is_falling)
        if surges and (grows or strain.surely_above(_SURGE * target, errors=_ERRORS)):
            return self._jumped(now, target, young=young, worsens=worsens)
        target, bearable = eased * target, eased * bearable
        if self._is_strained:
            climbs = worsens and quick > target and not self._surge.waits(strain, target, now)
            return self._climbed(target, seconds) if climbs else share
        return self._returned(now, target, bearable, seconds) if share > 0.0 else share

    def _jumped(self, now: float, target: float, *, young: bool, worsens: bool) -> float:
        share, flow = self._share.value, self._flow
        if not self._surge.may_jump(share, now, flow, worsens=worsens):
            return share
        too_slow_seconds = self._strain.quick_seconds - target
        step = share_in_surge(share, flow, too_slow_seconds=too_slow_seconds, young=young) - share
        return share + step * self._share.step(1, _JUMP_SECONDS) if step > 0.0 else share

    def _settled(self) -> float:
        """The share after a queue is gone: no more leaves than what the zone is known not to carry."""
        self._flow.end_queue()
        enough = max(self._flow.share_beyond(_CARRIED, errors=_CARRIED_ERRORS), _SHARE_LEAST)
        if enough >= self._share.value:
            return self._share.value
        self._share.step(-1, 0.0)
        return enough

    def _climbed(self, target: float, seconds: float) -> float:
        gap = min(self._strain.steady_seconds / target - 1.0, 1.0)
        share = self._share.value
        climbed = share + _UP_PER_SECOND * gap * self._lately(seconds) * self._share.step(1, seconds)
        return climbed if self._remote.is_known else max(share, min(climbed, _EXPLORED))

    def _returned(self, now: float, target: float, bearable: float, seconds: float) -> float:
        strain = self._strain
        ratio, toll_seconds = self._toll
        if strain.is_young and self._remote.is_known:
            target = bearable  # a baseline that was learned under load is too high to return by
        errors = _ERRORS + (0.0 if self._share.direction < 0 else self._share.turns)
        toll = max(strain.baseline * ratio + toll_seconds, 1e-9)
        gap = min((target - strain.at_most(errors=errors)) / toll - _BAND, _GAP_MAX)
        if gap <= 0.0:
            return self._share.value
        share = self._share.value - _DOWN_PER_SECOND * gap * seconds * self._share.step(-1, seconds)
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
            self._pause.begin(now)
            self._vain_seconds = steady
        else:
            self._pause.shorten()
        self._highest = 0.0
        self._share.end()
        return 0.0

    def _lately(self, seconds: float) -> float:
        """The part of `seconds` that counts: few requests show a step late, so steps are smaller then."""
        return seconds * min(1.0, max(_PART_LEAST, self._flow.rate / _FULL_RATE))
