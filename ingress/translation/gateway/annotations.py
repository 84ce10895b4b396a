"""Reads the annotations of routes: what they set for the zones of their own requests, as those of a Service do."""

from __future__ import annotations

from collections.abc import Iterable

from ingress.findings import Findings
from ingress.objects.kinds import subject_of
from ingress.settings.reading import read_options
from ingress.settings.table.option import OptionSource, Overrides
from ingress.settings.table.whole import SERVICE_OPTIONS
from ingress.translation.gateway.route_reading import ReadRoute


def route_overrides(routes: Iterable[ReadRoute], findings: Findings) -> dict[tuple[str, str, str], Overrides]:
    """What routes set, by kind, namespace and name. Routes without annotations are left out."""
    found: dict[tuple[str, str, str], Overrides] = {}
    for each in routes:
        metadata = each.route.metadata
        if metadata.annotations:
            report = findings.about(subject_of(each.route))
            reading = read_options(metadata.annotations, SERVICE_OPTIONS, source=OptionSource.SERVICE, report=report)
            found[each.route.kind.value, metadata.namespace, metadata.name] = reading.overrides
    return found
