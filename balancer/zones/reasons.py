"""Why an endpoint was picked: one closed set of codes, with one sentence each.

Counters, access log, debug pages and the command line all show these codes; the table in the docs is made from them.
"""

from __future__ import annotations

from enum import Enum


class Reason(Enum):
    """A reason code; `value` is what is shown, `explanation` what it means."""

    explanation: str

    def __new__(cls, code: str, explanation: str) -> Reason:
        reason = object.__new__(cls)
        reason._value_ = code
        reason.explanation = explanation
        return reason

    OFF = "off", "Zones do not count: the flag is off or the policy is off."
    OWN_ZONE_UNKNOWN = "own_zone_unknown", "This replica does not know its own zone."
    NO_HINTS = "no_hints", "No ready endpoint carries hints."
    HINT_MISSING_ON_READY_ENDPOINT = "hint_missing_on_ready_endpoint", "A ready endpoint has no hint for a zone."
    ZONE_NOT_HINTED = "zone_not_hinted", "No hint names the own zone."
    ZONE_LOCAL = "zone_local", "The endpoint is in the own zone."
    NODE_LOCAL = "node_local", "The endpoint is hinted for the own node."
    ZONE_HINTED = "zone_hinted", "The endpoint is hinted for the own zone."
    ZONE_ALLOCATED = "zone_allocated", "The endpoint is allocated to the own zone by its share of CPU."
    ZONE_EMPTY = "zone_empty", "The own zone has no ready endpoint."
    BELOW_MIN_ENDPOINTS = "below_min_endpoints", "The own zone has fewer ready endpoints than zone-min-endpoints."
    BELOW_MIN_PERCENT = "below_min_percent", "The own zone has a smaller share of endpoints than zone-min-percent."
    TOO_FEW_ZONES = "too_few_zones", "Endpoints, nodes or replicas are in fewer than two zones."
    TOO_FEW_ENDPOINTS = "too_few_endpoints", "There are too few ready endpoints for the policy."
    ALLOCATION_INFEASIBLE = "allocation_infeasible", "No allocation keeps every zone below the overload threshold."
    NODE_INFO_INCOMPLETE = "node_info_incomplete", "A node has no zone or no allocatable CPU, or an endpoint no zone."
    OWN_REPLICAS_UNKNOWN = "own_replicas_unknown", "No replica is known to be in the own zone, or in any."
    PROPORTIONAL_LOCAL = "proportional_local", "Part of the share that the own zone can carry."
    PROPORTIONAL_RESIDUAL = "proportional_residual", "Part of the share that other zones have spare capacity for."
    ORDERED_MATCH = "ordered_match", "The first key of the ordered list with a match chose the endpoint."
    ORDERED_NONE = "ordered_none", "No key of the strict ordered list has a match."
    SPILL_LOAD = "spill_load", "The own zone is strained, so a share of requests leaves it."
    SPILL_HEALTH = "spill_health", "Too few endpoints of the zonal pool are healthy."
    SPILL_BUDGET_EXHAUSTED = "spill_budget_exhausted", "The own zone is strained, but the spill budget is used up."
    PANIC = "panic", "Too few endpoints are healthy anywhere, so health is ignored."
    TERMINATING_LAST_RESORT = "terminating_last_resort", "No endpoint is ready; one that still serves terminates."
    AFFINITY_OVERRIDE = "affinity_override", "Session affinity outranks the zone."
    RETRY_OTHER_ZONE = "retry_other_zone", "Every endpoint of the zonal pool was tried; a retry leaves the zone."
    DRAINED_ZONE = "drained_zone", "The operator drains the zone, but nothing else is left."
    ROLLOUT_EXCLUDED = "rollout_excluded", "The request is outside the percentage of the rollout."


PRODUCED = frozenset(Reason)
"""The reasons that this version gives; the others belong to what is still to come."""

_PAGE = """\
# Reasons

Made from `balancer/zones/reasons.py` by `python -m balancer.zones.reasons`; do not edit.

Every pick of an endpoint carries exactly one of these codes. It is the label `reason` of the metric
`zonal_zone_decisions_total` and the field `reason` of the access log.

This version gives those marked so. The others belong to what is still to come, and dashboards and alerts may know them
already.

| code | given | meaning |
|---|---|---|
{rows}
"""


def markdown() -> str:
    """The documentation page `docs/reasons.md`, whole."""
    return _PAGE.format(rows="\n".join(map(_row, Reason)))


def _row(reason: Reason) -> str:
    return f"| `{reason.value}` | {'yes' if reason in PRODUCED else '—'} | {reason.explanation} |"


if __name__ == "__main__":
    print(markdown(), end="")
