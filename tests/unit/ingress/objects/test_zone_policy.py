"""ZonePolicy: a kind of our own."""

from __future__ import annotations

from ingress.objects.converting import decode
from ingress.objects.zone_policy import ZonePolicyObject, ZoneWishes


def test_a_policy_says_defaults_and_overrides() -> None:
    spec = {
        "targetRefs": [{"group": "", "kind": "Service", "name": "web", "sectionName": "http"}],
        "defaults": {"policy": "hints", "dryRun": True},
        "overrides": {"minEndpoints": 2},
    }
    metadata = {"name": "p", "namespace": "shop"}
    found = decode(
        {"apiVersion": "zonal-ingress.io/v1alpha1", "kind": "ZonePolicy", "metadata": metadata, "spec": spec}
    )
    assert isinstance(found, ZonePolicyObject)
    assert found.spec.defaults == ZoneWishes(policy="hints", dry_run=True)
    assert found.spec.overrides == ZoneWishes(min_endpoints=2)
    assert found.spec.target_refs[0].section_name == "http"
