"""The chart: its renderings are up to date, its values are all used, and it installs what the plain manifests do."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from ingress.objects.quantities import milli
from tests.features.deploying.finding import argument, container, key, of_kind, only, pod, workload
from tests.features.deploying.rendering import (
    CHART,
    CHOICES,
    FINGERPRINT,
    MANIFESTS,
    VALUES,
    Document,
    chart,
    documents,
    fingerprint,
    helm_template,
    manifests,
    values,
)

_HELM_LABELS = {"app.kubernetes.io/managed-by", "app.kubernetes.io/version", "helm.sh/chart"}
needs_helm = pytest.mark.skipif(shutil.which("helm") is None, reason="no helm on the PATH")


def test_the_kept_renderings_are_of_this_chart() -> None:
    assert FINGERPRINT.read_text().strip() == fingerprint(), "run: python -m tests.features.deploying.rendering"


@needs_helm
@pytest.mark.parametrize("choice", CHOICES)
def test_helm_renders_what_is_kept(choice: str) -> None:
    rendered = documents(helm_template(VALUES / f"{choice}.yaml"))
    assert {key(each): each for each in rendered} == {key(each): each for each in chart(choice)}


@needs_helm
@pytest.mark.parametrize(
    ("kubernetes", "distribution"),
    [("1.33.9", "PreferClose"), ("1.34.0", "PreferSameZone"), ("1.36.1", "PreferSameZone")],
)
def test_the_service_asks_for_its_zone_by_the_name_that_the_version_knows(kubernetes: str, distribution: str) -> None:
    rendered = documents(helm_template(VALUES / "default.yaml", kubernetes=kubernetes))
    assert only(rendered, "Service")["spec"]["trafficDistribution"] == distribution


def test_the_manifests_are_what_the_chart_installs_by_default() -> None:
    plain = {key(each): _plain(each) for each in manifests() if each["kind"] != "Namespace"}
    assert plain == {key(each): _plain(each) for each in chart("default")}


def _plain(value: Any) -> Any:
    """A value without the labels that are Helm's own."""
    if isinstance(value, dict):
        return {name: _plain(inner) for name, inner in value.items() if name not in _HELM_LABELS}
    return [_plain(inner) for inner in value] if isinstance(value, list) else value


def test_every_value_is_used_and_every_used_value_is_declared() -> None:
    text = "".join(path.read_text() for path in (CHART / "templates").iterdir())
    used = set(re.findall(r"\.Values\.(\w+(?:\.\w+)*)", text))
    used |= {f"image.{name}" for name in re.findall(r"\.(repository|digest|tag|pullPolicy)\b", text)}
    declared = set(_leaves(yaml.safe_load((CHART / "values.yaml").read_text())))
    known = declared | {name.rpartition(".")[0] for name in declared}
    assert used - known == set()
    assert [name for name in declared if not any(_covers(each, name) for each in used - {"image"})] == []


def _leaves(tree: Document, before: str = "") -> Iterator[str]:
    """The paths of the values; what a user fills in freely is one value."""
    for name, inner in tree.items():
        if isinstance(inner, dict) and inner and name not in ("settings", "resources"):
            yield from _leaves(inner, f"{before}{name}.")
        else:
            yield f"{before}{name}"


def _covers(used: str, declared: str) -> bool:
    return used == declared or used.startswith(f"{declared}.")


def test_the_schema_knows_every_value_and_no_other() -> None:
    schema = json.loads((CHART / "values.schema.json").read_text())
    del schema["properties"]["global"]  # Helm's own, where the chart is part of another
    assert set(_described(schema)) == set(_leaves(yaml.safe_load((CHART / "values.yaml").read_text())))


def _described(schema: Document, before: str = "") -> Iterator[str]:
    assert schema["additionalProperties"] is False, before
    for name, inner in schema["properties"].items():
        if "properties" in inner:
            yield from _described(inner, f"{before}{name}.")
        else:
            yield f"{before}{name}"


def test_the_versions_of_chart_program_and_image_agree() -> None:
    about = yaml.safe_load((CHART / "Chart.yaml").read_text())
    program = (CHART.parents[1] / "pyproject.toml").read_text()
    assert f'version = "{about["appVersion"]}"' in program
    assert container(chart("default"))["image"] == f"zonal-ingress:{about['appVersion']}"


def test_an_image_digest_wins_over_the_tag() -> None:
    assert container(chart("everything"))["image"] == f"zonal-ingress@{values('everything')['image']['digest']}"


@pytest.mark.parametrize(
    ("choice", "scope"), [("namespaces", "name"), ("everything", "namespace"), ("every-secret", "cluster")]
)
def test_secrets_are_asked_for_the_way_they_are_granted(choice: str, scope: str) -> None:
    assert argument(chart(choice), "--secret-scope") == scope


@pytest.mark.parametrize("choice", CHOICES)
def test_the_status_has_one_source_of_addresses_or_none(choice: str) -> None:
    objects, status = chart(choice), values(choice)["status"]
    service, addresses = (argument(objects, f"--publish-{name}") for name in ("service", "status-address"))
    assert argument(objects, "--update-status") == str(status["enabled"]).lower()
    assert addresses == (",".join(status["addresses"]) or None)
    assert (service is None) == (bool(status["addresses"]) or status["fromNodes"] or not status["enabled"])


def test_what_is_added_to_the_pod_is_there() -> None:
    objects, given = chart("everything"), values("everything")
    made, ours = pod(objects), container(objects)
    assert made["spec"]["affinity"] == given["affinity"]
    assert made["metadata"]["annotations"] == given["podAnnotations"]
    assert given["podLabels"].items() <= made["metadata"]["labels"].items()
    assert given["extraEnv"][0] in ours["env"]
    assert given["extraVolumes"][0] in made["spec"]["volumes"]
    assert given["extraVolumeMounts"][0] in ours["volumeMounts"]


@pytest.mark.parametrize("choice", CHOICES)
def test_the_pod_has_as_many_workers_as_the_values_say(choice: str) -> None:
    assert argument(chart(choice), "--workers") == str(values(choice)["workers"])


def test_each_port_of_tcp_has_a_line_and_a_bound_port_that_the_service_leads_to() -> None:
    objects = chart("gateways")
    (lines,) = (each for each in of_kind(objects, "ConfigMap") if each["metadata"]["name"] == "zonal-tcp")
    assert lines["data"] == values("gateways")["tcpServices"]
    assert argument(objects, "--tcp-services-configmap") == "zonal/zonal-tcp"
    ports = {each["name"]: (each["port"], each["targetPort"]) for each in only(objects, "Service")["spec"]["ports"]}
    assert (ports["tcp-1883"], ports["tcp-5432"]) == ((1883, 20063), (5432, 20062))
    assert argument(chart("tcp"), "--gateway-ports") == "5432=20063"
    assert argument(chart("tcp"), "--gateway-addresses") == "none", "no Gateways are read"


def test_gateways_have_a_class_and_the_ports_of_their_addresses() -> None:
    own, shared = chart("gateways"), chart("shared-gateways")
    assert only(own, "GatewayClass")["metadata"]["name"] == "zonal"
    assert only(shared, "GatewayClass")["metadata"]["name"] == "edge"
    assert argument(own, "--gateway-ports") == "20000-20063"
    assert argument(own, "--gateway-external-ips") == "203.0.113.0/28"
    assert argument(own, "--gateway-aliases") == "cluster.local"
    assert argument(shared, "--gateway-ports") == "8000=20107,9000=20106"
    assert argument(shared, "--gateway-addresses") == "shared"
    assert of_kind(chart("default"), "GatewayClass") == of_kind(chart("tcp"), "GatewayClass") == []


def test_the_definition_of_zone_policies_comes_with_gateways_and_stays() -> None:
    definition = only(chart("gateways"), "CustomResourceDefinition")
    plain = yaml.safe_load((MANIFESTS / "crd-zonepolicy.yaml").read_text(encoding="utf-8"))
    assert definition["spec"] == plain["spec"]
    assert definition["metadata"]["name"] == plain["metadata"]["name"]
    assert definition["metadata"]["labels"]["gateway.networking.k8s.io/policy"] == "Inherited"
    assert definition["metadata"]["annotations"] == {"helm.sh/resource-policy": "keep"}
    for choice in ("default", "shared-gateways"):
        assert of_kind(chart(choice), "CustomResourceDefinition") == []


def test_node_ports_are_those_of_the_values() -> None:
    services = of_kind(chart("everything"), "Service")
    ports = next(each for each in services if each["metadata"]["name"] == "zonal")["spec"]["ports"]
    assert {each["name"]: each["nodePort"] for each in ports} == values("everything")["service"]["nodePorts"]


def test_a_daemonset_takes_ports_of_the_nodes_and_leaves_their_number_to_the_nodes() -> None:
    objects, given = chart("daemonset"), values("daemonset")["hostPorts"]
    ports = {each["name"]: each.get("hostPort") for each in container(objects)["ports"]}
    assert ports == {"http": given["http"], "https": given["https"], "admin": None}
    spec = workload(objects)["spec"]
    assert "replicas" not in spec
    assert spec["updateStrategy"]["rollingUpdate"] == {"maxUnavailable": 1, "maxSurge": 0}


def test_the_autoscaler_has_a_request_that_a_percentage_of_means_something() -> None:
    """A proxy that idles takes some hundredths of a CPU: 70 % of a tiny request would be exceeded at once."""
    requested = container(chart("everything"))["resources"]["requests"]
    assert (milli(requested["cpu"]) or 0) >= 500
    workers_most, control_mib, worker_mib = 4, 171, 52  # docs/performance-control.md
    assert int(requested["memory"].removesuffix("Mi")) >= control_mib + workers_most * worker_mib


def test_the_notes_say_what_is_not_published_and_who_reads_metrics() -> None:
    notes = (CHART / "templates" / "NOTES.txt").read_text()
    assert "No image of zonal is published" in notes
    assert "toJson .Values.networkPolicy.metricsFrom" in notes


def test_the_first_installation_begins_with_the_least_that_the_autoscaler_keeps_to() -> None:
    objects = chart("everything")
    autoscaler = only(objects, "HorizontalPodAutoscaler")["spec"]
    assert autoscaler["scaleTargetRef"] == {"apiVersion": "apps/v1", "kind": "Deployment", "name": "zonal"}
    assert (
        only(objects, "Deployment")["spec"]["replicas"] == autoscaler["minReplicas"] == values("everything")["replicas"]
    )


@needs_helm
def test_who_applies_renderings_leaves_the_number_to_the_autoscaler(tmp_path: Path) -> None:
    (tmp_path / "values.yaml").write_text("autoscaling: {enabled: true, keepReplicas: false}")
    objects = documents(helm_template(tmp_path / "values.yaml"))
    assert "replicas" not in only(objects, "Deployment")["spec"]


@needs_helm
@pytest.mark.parametrize(
    ("present", "replicas"),
    [
        ("{}", 3),
        ("{spec: {replicas: 1}}", 3),
        ("{spec: {replicas: 3}}", 3),
        ("{spec: {replicas: 7}}", 7),
        ("{spec: {replicas: 0}}", 0),
    ],
)
def test_an_upgrade_keeps_the_number_that_the_autoscaler_has_chosen(
    tmp_path: Path, present: str, replicas: int
) -> None:
    """Helm asks a cluster for the present Deployment. Here the rule is asked in a chart that has nothing else."""
    rule = '{{ include "zonal.scaledReplicas" (dict "present" .Values.present "least" 3) }}'
    (tmp_path / "templates").mkdir()
    (tmp_path / "templates" / "_helpers.tpl").write_text((CHART / "templates" / "_helpers.tpl").read_text())
    (tmp_path / "templates" / "number.yaml").write_text(f"number: {rule}")
    (tmp_path / "Chart.yaml").write_text("{apiVersion: v2, name: rule, version: 0.1.0}")
    (tmp_path / "values.yaml").write_text(f"present: {present}")
    (document,) = documents(helm_template(tmp_path / "values.yaml", chart=tmp_path))
    assert document == {"number": replicas}
    deployment = (CHART / "templates" / "deployment.yaml").read_text()
    assert 'lookup "apps/v1" "Deployment" .Release.Namespace $name' in deployment


def test_metrics_have_a_service_of_their_own() -> None:
    objects = chart("everything")
    monitor = only(objects, "ServiceMonitor")["spec"]
    chosen = monitor["selector"]["matchLabels"].items()
    (service,) = [each for each in of_kind(objects, "Service") if chosen <= each["metadata"]["labels"].items()]
    assert [port["name"] for port in service["spec"]["ports"]] == [each["port"] for each in monitor["endpoints"]]


def test_the_network_policy_lets_the_api_server_alone_reach_the_webhook() -> None:
    rules = only(chart("everything"), "NetworkPolicy")["spec"]["ingress"]
    (rule,) = [each for each in rules if {"port": "webhook"} in each["ports"]]
    assert rule == {"ports": [{"port": "webhook"}], "from": [{"ipBlock": {"cidr": "198.51.100.1/32"}}]}


def test_the_network_policy_opens_the_data_ports_alone_to_everybody() -> None:
    rules = only(chart("default"), "NetworkPolicy")["spec"]["ingress"]
    assert [each["ports"] for each in rules if "from" not in each] == [[{"port": "http"}, {"port": "https"}]]


def test_the_network_policy_shuts_out_metadata_addresses() -> None:
    blocks = [
        peer["ipBlock"]
        for rule in only(chart("default"), "NetworkPolicy")["spec"]["egress"]
        for peer in rule["to"]
        if "ipBlock" in peer
    ]
    assert blocks == [
        {"cidr": "0.0.0.0/0", "except": ["169.254.0.0/16"]},
        {"cidr": "::/0", "except": ["fe80::/10"]},
    ]


@pytest.mark.parametrize("choice", ["everything", "every-secret"])
def test_the_webhook_can_never_stop_the_cluster(choice: str) -> None:
    (webhook,) = only(chart(choice), "ValidatingWebhookConfiguration")["webhooks"]
    assert (webhook["failurePolicy"], webhook["timeoutSeconds"], webhook["sideEffects"]) == ("Ignore", 5, "None")
    assert webhook["rules"][0]["resources"] == ["ingresses"]
    excluded = {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["kube-system"]}
    assert excluded in webhook["namespaceSelector"]["matchExpressions"]
    assert "ingressClassName == 'zonal'" in webhook["matchConditions"][0]["expression"]


def test_the_webhook_service_leads_to_the_port_that_the_pod_listens_on() -> None:
    objects = chart("everything")
    (webhook,) = only(objects, "ValidatingWebhookConfiguration")["webhooks"]
    reference = webhook["clientConfig"]["service"]
    (service,) = [each for each in of_kind(objects, "Service") if each["metadata"]["name"] == reference["name"]]
    ports = {each["name"]: each["containerPort"] for each in container(objects)["ports"]}
    assert str(ports[service["spec"]["ports"][0]["targetPort"]]) == argument(objects, "--webhook-port")
    assert argument(objects, "--webhook-certificate-dir") in [
        each["mountPath"] for each in container(objects)["volumeMounts"]
    ]
    assert pod(objects)["spec"]["securityContext"]["fsGroup"] == pod(objects)["spec"]["securityContext"]["runAsGroup"]


@pytest.mark.parametrize(("choice", "size"), [("default", "4Gi"), ("everything", "3Gi"), ("least", None)])
def test_what_workers_may_keep_of_bodies_fits_into_the_volume(choice: str, size: str | None) -> None:
    """A worker keeps 1 GiB in files at most, and Kubernetes evicts a pod that fills more than the limit."""
    spec = pod(chart(choice))["spec"]
    (volume,) = (each["emptyDir"] for each in spec["volumes"] if each["name"] == "tmp")
    workers = next(each for each in spec["containers"][0]["args"] if each.startswith("--workers=")).partition("=")[2]
    gibibytes = int(volume["sizeLimit"].removesuffix("Gi"))
    assert gibibytes >= (4 if workers == "auto" else max(1, int(workers)))
    assert size in (None, volume["sizeLimit"])


@needs_helm
def test_hooks_of_a_config_map_are_mounted_and_read(tmp_path: Path) -> None:
    (tmp_path / "values.yaml").write_text("hooks: {configMap: zonal-hooks}")
    spec = pod(documents(helm_template(tmp_path / "values.yaml")))["spec"]
    (volume,) = (each for each in spec["volumes"] if each["name"] == "hooks")
    assert volume["configMap"] == {"name": "zonal-hooks"}
    (mount,) = (each for each in spec["containers"][0]["volumeMounts"] if each["name"] == "hooks")
    assert mount["readOnly"] is True
    assert f"--hooks={mount['mountPath']}" in spec["containers"][0]["args"]
    assert not any("hooks" in each for each in pod(chart("default"))["spec"]["containers"][0]["args"])


@needs_helm
def test_replicas_are_spread_as_the_values_say(tmp_path: Path) -> None:
    (tmp_path / "values.yaml").write_text('spread: {zones: DoNotSchedule, nodes: ""}')
    made = documents(helm_template(tmp_path / "values.yaml"))
    (only_zones,) = pod(made)["spec"]["topologySpreadConstraints"]
    assert (only_zones["topologyKey"], only_zones["whenUnsatisfiable"]) == (
        "topology.kubernetes.io/zone",
        "DoNotSchedule",
    )
