"""Fields that every endpoint gets: what their ConfigMap may hold."""

from __future__ import annotations

import pytest

from ingress.findings import Finding, Findings, Severity
from ingress.objects.kinds import ConfigMap, Metadata
from ingress.settings.table.fields import FieldSettings
from ingress.translation.cluster.request_fields import read_request_fields
from tests.unit.ingress.cluster import inventory

KEY = ("zonal", "set")


def read(
    data: dict[str, str], *, original_uri: bool = False
) -> tuple[tuple[tuple[str, str], ...], tuple[Finding, ...]]:
    findings = Findings()
    settings = FieldSettings(request_fields_from=KEY, original_uri=original_uri)
    fields = read_request_fields(settings, inventory(ConfigMap(Metadata("set", "zonal"), data)), findings)
    return fields, findings.frozen()


def test_fields_are_sorted_and_may_be_empty_or_hold_variables() -> None:
    fields, findings = read({"X-B": " $remote_addr ", "X-A": "", "x-b": "2"})
    assert fields == (("X-A", ""), ("x-b", "2"))
    assert findings == ()


def test_without_a_configmap_there_is_nothing() -> None:
    findings = Findings()
    assert read_request_fields(FieldSettings(), inventory(), findings) == ()
    assert findings.frozen() == ()
    assert read_request_fields(FieldSettings(request_fields_from=KEY), inventory(), findings) == ()
    (finding,) = findings.frozen()
    assert (finding.reason, finding.severity) == ("ConfigMapMissing", Severity.UNPROTECTED)


def test_the_original_target_is_told_unless_the_configmap_says_otherwise() -> None:
    told = ("X-Original-URI", "$request_uri")
    assert read_request_fields(FieldSettings(original_uri=True), inventory(), Findings()) == (told,)
    assert read({"X-A": "1"}, original_uri=True)[0] == (("X-A", "1"), told)
    assert read({"x-original-uri": ""}, original_uri=True)[0] == (("x-original-uri", ""),)


@pytest.mark.parametrize("name", ["Host", "content-length", "Connection", "a b", ""])
def test_a_name_that_must_not_be_set_is_left_out(name: str) -> None:
    fields, (finding,) = read({name: "1", "X-A": "1"})
    assert fields == (("X-A", "1"),)
    assert finding.reason == "InvalidValue"


@pytest.mark.parametrize("value", ["1\r\nX-Evil: 1", "$unknown_thing", "a$", "\x00", "x" * 2049, "ü"])
def test_a_value_that_cannot_be_sent_only_removes_the_field(value: str) -> None:
    fields, (finding,) = read({"X-A": value})
    assert fields == (("X-A", ""),)
    assert (finding.name, finding.severity) == ("set", Severity.UNPROTECTED)


def test_the_number_of_fields_is_bounded() -> None:
    fields, (finding,) = read({f"X-{number}": "1" for number in range(51)})
    assert fields == ()
    assert "51" in finding.message


def test_a_field_that_zonal_sends_itself_stays_if_the_value_cannot_be_sent() -> None:
    fields, (finding,) = read({"X-Forwarded-Proto": "$unknown_thing", "X-Real-IP": ""})
    assert fields == (("X-Real-IP", ""),)
    assert finding.effect == "Endpoints get the field as zonal sends it by itself."
