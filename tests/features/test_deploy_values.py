"""Values that the chart refuses, with a line that says which, and how settings are written."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from tests.features.deploying.rendering import CannotRender, documents, helm_template

needs_helm = pytest.mark.skipif(shutil.which("helm") is None, reason="no helm on the PATH")


@needs_helm
@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("secrets: {clusterWide: true, namespaces: [shop]}", "leave secrets.namespaces and secrets.names empty"),
        ("secrets: {namespaces: [shop], names: {shop: [a]}}", "shop is in secrets.namespaces and in secrets.names"),
        ("secrets: {namespace: [shop]}", "namespace"),
        (
            "configMaps: {clusterWide: true, names: {shop: [a]}}",
            "leave configMaps.namespaces",
        ),
        (
            "configMaps: {namespaces: [shop], names: {shop: [a]}}",
            "shop is in configMaps.namespaces",
        ),
        ("{nodes: false, status: {fromNodes: true}}", "status.fromNodes needs nodes: true"),
        ("webhook: {enabled: true, caBundle: a, from: [192.0.2.1/32]}", "webhook.secretName"),
        ("webhook: {enabled: true, secretName: a, caBundle: b}", "webhook.from"),
        ("webhook: {enabled: true, secretName: a, from: [192.0.2.1/32]}", "webhook.caBundle"),
        ("hostPorts: {enabled: true}", "hostPorts.enabled needs kind: DaemonSet"),
        ("{kind: DaemonSet, autoscaling: {enabled: true}}", "autoscaling.enabled needs kind: Deployment"),
        ("service: {type: ClusterIP, nodePorts: {http: 30080}}", "service.nodePorts need service.type"),
        (
            "{gateway: {ports: {first: 20000, last: 20000}}, tcpServices: {'5432': 'db/a:1', '5433': 'db/b:1'}}",
            "gateway.ports has too few numbers",
        ),
        ("{gateway: {enabled: true}, status: {fromNodes: true}}", "use gateway.addresses: shared"),
        ("{tcpServices: {'80': 'db/a:1'}}", "tcpServices"),
        ("{tcpServices: {'5432': 'postgres'}}", "tcpServices"),
        ("{kind: StatefulSet}", "kind"),
        ("{workers: many}", "workers"),
        ("{podLabels: {app.kubernetes.io/name: other}}", "app.kubernetes.io/name"),
        ("{extraEnv: [{name: POD_ZONE, value: zone-a}]}", "extraEnv"),
        ("{fleet: {enabled: true}, status: {fromNodes: true}}", "fleet.enabled: replicas find each other"),
        ('settings: {zone-aware-ruting: "true"}', "zone-aware-ruting is no key: did you mean zone-aware-routing?"),
        ('settings: {zoneAwareRouting: "true"}', "did you mean zone-aware-routing?"),
        ('settings: {banana: "true"}', "settings.banana is no key: docs/settings.md lists the keys"),
        ('settings: {zone-aware-routing: "yes"}', "settings.zone-aware-routing"),
        ("settings: {zone-rollout: half}", "settings.zone-rollout"),
        ("settings: {proxy-request-buffering: on}", "settings.proxy-request-buffering"),
        ('settings: {proxy-body-size: "8x"}', "settings.proxy-body-size"),
        ('settings: {client-body-buffer-size: "1.5m"}', "settings.client-body-buffer-size"),
        ('settings: {ejection-time: "10"}', "settings.ejection-time"),
        ("settings: {proxy-read-timeout: 60s}", "settings.proxy-read-timeout"),
        ("settings: {load-balance: random}", "settings.load-balance"),
        ("settings: {fleet: on}", "settings.fleet"),
        ("settings: {proxy-http-version: 1.0}", "settings.proxy-http-version"),
        ("tmpSizeLimit: much", "tmpSizeLimit"),
        ("tmpSizeLimit: 16K", "tmpSizeLimit"),
        ("resources: {limits: {memory: 1GiB}}", "resources.limits.memory"),
        ("serviceMonitor: {enabled: true, interval: 30}", "serviceMonitor.interval"),
    ],
)
def test_values_that_contradict_each_other_are_refused(tmp_path: Path, given: str, said: str) -> None:
    (tmp_path / "values.yaml").write_text(given)
    with pytest.raises(CannotRender, match=re.escape(said)):
        helm_template(tmp_path / "values.yaml")


@needs_helm
def test_numbers_of_settings_are_written_out(tmp_path: Path) -> None:
    """Helm reads each number as a float, and would write a million as 1e+06."""
    (tmp_path / "values.yaml").write_text(
        "settings: {proxy-body-size: 1000000, keep-alive: 75, otel-sampler-ratio: 0.25, http2-max-header-size: 64k}"
    )
    rendered = documents(helm_template(tmp_path / "values.yaml"))
    (settings,) = (each for each in rendered if each["kind"] == "ConfigMap" and each["metadata"]["name"] == "zonal")
    assert {name: settings["data"][name] for name in ("proxy-body-size", "keep-alive", "otel-sampler-ratio")} == {
        "proxy-body-size": "1000000",
        "keep-alive": "75",
        "otel-sampler-ratio": "0.25",
    }
