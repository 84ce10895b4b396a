"""Says which objects ask for spans that cannot be sent.

Without a collector or the library, requests have no spans: then `traceparent` goes on as the client sent it. Does not
know how spans are made.
"""

from __future__ import annotations

import msgspec

from ingress.findings import Report, Severity
from ingress.settings.table.cluster import ClusterSettings
from ingress.settings.table.option import Overrides
from ingress.settings.table.tracing import TracingSettings

_EXTRA = "otel"
_EFFECT = "Requests have no spans; traceparent of the client goes on unchanged."


def with_export(settings: ClusterSettings, report: Report, *, can_export: bool) -> ClusterSettings:
    """`settings` with the collector in the settings of the proxy, if spans can be sent."""
    spans = settings.spans
    if spans.export is not None and not can_export:
        obstacle = f"this process lacks OpenTelemetry's exporters: install the wheel with the extra {_EXTRA}."
        spans = msgspec.structs.replace(spans, export=None, obstacle=obstacle)
    if settings.tracing.enabled and spans.obstacle:
        _note(spans.obstacle, report)
    proxy = msgspec.structs.replace(settings.proxy, spans=spans.export)
    return msgspec.structs.replace(settings, spans=spans, proxy=proxy)


def note_obstacle(overrides: Overrides, settings: ClusterSettings, report: Report) -> None:
    """Says so if an Ingress asks by itself for spans that cannot be sent."""
    if overrides.over(TracingSettings()).enabled and settings.spans.obstacle:
        _note(settings.spans.obstacle, report)


def _note(obstacle: str, report: Report) -> None:
    message = f"enable-opentelemetry is true, but {obstacle}"
    report.add(reason="NoSpans", message=message, effect=_EFFECT, severity=Severity.COSMETIC)
