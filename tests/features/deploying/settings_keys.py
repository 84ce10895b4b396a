"""The ConfigMap's keys in the schema of the chart's values, so that `helm install` refuses a key that nobody knows.

After a change of the keys: `python -m tests.features.deploying.settings_keys`.
"""

from __future__ import annotations

import json
import re
import sys

from ingress.settings.table.whole import CONFIGMAP_OPTIONS
from ingress.settings.unsupported_settings import SATISFIED_SETTINGS, UNSUPPORTED_SETTINGS
from tests.features.deploying.rendering import SCHEMA

_LIST = re.compile(r'("settingsKey": \{"enum": )\[[^]]*\]')


def wanted() -> list[str]:
    """Keys that have an effect, and keys of ingress-nginx: they may be copied, and zonal says what becomes of each."""
    return sorted({*CONFIGMAP_OPTIONS, *UNSUPPORTED_SETTINGS, *SATISFIED_SETTINGS})


def present() -> list[str]:
    """The keys that the schema lists."""
    keys: list[str] = json.loads(SCHEMA.read_text())["definitions"]["settingsKey"]["enum"]
    return keys


def main() -> int:
    """Write the wanted keys into the schema."""
    lines = json.dumps(wanted(), indent=2).replace("\n", "\n    ")
    SCHEMA.write_text(_LIST.sub(lambda found: found[1] + lines, SCHEMA.read_text()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
