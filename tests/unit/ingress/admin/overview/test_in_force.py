"""Settings in force: what the ConfigMap says if it parses, else the default; and what the process was told."""

from __future__ import annotations

from pathlib import Path

from ingress.admin.overview.document import SettingRow
from ingress.admin.overview.in_force import setting_rows
from ingress.settings.context import TranslationContext
from ingress.settings.options import RunOptions
from ingress.settings.table.whole import CONFIGMAP_OPTIONS

OPTIONS = RunOptions(source=Path("/manifests"), admin_port=9, context=TranslationContext(zone="zone-a"))


def rows(data: dict[str, str]) -> dict[str, SettingRow]:
    found = setting_rows(data, OPTIONS)
    assert len({row.name for row in found}) == len(found)
    return {row.name: row for row in found}


def test_every_key_is_there_with_its_default() -> None:
    found = rows({})
    assert CONFIGMAP_OPTIONS.keys() < found.keys()
    assert found["zone-aware-routing"] == SettingRow("zone-aware-routing", "false")


def test_a_value_of_the_configmap_counts_if_it_parses() -> None:
    found = rows({"zone-aware-routing": "true", "zone-min-endpoints": "many", "unknown": "1"})
    assert found["zone-aware-routing"] == SettingRow("zone-aware-routing", "true", "ConfigMap")
    assert found["zone-min-endpoints"].source == "default"
    assert "unknown" not in found


def test_values_are_short_and_printable() -> None:
    value = rows({"log-format-upstream": "\x1b" + "x" * 1000})["log-format-upstream"].value
    assert value.isprintable()
    assert len(value) <= 300


def test_what_the_process_was_told_is_marked() -> None:
    found = rows({})
    assert found["--admin-port"] == SettingRow("--admin-port", "9", "command line")
    assert found["--zone"] == SettingRow("--zone", "zone-a", "command line")
    assert found["--source"].value == "/manifests"
    assert found["--drain-timeout"].source == "default"
