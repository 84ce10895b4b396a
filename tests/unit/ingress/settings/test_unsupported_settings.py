"""Every ConfigMap key of ingress-nginx is supported, satisfied by design, or says what is lost without it."""

from __future__ import annotations

import pytest

from ingress.settings.table.whole import CONFIGMAP_OPTIONS
from ingress.settings.unsupported import Closes
from ingress.settings.unsupported_settings import SATISFIED_SETTINGS, UNSUPPORTED_SETTINGS


def test_a_key_is_in_one_table_alone() -> None:
    tables = (CONFIGMAP_OPTIONS.keys(), UNSUPPORTED_SETTINGS.keys(), SATISFIED_SETTINGS)
    assert sum(map(len, tables)) == len(frozenset().union(*tables))


@pytest.mark.parametrize(
    "key",
    [
        "global-auth-snippet",
        "enable-modsecurity",
        "enable-owasp-modsecurity-crs",
    ],
)
def test_keys_that_protect_close_every_path(key: str) -> None:
    assert UNSUPPORTED_SETTINGS[key].closes is Closes.PATHS


@pytest.mark.parametrize(
    ("key", "value", "is_asked_for"),
    [
        ("global-auth-snippet", "", False),
        ("global-auth-snippet", "proxy_set_header X Y;", True),
        ("enable-modsecurity", "false", False),
        ("enable-ocsp", "false", False),
        ("enable-ocsp", "true", True),
    ],
)
def test_some_values_ask_for_nothing_that_is_missing(key: str, value: str, is_asked_for: bool) -> None:
    assert UNSUPPORTED_SETTINGS[key].is_asked_for(value) is is_asked_for
