"""Fields that every response gets: which of a ConfigMap's entries are added, and what is said of the others."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingress.findings import Finding, Findings, Severity
from ingress.objects.kinds import ConfigMap, Kind, Metadata
from ingress.sources.events import Replaced, SourceFindings
from ingress.sources.inventory import Inventory
from ingress.translation.cluster.added_fields import read_added_fields

KEY = ("zonal", "fields")


def inventory_of(data: dict[str, str] | None) -> Inventory:
    inventory = Inventory()
    maps = () if data is None else (ConfigMap(metadata=Metadata(namespace="zonal", name="fields"), data=data),)
    inventory.apply(Replaced(Kind.CONFIG_MAP, maps))
    return inventory


def read(data: dict[str, str] | None) -> tuple[tuple[tuple[str, str], ...], tuple[Finding, ...]]:
    findings = Findings()
    return read_added_fields(KEY, inventory_of(data), findings), findings.frozen()


def test_without_the_key_nothing_is_added() -> None:
    findings = Findings()
    assert read_added_fields(None, inventory_of(None), findings) == ()
    assert findings.frozen() == ()


def test_fields_are_added_sorted_by_name() -> None:
    data = {"X-Frame-Options": "DENY", "Content-Security-Policy": " default-src 'self'; img-src *\n"}
    assert read(data) == (
        (("Content-Security-Policy", "default-src 'self'; img-src *"), ("X-Frame-Options", "DENY")),
        (),
    )


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("Connection", "close"),
        ("transfer-encoding", "chunked"),
        ("Content-Length", "0"),
        ("Upgrade", "h2c"),
        ("Keep-Alive", "5"),
        ("Strict-Transport-Security", "max-age=1"),
        ("X Frame", "1"),
        ("X:Frame", "1"),
        ("", "1"),
        ("X-A\r\nX-B", "1"),
        ("X-A", "1\r\nX-B: 2"),
        ("X-A", "a\nb"),
        ("X-A", "a\x00b"),
        ("X-A", ""),
        ("X-A", "ü"),
        ("X-A", "x" * 2049),
        ("X-Request", "$req_id"),
        ("X-Request", "a ${host}"),
    ],
)
def test_a_field_that_must_not_be_sent_is_left_out_alone_and_said(name: str, value: str) -> None:
    fields, (finding,) = read({name: value, "X-Good": "1 $ 5"})
    assert fields == (("X-Good", "1 $ 5"),)
    assert (finding.reason, finding.severity, finding.name) == ("InvalidValue", Severity.UNPROTECTED, "fields")
    assert finding.message.isprintable()


def test_a_name_counts_once_whatever_its_case() -> None:
    fields, findings = read({"X-A": "1", "x-a": "2"})
    assert len(fields) == 1
    assert findings == ()


def test_a_configmap_that_is_not_there_is_said_once() -> None:
    fields, (finding,) = read(None)
    assert fields == ()
    assert (finding.reason, finding.severity) == ("ConfigMapMissing", Severity.UNPROTECTED)
    inventory, findings = inventory_of(None), Findings()
    inventory.apply(SourceFindings("kubernetes", (finding,)))
    assert read_added_fields(KEY, inventory, findings) == ()
    assert findings.frozen() == ()


def test_too_many_fields_are_none() -> None:
    fields, (finding,) = read({f"X-{number}": "1" for number in range(51)})
    assert fields == ()
    assert finding.severity is Severity.UNPROTECTED


@given(st.dictionaries(st.text(), st.text(), max_size=5))
def test_nothing_that_is_written_breaks_a_head(data: dict[str, str]) -> None:
    for name, value in read(data)[0]:
        assert (name + value).isascii()
        assert not set(name + value) & set("\r\n\0")
