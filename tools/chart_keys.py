"""What the chart has copies of: the definition of ZonePolicy, and the ConfigMap's keys, so that Helm refuses a key that
nobody knows and values of the wrong kind.

Helm reads no file outside of a chart, so the chart has copies."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from pathlib import Path
from typing import Any

from ingress.settings.table.whole import CONFIGMAP_OPTIONS
from ingress.settings.unsupported_settings import SATISFIED_SETTINGS, UNSUPPORTED_SETTINGS
from tools.chart_forms import form_of
from tools.places import CHART, ROOT, text_of

DEFINITION = ROOT / "deploy" / "manifests" / "crd-zonepolicy.yaml"

_KINDS = re.compile(r'("settings": \{\s+"type": "object",\s+"patternProperties": )\{.*?\n      \}', re.DOTALL)


def files() -> dict[Path, str]:
    """The list of keys, the schema, and the definition."""
    schema = CHART / "values.schema.json"
    lines = json.dumps(kinds(), indent=2).replace("\n", "\n      ")
    return {
        CHART / "settings-keys.txt": "\n".join(keys()) + "\n",
        CHART / "definitions" / DEFINITION.name: DEFINITION.read_text(),
        schema: _KINDS.sub(lambda found: found[1] + lines, text_of(schema)),
    }


def keys() -> list[str]:
    """Keys that have an effect, and keys of ingress-nginx: they may be copied, and zonal says what becomes of each."""
    return sorted({*CONFIGMAP_OPTIONS, *UNSUPPORTED_SETTINGS, *SATISFIED_SETTINGS})


def kinds() -> dict[str, Any]:
    """What the schema says about values, by a pattern of the keys that have the same form."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for name, option in CONFIGMAP_OPTIONS.items():
        if (form := form_of(option.grammar)) is not None:
            found[json.dumps(form)].append(name)
    return {f"^({'|'.join(sorted(names))})$": json.loads(form) for form, names in sorted(found.items())}
