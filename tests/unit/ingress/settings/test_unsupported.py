"""Every annotation of ingress-nginx is supported, satisfied by design, or says what is lost without it."""

from __future__ import annotations

import pytest

from ingress.findings import Severity
from ingress.settings.table.option import NGINX_PREFIX
from ingress.settings.table.whole import INGRESS_OPTIONS
from ingress.settings.unsupported import FOREIGN_ANNOTATIONS, SATISFIED_ANNOTATIONS, UNSUPPORTED_ANNOTATIONS, Closes

SUPPORTED = {name.removeprefix(NGINX_PREFIX) for name in INGRESS_OPTIONS if name.startswith(NGINX_PREFIX)}
# Removed from ingress-nginx in v1.12; who still writes one means a limit.
REMOVED = {name for name in UNSUPPORTED_ANNOTATIONS if name.startswith("global-rate-limit")}


def test_a_name_is_in_one_table_alone() -> None:
    tables = (SUPPORTED, UNSUPPORTED_ANNOTATIONS.keys(), SATISFIED_ANNOTATIONS, FOREIGN_ANNOTATIONS)
    assert sum(map(len, tables)) == len(frozenset().union(*tables))


def test_all_annotations_of_ingress_nginx_are_in_a_table() -> None:
    known = SUPPORTED | (UNSUPPORTED_ANNOTATIONS.keys() - REMOVED) | SATISFIED_ANNOTATIONS
    # 136 documented ones, and the aliases whitelist-source-range and limit-whitelist.
    assert len(known) == 138


def test_what_protects_or_decides_who_answers_closes_something() -> None:
    harmful = {Severity.MISROUTED, Severity.UNPROTECTED}
    open_ones = {
        name
        for name, loss in UNSUPPORTED_ANNOTATIONS.items()
        if loss.severity in harmful and loss.closes is Closes.NOTHING
    }
    assert open_ones == set()


@pytest.mark.parametrize(
    ("name", "value", "is_asked_for"),
    [
        ("enable-modsecurity", "true", True),
        ("enable-modsecurity", "False", False),
        ("proxy-buffering", "off", False),
        ("proxy-buffering", "on", True),
        ("global-rate-limit", "0", False),
        ("global-rate-limit", "5", True),
        ("auth-snippet", "", True),
        ("modsecurity-snippet", "", False),
    ],
)
def test_some_values_ask_for_nothing_that_is_missing(name: str, value: str, is_asked_for: bool) -> None:
    assert UNSUPPORTED_ANNOTATIONS[name].is_asked_for(value) is is_asked_for
