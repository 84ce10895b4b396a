"""What is reported about zones that are left: one finding for each Service, whose text stays."""

from __future__ import annotations

from typing import Any

from balancer.workers.messages import ZoneEvidence, ZoneReport
from ingress.findings import Severity
from ingress.following.sick_zones import SickZones

EVIDENCE = ZoneEvidence(answers=160, failed=143, other_answers=300, other_failed=3)
NOON = 1_800_014_400.0  # 2027-01-15 12:00:00 UTC


def report(zone: str = "zone-b", *, service: str = "cart", **fields: Any) -> ZoneReport:
    given = {"state": "leaving", "share": 0.3, "seconds": 2.0, "begun": EVIDENCE, **fields}
    return ZoneReport(namespace="shop", service=service, backend=f"shop/{service}:80", zone=zone, **given)


def test_the_finding_has_the_figures_that_decided_and_says_what_must_be_done() -> None:
    (finding,) = SickZones().follow([report()], at_epoch_seconds=NOON)
    assert (finding.kind, finding.namespace, finding.name) == ("Service", "shop", "cart")
    assert (finding.reason, finding.severity) == ("ZoneSick", Severity.DEGRADED)
    assert finding.message == (
        "Since 2027-01-15 11:59:58 UTC requests leave zone-b: 143 of 160 (89%) of its answers failed, of other zones "
        "3 of 300 (1%). Find out what fails there; docs/zones.md#when-a-zone-is-sick says how."
    )
    assert finding.effect == (
        "Up to 97% of the zone's requests go to other zones, in steps. They return by themselves when its answers are "
        "well; nothing must be done for that."
    )


def test_a_zone_that_only_fails_is_not_reported() -> None:
    assert SickZones().follow([report(begun=None, state="probing", share=0.05)], at_epoch_seconds=NOON) == ()


def test_the_text_stays_while_figures_change_and_another_worker_goes_on() -> None:
    zones = SickZones()
    first = zones.follow([report()], at_epoch_seconds=NOON)
    later = ZoneEvidence(9, 9, 9, 0)
    for share in (0.97, 0.3, 0.1):
        assert zones.follow([report(share=share, begun=later, seconds=1.0)], at_epoch_seconds=NOON + 60.0) is first


def test_the_finding_ends_with_the_last_zone_and_begins_anew() -> None:
    zones = SickZones()
    (one,) = zones.follow([report()], at_epoch_seconds=NOON)
    (two,) = zones.follow([report("zone-a"), report()], at_epoch_seconds=NOON + 10.0)
    assert "requests leave zone-a" in two.message and "11:59:58 UTC requests leave zone-b" in two.message
    assert zones.follow([report()], at_epoch_seconds=NOON + 20.0) == (one,)
    assert zones.follow([report(begun=None, state="well")], at_epoch_seconds=NOON + 30.0) == ()
    (again,) = zones.follow([report()], at_epoch_seconds=NOON + 90.0)
    assert "12:01:28 UTC" in again.message


def test_each_service_has_its_own_finding_and_of_two_ports_the_one_that_is_left_furthest_counts() -> None:
    other = report(share=0.97, begun=ZoneEvidence(10, 9, 10, 0))
    found = SickZones().follow([report(), other, report(service="pay")], at_epoch_seconds=NOON)
    assert [finding.name for finding in found] == ["cart", "pay"]
    assert "9 of 10 (90%)" in found[0].message and found[0].message.count("Since") == 1


def test_a_dry_run_says_that_clients_get_the_failures() -> None:
    (finding,) = SickZones().follow([report(dry_run=True)], at_epoch_seconds=NOON)
    assert "requests would leave (dry run) zone-b" in finding.message
    assert finding.effect.startswith("No request leaves in a dry run")


def test_whose_requests_stay_is_said_and_a_change_of_that_is_another_text() -> None:
    zones = SickZones()
    (finding,) = zones.follow([report()], at_epoch_seconds=NOON)
    assert "stay" not in finding.message
    (later,) = zones.follow([report(staying="Ingress shop/web")], at_epoch_seconds=NOON)
    assert "(1%). Requests of Ingress shop/web stay: settings there leave no zone. Find" in later.message
