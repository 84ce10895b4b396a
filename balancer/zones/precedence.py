"""Decides which reason is reported if several apply to one pick."""

from __future__ import annotations

from balancer.zones.reasons import Reason

# Highest first. A reason that is not in this list comes from a policy and ranks below all of these.
_OUTRANKING = (
    Reason.RETRY_OTHER_ZONE,
    Reason.AFFINITY_OVERRIDE,
    Reason.TERMINATING_LAST_RESORT,
    Reason.PANIC,
    Reason.DRAINED_ZONE,
    Reason.ROLLOUT_EXCLUDED,
)


def foremost(first: Reason, *others: Reason) -> Reason:
    """The reason that outranks the others. Among reasons of policies, the one that is given first."""
    return min((first, *others), key=_rank)


def _rank(reason: Reason) -> int:
    return _OUTRANKING.index(reason) if reason in _OUTRANKING else len(_OUTRANKING)
