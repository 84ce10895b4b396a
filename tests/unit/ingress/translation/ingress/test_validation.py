"""What the API refuses in an Ingress, row by row of the reference table."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ingress.objects.kinds import IngressBackend, ResourceReference, ServicePortReference, ServiceReference
from ingress.translation.ingress.validation import (
    PATH_LIMIT,
    backend_problem,
    host_problem,
    path_problem,
    secret_name_problem,
)
from tests.unit.ingress.cluster import backend

ROWS = json.loads((Path(__file__).parents[4] / "cases" / "path_matching.json").read_text())["api_validation"]


def rows(field: str) -> list[Any]:
    return [pytest.param(row, id=f"{row.get('pathType', '')} {row['value']}") for row in ROWS if row["field"] == field]


@pytest.mark.parametrize("row", rows("path"))
def test_paths(row: dict[str, Any]) -> None:
    assert (path_problem(row["value"], row["pathType"]) is None) is row["valid"]


@pytest.mark.parametrize("row", rows("pathType"))
def test_path_types(row: dict[str, Any]) -> None:
    assert (path_problem("/", row["value"]) is None) is row["valid"]


@pytest.mark.parametrize("row", rows("host"))
def test_hosts(row: dict[str, Any]) -> None:
    assert (host_problem(row["value"]) is None) is row["valid"]


def test_the_table_has_rows_for_each_field() -> None:
    assert all(rows(field) for field in ("path", "pathType", "host"))


@pytest.mark.parametrize(
    "text", ["/a\r\nb", "/a\x00", "/a\x7f", "/a\x85", "/a\u2028", "/a\ud800", "/" + "a" * PATH_LIMIT]
)
@pytest.mark.parametrize("kind", ["Exact", "Prefix", "ImplementationSpecific"])
def test_control_characters_and_excess_length_are_refused_under_every_path_type(text: str, kind: str) -> None:
    assert path_problem(text, kind)


def test_paths_may_hold_any_other_character() -> None:
    assert path_problem("/café/@me:x y/a~b", "Prefix") is None


@pytest.mark.parametrize(
    "host", ["", "a_b.test", "a.test\n", "a.test.", "a..test", "2001:db8::1", "x" * 254, "*.1.2.3.4.", "a/b"]
)
def test_names_that_are_no_hosts(host: str) -> None:
    assert host_problem(host)


def test_a_backend_names_a_service_or_a_resource() -> None:
    resource = ResourceReference("Bucket", "b")
    assert backend_problem(backend()) is None
    assert backend_problem(IngressBackend(resource=resource)) is None
    assert backend_problem(IngressBackend())
    assert backend_problem(IngressBackend(backend().service, resource))


@pytest.mark.parametrize(
    ("name", "port", "valid"),
    [
        ("cart", 80, True),
        ("cart", "http", True),
        ("1-cart", 65535, True),
        ("cart", 0, False),
        ("cart", -1, False),
        ("cart", 65536, False),
        ("cart", "", False),
        ("cart", "HTTP", False),
        ("", 80, False),
        ("a/b", 80, False),
        ("cart\n", 80, False),
        ("other.cart", 80, False),
    ],
)
def test_a_service_is_a_label_and_a_port_has_a_name_or_a_number(name: str, port: int | str, valid: bool) -> None:
    assert (backend_problem(backend(name, port)) is None) is valid


def test_a_port_has_not_both() -> None:
    both = ServiceReference("cart", ServicePortReference("http", 80))
    assert backend_problem(IngressBackend(service=both))


def test_secret_names() -> None:
    assert secret_name_problem("") is None
    assert secret_name_problem("web.tls") is None
    assert secret_name_problem("other/web")
