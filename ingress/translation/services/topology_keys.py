"""Makes a finding about `spec.topologyKeys`, which Kubernetes removed in 1.22, and names the policy that says the same.

Only manifests can still have the field. Does not know how a policy chooses an endpoint.
"""

from __future__ import annotations

from balancer.model.zones import ZonePolicy, ZonePolicyName
from ingress.findings import Report, Severity
from ingress.objects.kinds import Service
from ingress.settings.table.option import OWN_PREFIX
from ingress.settings.values import InvalidValue
from ingress.settings.zone_values import policy_choice


def note_topology_keys(service: Service, policy: ZonePolicy, report: Report) -> None:
    """Notes that the topology keys of a Service are not read, unless its `policy` is an ordered list."""
    keys = service.spec.topology_keys
    if not isinstance(keys, tuple) or not keys or policy.name is ZonePolicyName.ORDERED:
        return
    ordered = f"ordered: {', '.join(keys)}"
    report.add(
        reason="TopologyKeysIgnored",
        message=f"spec.topologyKeys is not read, as in Kubernetes since 1.22: {_advice(ordered)}.",
        effect="The keys do not choose endpoints.",
        severity=Severity.DEGRADED,
    )


def _advice(ordered: str) -> str:
    try:
        policy_choice(ordered)
    except InvalidValue:
        return "remove it, because it is no list of node labels"
    return f'the annotation {OWN_PREFIX}zone-policy: "{ordered}" on the Service says the same'
