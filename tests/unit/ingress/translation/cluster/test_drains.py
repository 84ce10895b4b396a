"""Which drains are in force at a time, when that changes, and what is told about those that are over."""

from __future__ import annotations

from ingress.findings import Findings, Severity
from ingress.settings.configmap import CONFIG_MAP
from ingress.settings.context import TranslationContext
from ingress.settings.zone_values import zone_drains
from ingress.sources.events import Upserted
from ingress.translation.assembly import Translation, translate
from ingress.translation.cluster.drains import next_end, note_drains_over, zones_drained
from tests.unit.ingress.cluster import config_map, inventory

DRAINS = zone_drains("zone-c until=2027-01-31T18:00:00Z, zone-b until=2027-01-31T17:00:00Z, zone-a")
FIVE, SIX = 1801414800.0, 1801418400.0


def test_a_drain_is_in_force_until_its_end() -> None:
    assert zones_drained(DRAINS, now_epoch_seconds=0) == ("zone-a", "zone-b", "zone-c")
    assert zones_drained(DRAINS, now_epoch_seconds=FIVE - 1) == ("zone-a", "zone-b", "zone-c")
    assert zones_drained(DRAINS, now_epoch_seconds=FIVE) == ("zone-a", "zone-c")
    assert zones_drained(DRAINS, now_epoch_seconds=SIX) == ("zone-a",)


def test_the_next_end_is_that_of_a_drain_in_force() -> None:
    ends = [next_end(DRAINS, now_epoch_seconds=now) for now in (0, FIVE - 1, FIVE, SIX - 1, SIX)]
    assert ends == [FIVE, FIVE, SIX, SIX, None]


def test_what_is_over_is_told_and_nothing_else() -> None:
    findings = Findings()
    note_drains_over(DRAINS, findings.about(CONFIG_MAP), now_epoch_seconds=FIVE)
    [finding] = findings.frozen()
    assert (finding.reason, finding.severity) == ("ZoneDrainOver", Severity.COSMETIC)
    assert "zone zone-b is over since 2027-01-31T17:00:00Z" in finding.message
    assert "kubectl zonal undrain zone-b" in finding.message


def translated(now: float, *, flag: str = "true") -> Translation:
    said = config_map(zone_aware_routing=flag, zone_drain="zone-c until=2027-01-31T18:00:00Z,zone-b")
    known = inventory()
    known.apply(Upserted(said))
    return translate(known, TranslationContext(configmap="zonal/zonal"), now_epoch_seconds=now)


def test_a_translation_says_when_the_next_one_is_due() -> None:
    before, after = translated(SIX - 1), translated(SIX)
    assert (before.model.zones.drained, before.ends_at_epoch_seconds) == (("zone-b", "zone-c"), SIX)
    assert (after.model.zones.drained, after.ends_at_epoch_seconds) == (("zone-b",), None)
    assert {each.reason for each in after.findings} - {each.reason for each in before.findings} == {"ZoneDrainOver"}
    off = translated(SIX - 1, flag="false")
    assert (off.model.zones.drained, off.ends_at_epoch_seconds) == ((), None)
