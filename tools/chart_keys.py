"""Lists the ConfigMap's keys in the schema of the chart's values, so that Helm refuses a key that nobody knows."""

from __future__ import annotations

import json
import re
from pathlib import Path

from ingress.settings.table.whole import CONFIGMAP_OPTIONS
from ingress.settings.unsupported_settings import SATISFIED_SETTINGS, UNSUPPORTED_SETTINGS
from tools.places import CHART, text_of

_LIST = re.compile(r'("settingsKey": \{"enum": )\[[^]]*\]')


def files() -> dict[Path, str]:
    """The schema."""
    schema = CHART / "values.schema.json"
    lines = json.dumps(keys(), indent=2).replace("\n", "\n    ")
    return {schema: _LIST.sub(lambda found: found[1] + lines, text_of(schema))}


def keys() -> list[str]:
    """Keys that have an effect, and keys of ingress-nginx: they may be copied, and zonal says what becomes of each."""
    return sorted({*CONFIGMAP_OPTIONS, *UNSUPPORTED_SETTINGS, *SATISFIED_SETTINGS})
