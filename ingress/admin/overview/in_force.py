"""Lists the settings in force and where each comes from: the command line, the ConfigMap or a default.

A value of the ConfigMap counts only if it parses, as for the translation. Does not know who reads the rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from ingress.admin.overview.document import SettingRow
from ingress.findings import printable
from ingress.settings.options import RunOptions
from ingress.settings.table.option import Option
from ingress.settings.table.whole import CONFIGMAP_OPTIONS
from ingress.settings.values import InvalidValue

_VALUE_MOST = 300

# Options whose field has another name, and fields that are no options.
_NAMES = {
    "shutdown_grace_seconds": "shutdown-grace-period",
    "drain_timeout_seconds": "drain-timeout",
    "watch_namespaces": "watch-namespace",
    "publish_status_addresses": "publish-status-address",
}
_HIDDEN = frozenset({"time_scale", "can_export_spans"})


def setting_rows(data: Mapping[str, str], options: RunOptions) -> tuple[SettingRow, ...]:
    """The keys of the ConfigMap with the values that hold, then what the process was told at its start."""
    return (*(_row(option, data.get(name)) for name, option in CONFIGMAP_OPTIONS.items()), *_told(options))


def _row(option: Option, text: str | None) -> SettingRow:
    if text is None or not _parses(option, text):
        return SettingRow(option.name, option.default)
    return SettingRow(option.name, printable(text, limit=_VALUE_MOST), "ConfigMap")


def _parses(option: Option, text: str) -> bool:
    try:
        option.grammar(text)
    except InvalidValue:
        return False
    return True


def _told(options: RunOptions) -> Iterable[SettingRow]:
    """What the process was told, under the names of its options; a name that two parts have comes once."""
    rows: dict[str, SettingRow] = {}
    for part in (options, options.cluster, options.context):
        for field in msgspec.structs.fields(type(part)):
            value = getattr(part, field.name)
            name = _NAMES.get(field.name, field.name.replace("_", "-"))
            if field.name not in _HIDDEN and not isinstance(value, msgspec.Struct):
                source = "default" if value == field.default else "command line"
                rows.setdefault(name, SettingRow(f"--{name}", _text(value), source))
    return rows.values()


def _text(value: object) -> str:
    if value is None or isinstance(value, bool):
        return "" if value is None else str(value).lower()
    return printable(",".join(map(str, value)) if isinstance(value, tuple) else str(value), limit=_VALUE_MOST)
