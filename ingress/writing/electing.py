"""Who leads: the rules of a lease, without clock, randomness or network.

Responsible for the next step of one candidate. Safety rests on two spans of local clocks only: a leader counts from the
moment it began its last successful write, another candidate counts a longer span from the moment it saw that write.
Timestamps in the Lease are for people. The rules are client-go's (tools/leaderelection); two differ, and say so below.
"""

from __future__ import annotations

from math import ceil, inf

import msgspec

from ingress.writing.lease import Lease, LeaseSpec, micro_time, new_lease


class ElectorTimes(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds. `jitter` is the share by which waits vary, so that replicas do not ask in step.

    A leader that cannot renew stops after `renew_deadline_seconds`, half the lease: even a write that it began at the
    last moment ends (`calling.CALL_SECONDS`) before another may lead, with clocks that differ by a sixth.
    """

    lease_seconds: float = 30.0
    renew_deadline_seconds: float = 15.0
    retry_seconds: float = 7.5
    attempt_seconds: float = 3.75  # the limit of one request: a hung one leaves time for another before the deadline
    repair_seconds: float = 1.9  # the pause after a failure while leading: four tries before the deadline
    jitter: float = 0.2

    def scaled(self, factor: float) -> ElectorTimes:
        """All times `factor` times as long; the rules stay the same. A Lease is never shorter than a whole second."""
        return ElectorTimes(
            lease_seconds=self.lease_seconds * factor,
            renew_deadline_seconds=self.renew_deadline_seconds * factor,
            retry_seconds=self.retry_seconds * factor,
            attempt_seconds=self.attempt_seconds * factor,
            repair_seconds=self.repair_seconds * factor,
            jitter=self.jitter,
        )


class Wait(msgspec.Struct, frozen=True):
    """Nothing to do before `until`, on the clock that the steps are asked with."""

    until: float


class Read(msgspec.Struct, frozen=True):
    """Read the Lease, and give up after `limit_seconds`."""

    limit_seconds: float


class Write(msgspec.Struct, frozen=True):
    """Create the Lease if it has no version, else replace it at that version; give up after `limit_seconds`."""

    lease: Lease
    limit_seconds: float


Step = Wait | Read | Write


class Election:
    """One candidate. `now` is a local monotonic clock, `chance` a number from 0 to below 1.

    Ask for a `step`, carry it out, and say what came of it (`saw`, `wrote` or `failed`) before asking for the next.
    """

    __slots__ = ("_due_at", "_expires_at", "_identity", "_is_current", "_leads_until", "_lease", "_name", "_times")

    def __init__(self, name: str, identity: str, *, times: ElectorTimes) -> None:
        """`name` is the Lease's; `identity` must be unlike that of any other candidate, dead ones included."""
        self._name = name
        self._identity = identity
        self._times = times
        self._lease: Lease | None = None
        self._is_current = False  # whether `_lease` is what is stored, as far as we know
        self._expires_at = -inf  # when the lease of another may be taken
        self._due_at = -inf
        self._leads_until = -inf

    def is_leading(self, now: float) -> bool:
        """Whether this candidate may act as the leader at `now`; no event is needed to lose that."""
        return now < self._leads_until

    def step(self, now: float, *, wall_seconds: float, chance: float) -> Step:
        """What to do at `now`. `wall_seconds` is the time of day as an epoch, for people who read the Lease."""
        if now < self._due_at:
            return Wait(min(self._due_at, self._leads_until) if self.is_leading(now) else self._due_at)
        if not self._is_current:
            return Read(self._limit(now))
        if not self._may_take(now):
            self._due_at = self._next_look(now, chance)
            self._is_current = False
            return Wait(self._due_at)
        self._is_current = False  # until the outcome is known: a cancelled write may have been carried out
        return Write(self._claim(wall_seconds), self._limit(now))

    def saw(self, lease: Lease | None, now: float) -> None:
        """The Lease was read; None: there is none."""
        if lease is not None and (self._lease is None or lease.version != self._lease.version):
            self._observe(lease, now)
        self._lease = lease
        self._is_current = True
        if self.is_leading(now) and lease is not None and not self._is_ours(lease):
            self._leads_until = -inf  # taken or given up by another's hand: believe it at once

    def wrote(self, lease: Lease, *, started_at: float) -> None:
        """Our claim was stored as `lease` by a request that began at `started_at`."""
        self._lease = lease
        self._is_current = True
        self._leads_until = started_at + self._times.renew_deadline_seconds
        self._due_at = started_at + self._times.retry_seconds

    def failed(self, now: float, *, chance: float) -> None:
        """The last step came to nothing: no answer, a conflict or a refusal. What is stored is to be read again."""
        self._is_current = False
        wait = self._times.repair_seconds if self.is_leading(now) else self._times.retry_seconds
        self._due_at = now + wait * (1.0 - self._times.jitter * chance)

    def release(self, *, wall_seconds: float) -> Read | Write | None:
        """The next request of giving the lease up, None when there is nothing (more) to do. Ends leading at once."""
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
        # client-go compares the record; the version is the stricter sign of life, and needs nobody's clock.
        # The holder's own duration counts: it is what the holder keeps to (replicas of two versions, other settings).
        seconds = lease.spec.lease_duration_seconds or self._times.lease_seconds
        is_held = bool(lease.spec.holder_identity) and not self._is_ours(lease)
        self._expires_at = now + seconds if is_held else -inf

    def _is_ours(self, lease: Lease) -> bool:
        return lease.spec.holder_identity == self._identity

    def _may_take(self, now: float) -> bool:
        # A Lease that someone deleted still binds who saw it held (unlike in client-go): its holder leads on.
        return now >= self._expires_at or (self._lease is not None and self._is_ours(self._lease))

    def _next_look(self, now: float, chance: float) -> float:
        # Not only each retry but also right when the lease runs out (unlike client-go): a hand-over takes 40 s, not 60.
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
