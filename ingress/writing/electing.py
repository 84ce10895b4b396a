"""Decides who leads: the rules of a lease, without clock, randomness or network.

Decides the next step of one candidate. Safety depends only on two spans of local clocks: a leader counts from the start
of its last successful write, and another candidate counts a longer span from the moment it saw that write. Timestamps
in the Lease are for people. The rules are those of client-go (tools/leaderelection). Two rules differ; comments below
say so.
"""

from __future__ import annotations

from math import ceil, inf

import msgspec

from ingress.times import ScalableTimes
from ingress.writing.lease import Lease, LeaseSpec, micro_time, new_lease


class ElectorTimes(ScalableTimes, frozen=True, kw_only=True):
    """The times of an election, in seconds. `jitter` is the share by which waits vary, so that replicas do not ask in
    step.

    A leader that cannot renew stops after `renew_deadline_seconds`, half of the lease. So even a write that began at
    the last moment ends (`calling.CALL_SECONDS`) before another candidate may lead, even if clocks run at rates that
    differ by a sixth. A Lease is never shorter than one second, however the times are scaled.
    """

    lease_seconds: float = 30.0
    renew_deadline_seconds: float = 15.0
    retry_seconds: float = 7.5
    # the limit of one request; after a hung request there is time for another one before the deadline
    attempt_seconds: float = 3.75
    repair_seconds: float = 1.9  # the pause after a failure while leading; allows four attempts before the deadline
    jitter: float = 0.2


class Wait(msgspec.Struct, frozen=True):
    """Nothing to do before `until`, on the clock of `now`."""

    until: float


class Read(msgspec.Struct, frozen=True):
    """Read the Lease, and give up after `limit_seconds`."""

    limit_seconds: float


class Write(msgspec.Struct, frozen=True):
    """Create the Lease if it has no version, else replace it at that version. Give up after `limit_seconds`."""

    lease: Lease
    limit_seconds: float


Step = Wait | Read | Write


class Election:
    """One candidate. `now` is a local monotonic clock, `chance` a random number from 0 to below 1.

    Ask for a `step`, carry it out, and report the result (`saw`, `wrote` or `failed`) before asking for the next step.
    """

    __slots__ = ("_due_at", "_expires_at", "_identity", "_is_current", "_leads_until", "_lease", "_name", "_times")

    def __init__(self, name: str, identity: str, *, times: ElectorTimes) -> None:
        """`name` is the name of the Lease. `identity` must differ from that of every other candidate, including dead
        ones.
        """
        self._name = name
        self._identity = identity
        self._times = times
        self._lease: Lease | None = None
        self._is_current = False  # whether `_lease` is what the API server stores, as far as we know
        self._expires_at = -inf  # when another candidate's lease may be taken
        self._due_at = -inf
        self._leads_until = -inf

    def is_leading(self, now: float) -> bool:
        """Whether this candidate may act as the leader at `now`. Leadership ends by time alone, without any event."""
        return now < self._leads_until

    def step(self, now: float, *, wall_seconds: float, chance: float) -> Step:
        """The step to take at `now`. `wall_seconds` is Unix time, for people who read the Lease."""
        if now < self._due_at:
            return Wait(min(self._due_at, self._leads_until) if self.is_leading(now) else self._due_at)
        if not self._is_current:
            return Read(self._limit(now))
        if not self._may_take(now):
            self._due_at = self._next_look(now, chance)
            self._is_current = False
            return Wait(self._due_at)
        self._is_current = False  # until the outcome is known: the server may have carried out a cancelled write
        return Write(self._claim(wall_seconds), self._limit(now))

    def saw(self, lease: Lease | None, now: float) -> None:
        """Reports that the Lease was read. None means that there is no Lease."""
        if lease is not None and (self._lease is None or lease.version != self._lease.version):
            self._observe(lease, now)
        self._lease = lease
        self._is_current = True
        if self.is_leading(now) and lease is not None and not self._is_ours(lease):
            self._leads_until = -inf  # another replica took the lease or gave it up; that counts at once

    def wrote(self, lease: Lease, *, started_at: float) -> None:
        """Reports that our claim was stored as `lease`, by a request that began at `started_at`."""
        self._lease = lease
        self._is_current = True
        self._leads_until = started_at + self._times.renew_deadline_seconds
        self._due_at = started_at + self._times.retry_seconds

    def failed(self, now: float, *, chance: float) -> None:
        """Reports that the last step failed: no answer, a conflict or a refusal. The Lease has to be read again."""
        self._is_current = False
        wait = self._times.repair_seconds if self.is_leading(now) else self._times.retry_seconds
        self._due_at = now + wait * (1.0 - self._times.jitter * chance)

    def release(self, *, wall_seconds: float) -> Read | Write | None:
        """The next request to give up the lease, or None if there is nothing more to do. Ends leading at once."""
        self._leads_until = -inf
        if self._lease is None or not self._is_ours(self._lease):
            return None
        if not self._is_current:
            return Read(self._times.attempt_seconds)
        spec = msgspec.structs.replace(
            self._lease.spec, holder_identity="", lease_duration_seconds=1, renew_time=micro_time(wall_seconds)
        )
        return Write(msgspec.structs.replace(self._lease, spec=spec), self._times.attempt_seconds)

    def _observe(self, lease: Lease, now: float) -> None:
        # client-go compares the record. The version is a stricter sign of life and needs no clock. The duration in the
        # Lease counts, because its holder keeps to it (replicas of two versions may have different settings).
        seconds = lease.spec.lease_duration_seconds or self._times.lease_seconds
        is_held = bool(lease.spec.holder_identity) and not self._is_ours(lease)
        self._expires_at = now + seconds if is_held else -inf

    def _is_ours(self, lease: Lease) -> bool:
        return lease.spec.holder_identity == self._identity

    def _may_take(self, now: float) -> bool:
        # A deleted Lease still binds a candidate that saw it held (unlike in client-go), because its holder leads on.
        return now >= self._expires_at or (self._lease is not None and self._is_ours(self._lease))

    def _next_look(self, now: float, chance: float) -> float:
        # Look at each retry, and also when the lease runs out (unlike client-go): a hand-over takes 40 s instead of 60
        # s.
        spread = self._times.retry_seconds * self._times.jitter * chance
        return min(now + self._times.retry_seconds - spread, self._expires_at + spread)

    def _limit(self, now: float) -> float:
        attempt = self._times.attempt_seconds
        return min(attempt, self._leads_until - now) if self.is_leading(now) else attempt

    def _claim(self, wall_seconds: float) -> Lease:
        now = micro_time(wall_seconds)
        duration = ceil(self._times.lease_seconds)
        if self._lease is None:
            spec = LeaseSpec(acquire_time=now, lease_transitions=0)
            return new_lease(self._name, self._held(spec, renewed=now, duration_seconds=duration))
        spec = self._lease.spec
        if not self._is_ours(self._lease):
            transitions = (spec.lease_transitions or 0) + 1
            spec = msgspec.structs.replace(spec, acquire_time=now, lease_transitions=transitions)
        held = self._held(spec, renewed=now, duration_seconds=duration)
        return msgspec.structs.replace(self._lease, spec=held)

    def _held(self, spec: LeaseSpec, *, renewed: str, duration_seconds: int) -> LeaseSpec:
        return msgspec.structs.replace(
            spec, holder_identity=self._identity, lease_duration_seconds=duration_seconds, renew_time=renewed
        )
