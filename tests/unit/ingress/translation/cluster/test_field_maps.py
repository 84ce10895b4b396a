"""A ConfigMap of header fields that is missing or too long counts as empty, and a finding says so."""

from __future__ import annotations

from ingress.findings import Finding, Findings, Severity
from ingress.sources.events import SourceFindings
from ingress.sources.inventory import Inventory
from ingress.translation.cluster.field_maps import field_map
from tests.unit.ingress import cluster
from tests.unit.ingress.translation.cluster.test_added_fields import KEY, inventory_of


def read(inventory: Inventory) -> tuple[dict[str, str], tuple[Finding, ...]]:
    findings = Findings()
    data = field_map(KEY, option="some-fields", effect="Nothing is sent.", inventory=inventory, findings=findings)
    return dict(data), findings.frozen()


def test_the_fields_are_the_data_of_the_configmap() -> None:
    assert read(inventory_of({"X-A": "1"})) == ({"X-A": "1"}, ())


def test_the_finding_names_the_option_and_what_follows() -> None:
    data, (finding,) = read(inventory_of(None))
    assert data == {}
    assert (finding.kind, finding.namespace, finding.name) == ("ConfigMap", *KEY)
    assert finding.message == "some-fields names this ConfigMap, and there is none: create it, or correct some-fields."
    assert (finding.reason, finding.effect, finding.severity) == (
        "ConfigMapMissing",
        "Nothing is sent.",
        Severity.UNPROTECTED,
    )


def test_one_that_cannot_be_read_is_reported_once() -> None:
    inventory = inventory_of(None)
    _, found = read(inventory)
    inventory.apply(SourceFindings("kubernetes", found))
    assert read(inventory) == ({}, ())
    assert read(cluster.inventory())[1] == found


def test_a_long_one_counts_as_empty() -> None:
    assert len(read(inventory_of({f"X-{number}": "1" for number in range(50)}))[0]) == 50
    data, (finding,) = read(inventory_of({f"X-{number}": "1" for number in range(51)}))
    assert data == {}
    assert (finding.reason, finding.message) == ("InvalidValue", "There are 51 fields: use at most 50.")
