"""Options about header fields: how each is read, and what becomes of names that are none."""

from __future__ import annotations

import pytest

from ingress.findings import Severity
from ingress.settings.configmap import read_configmap
from ingress.settings.table.fields import FieldNames, connection_option, field_names
from ingress.settings.values import InvalidValue


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", FieldNames()),
        (" , ,", FieldNames()),
        ("X-Powered-By, x-runtime,X-POWERED-BY", FieldNames(("x-powered-by", "x-runtime"))),
        ("X-A X-B", FieldNames(("x-a", "x-b"))),
        ("X-A: 1, X-B", FieldNames(("1", "x-b"), ("x-a:",))),
    ],
)
def test_names_are_in_lower_case_and_sorted(text: str, expected: FieldNames) -> None:
    assert field_names(text) == expected


def test_the_number_of_names_is_bounded() -> None:
    names = field_names(",".join(f"x-{number}" for number in range(300)))
    assert (len(names.names), len(names.skipped)) == (200, 100)


@pytest.mark.parametrize("text", ["a;}", "close, keep-alive", "upgrade", "close\r\nX: 1"])
def test_a_connection_option_is_one_of_two(text: str) -> None:
    assert [connection_option(each) for each in ("close", "Keep-Alive", " ")] == ["close", "keep-alive", ""]
    with pytest.raises(InvalidValue):
        connection_option(text)


def test_hidden_fields_reach_the_data_plane_and_what_is_no_name_is_said() -> None:
    settings, (finding,) = read_configmap({"hide-headers": "X-A, b(d", "server-tokens": "true"})
    assert settings.proxy.hidden_fields == ("x-a",)
    assert settings.proxy.names_server
    assert (finding.reason, finding.severity) == ("InvalidValue", Severity.DEGRADED)
    assert '"b(d"' in finding.message


def test_the_configmap_of_request_fields_is_wanted() -> None:
    settings, findings = read_configmap({"proxy-set-headers": "zonal/fields"})
    assert settings.fields.config_maps == {("zonal", "fields")}
    assert findings == ()
