"""Reads what the annotations of an Ingress set. What cannot be read has been told by the check."""

from __future__ import annotations

from ingress.findings import Findings
from ingress.objects.kinds import Ingress, subject_of
from ingress.settings.reading import read_options
from ingress.settings.table.option import OptionSource, Overrides
from ingress.settings.table.whole import INGRESS_OPTIONS


def overrides_of(ingress: Ingress) -> Overrides:
    """What the annotations set, without those whose value does not parse."""
    report = Findings().about(subject_of(ingress))
    return read_options(
        ingress.metadata.annotations, INGRESS_OPTIONS, source=OptionSource.INGRESS, report=report
    ).overrides
