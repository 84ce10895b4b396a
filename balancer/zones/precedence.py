"""Which reason is told when several apply to one pick."""

from __future__ import annotations

from balancer.zones.reasons import Reason

# ZONES section 5; a reason that is not among these is a policy's own.
_OUTRANKING = (
    Reason.RETRY_OTHER_ZONE,
    Reason.AFFINITY_OVERRIDE,
    Reason.TERMINATING_LAST_RESORT,
    Reason.PANIC,
    Reason.DRAINED_ZONE,
    Reason.ROLLOUT_EXCLUDED,
)


def foremost(first: Reason, *others: Reason) -> Reason:
    """The reason that outranks the others; of a policy's own reasons the one that is given first."""
    return min((first, *others), key=_rank)


def _rank(reason: Reason) -> int:
    return _OUTRANKING.index(reason) if reason in _OUTRANKING else len(_OUTRANKING)
