"""What annotations of Services mean, and names with zonal's own prefix that mean nothing."""

from __future__ import annotations

from balancer.model.endpoints import Ejection
from balancer.model.zones import ZonePolicyName
from ingress.findings import Findings
from ingress.objects.kinds import subject_of
from ingress.settings.table.option import NGINX_PREFIX, OWN_PREFIX, Overrides
from ingress.settings.table.zones import ZoneSettings
from ingress.settings.zone_values import PolicyChoice
from ingress.translation.services.service_annotations import note_unknown, read_service_annotations
from tests.unit.ingress.cluster import service


def test_a_service_overrides_zones_and_how_its_backends_are_kept() -> None:
    findings = Findings()
    subject = service(
        annotations={
            OWN_PREFIX + "zone-policy": "prefer-zone",
            OWN_PREFIX + "ejection-time": "30s",
            OWN_PREFIX + "zone-toll": "5",
            NGINX_PREFIX + "auth-url": "x",
        }
    )
    said = read_service_annotations(subject, findings.about(subject_of(subject)))
    assert said == Overrides(
        {ZoneSettings: {"choice": PolicyChoice(ZonePolicyName.PREFER_ZONE)}, Ejection: {"seconds": 30.0}}
    )
    assert [finding.reason for finding in findings.frozen()] == ["InvalidValue"]


def test_only_names_with_the_own_prefix_are_noted() -> None:
    findings = Findings()
    report = findings.about(subject_of(service()))
    note_unknown({OWN_PREFIX + "zone-polcy": "x", "example.test/other": "x"}, report)
    assert [(each.reason, "zone-polcy" in each.message) for each in findings.frozen()] == [("UnknownAnnotation", True)]
