"""Names the reasons for a pick: one closed set of codes, with one sentence each.

Counters, access log, debug pages and the command line show these codes.
"""

from __future__ import annotations

from enum import Enum


class Reason(Enum):
    """A reason code: `value` is the code that users see, `explanation` a sentence with its meaning."""

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
    BELOW_MIN_PERCENT = "below_min_percent", "The own zone has less than zone-min-percent of the ready endpoints."
    TOO_FEW_ZONES = "too_few_zones", "Endpoints, nodes or replicas are in fewer than two zones."
    TOO_FEW_ENDPOINTS = "too_few_endpoints", "The policy needs more ready endpoints."
    ALLOCATION_INFEASIBLE = "allocation_infeasible", "No allocation keeps every zone below the overload threshold."
    NODE_INFO_INCOMPLETE = "node_info_incomplete", "A node lacks a zone or allocatable CPU, or an endpoint a zone."
    OWN_REPLICAS_UNKNOWN = "own_replicas_unknown", "No replica is known to be in the own zone, or in any zone."
    PROPORTIONAL_LOCAL = "proportional_local", "The request is in the share that the own zone can carry."
    PROPORTIONAL_RESIDUAL = (
        "proportional_residual",
        "The request is in the share that goes to zones with spare capacity.",
    )
    ORDERED_MATCH = "ordered_match", "The endpoint matches the first key of the list with a match."
    ORDERED_NONE = "ordered_none", "No key of the strict ordered list has a match."
    SPILL_LOAD = "spill_load", "The own zone is strained, so a share of requests leaves it."
    SPILL_HEALTH = "spill_health", "Too few endpoints of the zonal pool are healthy."
    SPILL_ERRORS = (
        "spill_errors",
        "Answers of the zone fail more often than those of other zones, so requests leave it.",
    )
    SPILL_BUDGET_EXHAUSTED = "spill_budget_exhausted", "The own zone is strained, but the spill budget is used up."
    PANIC = "panic", "Too few endpoints are healthy anywhere, so health is ignored."
    TERMINATING_LAST_RESORT = "terminating_last_resort", "No endpoint is ready; this one terminates and still serves."
    AFFINITY_OVERRIDE = "affinity_override", "A cookie or hash chose an endpoint outside of the pool."
    RETRY_OTHER_ZONE = "retry_other_zone", "Every endpoint of the zonal pool was tried, so the retry leaves."
    DRAINED_ZONE = "drained_zone", "The operator drains the endpoint's zone, but no other is left."
    ROLLOUT_EXCLUDED = "rollout_excluded", "The request is outside the percentage of the rollout."
