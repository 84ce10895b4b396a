"""Options about traces: their grammars, and what comes of them together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from balancer.model.tracing import Sampler, Sampling, SpanExport, SpanProtocol, Tracing
from ingress.settings.configmap import read_configmap
from ingress.settings.table.tracing import (
    ExportSettings,
    TracingSettings,
    collector_host,
    operation_name,
    port,
    protocol,
    ratio,
    sampler,
    service_name,
)
from ingress.settings.values import InvalidValue


@pytest.mark.parametrize(
    ("grammar", "text", "value"),
    [
        (operation_name, "HTTP $request_method ${service_name} $uri", "HTTP $request_method ${service_name} $uri"),
        (operation_name, "", ""),
        (collector_host, " otel.observe.svc ", "otel.observe.svc"),
        (collector_host, "[fd00::1]", "[fd00::1]"),
        (collector_host, "", ""),
        (sampler, "TraceIdRatioBased", Sampler.RATIO),
        (ratio, "0.01", 0.01),
        (ratio, ".5", 0.5),
        (ratio, "1", 1.0),
        (protocol, "http/protobuf", SpanProtocol.HTTP),
        (service_name, "edge", "edge"),
        (port, "4318", 4318),
    ],
)
def test_values(grammar: Callable[[str], Any], text: str, value: object) -> None:
    assert grammar(text) == value


@pytest.mark.parametrize(
    ("grammar", "text"),
    [
        (operation_name, "a\nb"),
        (operation_name, "$no_such_thing"),
        (operation_name, "$http_authorization"),
        (operation_name, "a" * 257),
        (collector_host, "http://otel"),
        (collector_host, "otel/x"),
        (collector_host, "a@b"),
        (sampler, "alwayson"),
        (ratio, "1.1"),
        (ratio, "-0.1"),
        (ratio, "nan"),
        (protocol, "udp"),
        (service_name, " "),
        (port, "0"),
        (port, "65536"),
    ],
)
def test_invalid_values(grammar: Callable[[str], Any], text: str) -> None:
    with pytest.raises(InvalidValue):
        grammar(text)


def test_a_configmap_names_sampling_and_collector() -> None:
    settings, findings = read_configmap(
        {
            "enable-opentelemetry": "true",
            "opentelemetry-operation-name": "HTTP $request_method",
            "opentelemetry-trust-incoming-span": "false",
            "otlp-collector-host": "otel",
            "otlp-collector-port": "4318",
            "otlp-collector-protocol": "http/protobuf",
            "otel-service-name": "edge",
            "otel-sampler": "TraceIdRatioBased",
            "otel-sampler-ratio": "0.5",
            "otel-sampler-parent-based": "false",
            "otel-max-queuesize": "100",
            "otel-schedule-delay-millis": "250",
            "otel-max-export-batch-size": "1000",
        }
    )
    sampling = Sampling(Sampler.RATIO, 0.5, follows_parent=False)
    export = SpanExport("otel", 4318, SpanProtocol.HTTP, "edge", 100, 0.25, 100)
    assert findings == ()
    assert settings.spans == ExportSettings(sampling, export, obstacle="")
    assert settings.tracing.gates(settings.spans) == (Tracing("HTTP $request_method", False, sampling),)


def test_the_defaults_are_those_of_ingress_nginx() -> None:
    settings, _ = read_configmap({"otlp-collector-host": "otel"})
    assert settings.spans == ExportSettings(Sampling(), SpanExport("otel", 4317, SpanProtocol.GRPC, "nginx"), "")
    assert settings.tracing.gates(settings.spans) == ()


def test_an_invalid_value_is_a_finding_and_the_default_holds() -> None:
    settings, (finding,) = read_configmap({"otlp-collector-host": "otel", "otel-sampler": "sometimes"})
    assert finding.reason == "InvalidValue"
    assert settings.spans.sampling == Sampling()


def test_without_a_collector_there_is_no_gate() -> None:
    settings, _ = read_configmap({"enable-opentelemetry": "true"})
    assert settings.spans.obstacle
    assert TracingSettings(enabled=True).gates(settings.spans) == ()
