"""Spans that are asked for and cannot be sent are findings, and change no request."""

from __future__ import annotations

import pytest

from ingress.findings import Finding, Findings, Severity, Subject
from ingress.settings.configmap import read_configmap
from ingress.settings.table.cluster import ClusterSettings
from ingress.settings.table.option import Overrides
from ingress.settings.table.tracing import TracingSettings
from ingress.translation.cluster.tracing import note_obstacle, with_export

SUBJECT = Subject("ConfigMap", "zonal", "zonal")


def exporting(*, can_export: bool = True, **data: str) -> tuple[ClusterSettings, tuple[Finding, ...]]:
    settings, _ = read_configmap({name.replace("_", "-"): value for name, value in data.items()})
    findings = Findings()
    return with_export(settings, findings.about(SUBJECT), can_export=can_export), findings.frozen()


def test_the_proxy_learns_the_collector() -> None:
    settings, findings = exporting(otlp_collector_host="otel")
    assert settings.proxy.spans == settings.spans.export is not None
    assert findings == ()


def test_a_flag_without_a_collector_is_a_finding() -> None:
    settings, (finding,) = exporting(enable_opentelemetry="true")
    assert (settings.proxy.spans, finding.severity) == (None, Severity.COSMETIC)
    assert "otlp-collector-host" in finding.message


def test_a_flag_without_the_library_says_what_to_install() -> None:
    settings, (finding,) = exporting(can_export=False, enable_opentelemetry="true", otlp_collector_host="otel")
    assert "the extra otel" in finding.message
    assert (settings.proxy.spans, settings.tracing.gates(settings.spans)) == (None, ())


def test_nobody_is_told_who_asks_for_no_spans() -> None:
    assert exporting(can_export=False, otlp_collector_host="otel")[1] == ()


@pytest.mark.parametrize(("enabled", "told"), [(True, ["NoSpans"]), (False, [])])
def test_an_ingress_that_asks_for_spans_is_told(enabled: bool, told: list[str]) -> None:
    settings, _ = exporting()
    findings = Findings()
    overrides = Overrides({TracingSettings: {"enabled": enabled}})
    note_obstacle(overrides, settings, findings.about(SUBJECT))
    assert [finding.reason for finding in findings.frozen()] == told
