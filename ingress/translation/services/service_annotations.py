"""Reads the annotations of a Service, and notes annotations of zonal's own that nothing knows."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from ingress.findings import Report, Severity, quote
from ingress.objects.kinds import Service
from ingress.settings.near_names import suggestion
from ingress.settings.reading import read_options
from ingress.settings.table.option import OWN_PREFIX, OptionSource, Overrides
from ingress.settings.table.whole import INGRESS_OPTIONS, SERVICE_OPTIONS

_OWN_NAMES = frozenset(name for name in INGRESS_OPTIONS if name.startswith(OWN_PREFIX))


def read_service_annotations(service: Service, report: Report) -> Overrides:
    """What a Service sets: `ZoneSettings` and `BackendSettings`. Others mean nothing there."""
    annotations = service.metadata.annotations
    reading = read_options(annotations, SERVICE_OPTIONS, source=OptionSource.SERVICE, report=report)
    note_unknown(annotations, report, known=SERVICE_OPTIONS.keys())
    return reading.overrides


def note_unknown(annotations: Mapping[str, str], report: Report, known: Collection[str] = _OWN_NAMES) -> None:
    """Notes each of `annotations` that has zonal's own prefix and is none of the `known` ones."""
    for name in annotations:
        if name.startswith(OWN_PREFIX) and name not in known:
            message = f"Annotation {quote(name)} is not known: correct or remove it.{suggestion(name, _OWN_NAMES)}"
            effect = "The annotation has no effect."
            report.add(reason="UnknownAnnotation", message=message, effect=effect, severity=Severity.DEGRADED)
