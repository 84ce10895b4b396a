"""The page of the conformance suite names a case for every test."""

from __future__ import annotations

from tests.features.gateway.suite import SUITE
from tools.gateway_suite_page import markdown


def test_every_test_has_a_row_with_cases() -> None:
    text = markdown()
    names = [name for group in SUITE.values() for name in group.split()]
    assert all(f"| {name} |" in text for name in names)
