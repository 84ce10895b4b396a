"""Zones that a policy overloads are told, without numbers, and only where the policy does not see load."""

from __future__ import annotations

import pytest

from balancer.model.zones import ZonePolicy, ZonePolicyName
from ingress.findings import Finding, Findings, Severity
from ingress.objects.kinds import subject_of
from ingress.translation.services.uneven_zones import note_uneven_zones
from tests import builders as build
from tests.unit.ingress.cluster import service

PREFER = ZonePolicy(ZonePolicyName.PREFER_ZONE)


def found(zones: str, *policies: ZonePolicy) -> tuple[Finding, ...]:
    item, findings = service(), Findings()
    note_uneven_zones(item, [(build.endpoints(zones), policies)], findings.about(subject_of(item)))
    return findings.frozen()


def test_a_zone_with_too_few_endpoints_is_told() -> None:
    [finding] = found("abbbbbcccccc", PREFER)
    assert (finding.reason, finding.severity) == ("ZoneOverloadUnseen", Severity.DEGRADED)
    assert "too few endpoints in zone-a for the zone policy prefer-zone" in finding.message
    assert found("abbbbbbccccccc", PREFER) == (finding,), "a step of a rollout is no other finding"


def test_which_endpoints_a_zone_has_decides_nothing() -> None:
    item, findings = service(), Findings()
    report = findings.about(subject_of(item))
    for zones in ("cccccabbbbbc", "ccccccbbbbba"):
        note_uneven_zones(item, [(build.endpoints(zones), [PREFER])], report)
    assert findings.frozen() == found("abbbbbcccccc", PREFER)
    unready = tuple(build.endpoint(f"10.0.0.{each}", zone="zone-a", ready=False) for each in range(9))
    note_uneven_zones(item, [((*build.endpoints("abbbbbcccccc"), *unready), [PREFER])], report)
    assert findings.frozen() == found("abbbbbcccccc", PREFER), "what is not ready carries nothing"


@pytest.mark.parametrize(
    ("zones", "policy"),
    [
        ("aabbcc", PREFER),
        ("abbccc", PREFER),
        ("aaaaaa", PREFER),
        ("", PREFER),
        ("abbbbbcccccc", ZonePolicy(ZonePolicyName.OFF)),
        ("abbbbbcccccc", ZonePolicy(ZonePolicyName.ADAPTIVE)),
        ("abbbbbcccccc", ZonePolicy(ZonePolicyName.PREFER_ZONE, min_endpoints=2)),
        ("abbbbbcccccc", ZonePolicy(ZonePolicyName.PREFER_ZONE, dry_run=True)),
        ("abbbbbcccccc", ZonePolicy(ZonePolicyName.HINTS)),
        ("abbbbbcccccc", ZonePolicy(ZonePolicyName.PROPORTIONAL)),
    ],
)
def test_what_is_even_or_sees_load_is_not_told(zones: str, policy: ZonePolicy) -> None:
    assert found(zones, policy) == ()
