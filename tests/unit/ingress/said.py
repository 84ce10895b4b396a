"""What a ConfigMap sets, as overrides."""

from __future__ import annotations

from collections.abc import Mapping

from ingress.findings import Findings
from ingress.settings.configmap import CONFIG_MAP
from ingress.settings.reading import read_options
from ingress.settings.table.option import Option, OptionSource, Overrides
from ingress.settings.table.whole import OPTIONS

BY_NAME: Mapping[str, Option] = {option.name: option for option in OPTIONS}


def said(texts: Mapping[str, str]) -> Overrides:
    """The overrides of options by their names without prefix, none of which may be wrong."""
    findings = Findings()
    reading = read_options(texts, BY_NAME, source=OptionSource.CONFIGMAP, report=findings.about(CONFIG_MAP))
    assert (findings.frozen(), reading.refused) == ((), ())
    return reading.overrides
