"""What the chart knows of the settings: every key, and the kind of values that are switches or numbers."""

from __future__ import annotations

import re

import pytest

from ingress.settings.table.whole import CONFIGMAP_OPTIONS
from tools.chart_keys import files, keys, kinds


def test_every_option_is_a_key() -> None:
    assert set(CONFIGMAP_OPTIONS) <= set(keys())


def test_a_default_is_of_the_kind_that_the_schema_asks_for() -> None:
    for pattern, kind in kinds().items():
        for name, option in CONFIGMAP_OPTIONS.items():
            if re.fullmatch(pattern, name) and option.default:
                assert re.search(kind["pattern"], option.default), name


@pytest.mark.parametrize(
    ("key", "value", "fits"),
    [
        ("zone-aware-routing", "true", True),
        ("zone-aware-routing", "yes", False),
        ("zone-rollout", "50", True),
        ("zone-rollout", "half", False),
        ("proxy-request-buffering", "on", True),
        ("proxy-request-buffering", "true", False),
    ],
)
def test_switches_and_numbers_are_told_from_other_words(key: str, value: str, fits: bool) -> None:
    (kind,) = (kind for pattern, kind in kinds().items() if re.fullmatch(pattern, key))
    assert (re.search(kind["pattern"], value) is not None) is fits


def test_the_files_are_the_list_and_the_schema() -> None:
    assert {path.name for path in files()} == {"crd-zonepolicy.yaml", "settings-keys.txt", "values.schema.json"}
