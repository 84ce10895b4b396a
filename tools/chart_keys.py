"""What the chart has copies of: the definition of ZonePolicy, and the ConfigMap's keys, so that Helm refuses a key that
nobody knows and values of the wrong kind.

Helm reads no file outside of a chart, so the chart has copies."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ingress.settings.table.whole import CONFIGMAP_OPTIONS
from ingress.settings.unsupported_settings import SATISFIED_SETTINGS, UNSUPPORTED_SETTINGS
from ingress.settings.values import blank_or_boolean, boolean, go_boolean, on_or_off
from tools.places import CHART, ROOT, text_of

DEFINITION = ROOT / "deploy" / "manifests" / "crd-zonepolicy.yaml"

_KINDS = re.compile(r'("settings": \{\s+"type": "object",\s+"patternProperties": )\{.*?\n      \}', re.DOTALL)
_TRUTHS = ("true", "false", "True", "False", "TRUE", "FALSE", "t", "f", "T", "F", "1", "0", "")
_NO_NUMBERS = ("banana", "7s", "7k", "7.5", "true", "", "auto", "off", "none")


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
    """What the schema says about values of keys that are a switch or a number, by a pattern of the keys."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for name, option in CONFIGMAP_OPTIONS.items():
        if (kind := _kind(option.grammar)) is not None:
            found[json.dumps(kind)].append(name)
    return {f"^({'|'.join(sorted(names))})$": json.loads(kind) for kind, names in sorted(found.items())}


def _kind(grammar: Callable[[str], object]) -> dict[str, Any] | None:
    """The schema of values that a grammar takes; None where only the grammar itself can tell."""
    if grammar is on_or_off:
        return {"type": "string", "pattern": "^(on|off)$"}
    if grammar in (boolean, go_boolean, blank_or_boolean):
        truths = [word for word in _TRUTHS if _takes(grammar, word)]
        types = ["string", "boolean", "integer"] if "1" in truths else ["string", "boolean"]
        return {"type": types, "pattern": f"^({'|'.join(truths)})$"}
    if _takes(grammar, "7") and not any(_takes(grammar, text) for text in _NO_NUMBERS):
        return {"type": ["string", "integer"], "pattern": "^[+-]?[0-9]+$"}
    return None


def _takes(grammar: Callable[[str], object], text: str) -> bool:
    try:
        grammar(text)
    except ValueError:
        return False
    return True
