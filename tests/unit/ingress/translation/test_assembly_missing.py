"""What the whole translation misses: a ConfigMap, the own zone, a host in `tls`."""

from __future__ import annotations

import pytest

from ingress.findings import Finding, Severity
from ingress.objects.kinds import IngressTls
from ingress.settings.context import TranslationContext
from ingress.sources.events import Replaced, SourceFindings
from ingress.sources.inventory import REQUIRED_KINDS, Inventory
from ingress.translation.assembly import translate
from tests.unit.ingress.cluster import config_map, ingress, inventory, rule, service, translated


def test_a_missing_configmap_is_a_finding_that_names_it() -> None:
    (finding,) = translate(inventory(), TranslationContext(configmap="edge/settings")).findings
    assert (finding.kind, finding.namespace, finding.name) == ("ConfigMap", "edge", "settings")
    assert (finding.reason, finding.severity) == ("ConfigMapMissing", Severity.DEGRADED)
    assert finding.message == "There is no ConfigMap edge/settings: create it, or name another by --configmap."


def test_a_configmap_that_is_not_known_yet_is_not_missed() -> None:
    known = Inventory()
    for kind in REQUIRED_KINDS:
        known.apply(Replaced(kind, ()))
    assert translate(known, TranslationContext()).findings == ()


def test_a_configmap_of_which_the_source_has_told_is_not_called_missing() -> None:
    told = Finding("ConfigMap", "zonal", "zonal", "ApiForbidden", "m", "e", Severity.DEGRADED)
    known = inventory()
    known.apply(SourceFindings("kubernetes", (told,)))
    assert translate(known, TranslationContext()).findings == (told,)


@pytest.mark.parametrize(("flag", "expected"), [("true", ["OwnZoneUnknown"]), ("false", [])])
def test_an_unknown_own_zone_matters_while_the_flag_is_on(flag: str, expected: list[str]) -> None:
    found = translated(config_map(zone_aware_routing=flag)).findings
    assert [finding.reason for finding in found] == expected


def test_a_host_that_tls_does_not_name_is_a_finding() -> None:
    sections = [IngressTls(("shp.test",), "cert")]
    found = translated(ingress("web", rule("shop.test"), tls=sections), service()).findings
    assert [(finding.name, finding.reason) for finding in found] == [("web", "TlsHostMissing")]
