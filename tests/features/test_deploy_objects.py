"""Every object that is installed is one that Kubernetes knows, safe, and fits the others."""

from __future__ import annotations

import pytest

from ingress.settings.gateway_ports import read_gateway_ports
from tests.features.deploying import podsecurity, schemas
from tests.features.deploying.finding import argument, container, key, of_kind, only, pod, workload
from tests.features.deploying.rendering import CHOICES, MANIFESTS, Document, chart, documents, manifests

Objects = tuple[Document, ...]

_SPARE_SECONDS = 30
_PROBES = ("startup", "liveness", "readiness")


@pytest.fixture(params=["manifests", *CHOICES])
def objects(request: pytest.FixtureRequest) -> Objects:
    choice: str = request.param
    return manifests() if choice == "manifests" else chart(choice)


def test_every_field_is_one_that_kubernetes_knows(objects: Objects) -> None:
    built_in = [each for each in objects if each["apiVersion"] not in schemas.CUSTOM]
    assert {key(each): found for each in built_in if (found := schemas.problems(each))} == {}


def test_the_schema_check_notices_what_kubernetes_would_refuse() -> None:
    service = {"apiVersion": "v1", "kind": "Service", "spec": {"ports": [{"prot": 80}], "selector": {"app": 1}}}
    assert schemas.problems(service) == [
        "Service.spec.ports[0].prot: no such field",
        "Service.spec.ports[0].port: is required",
        "Service.spec.selector.app: 1 is not str",
    ]
    assert schemas.problems({"apiVersion": "v2", "kind": "Service"}) == ["v2 Service: no such kind"]


def test_no_object_comes_twice(objects: Objects) -> None:
    keys = [key(each) for each in objects]
    assert sorted(keys) == sorted(set(keys))


def test_the_pod_passes_the_restricted_standard_and_is_tighter_still(objects: Objects) -> None:
    spec = pod(objects)["spec"]
    asked_for = ["zonal: a port of the host"] if workload(objects)["kind"] == "DaemonSet" else []
    assert podsecurity.violations(spec) == asked_for
    assert podsecurity.looseness(spec) == []


def test_the_restricted_standard_is_really_asked() -> None:
    spec = {
        "hostNetwork": True,
        "volumes": [{"name": "host", "hostPath": {"path": "/"}}],
        "containers": [
            {"name": "a", "securityContext": {"privileged": True, "runAsUser": 0}, "ports": [{"hostPort": 80}]}
        ],
    }
    assert len(podsecurity.violations(spec)) == 8


def test_only_our_own_pod_gets_the_token(objects: Objects) -> None:
    assert only(objects, "ServiceAccount")["automountServiceAccountToken"] is False
    assert pod(objects)["spec"]["automountServiceAccountToken"] is True
    assert pod(objects)["spec"]["serviceAccountName"] == only(objects, "ServiceAccount")["metadata"]["name"]


def test_every_selector_finds_our_pods(objects: Objects) -> None:
    labels = pod(objects)["metadata"]["labels"].items()
    spread = [each["labelSelector"] for each in pod(objects)["spec"].get("topologySpreadConstraints", ())]
    selectors = [each["spec"]["selector"] for each in of_kind(objects, "Service")]
    selectors += [each["spec"]["selector"] for each in of_kind(objects, "PodDisruptionBudget")] + spread
    selectors += [workload(objects)["spec"]["selector"]]
    selectors += [each["spec"]["podSelector"] for each in of_kind(objects, "NetworkPolicy")]
    assert all(each.get("matchLabels", each).items() <= labels and each for each in selectors)


def test_every_named_port_is_one_of_the_container(objects: Objects) -> None:
    named = {port["name"] for port in container(objects)["ports"]}
    targets = {port["targetPort"] for each in of_kind(objects, "Service") for port in each["spec"]["ports"]}
    services = {each for each in targets if isinstance(each, str)}
    probes = {container(objects)[f"{kind}Probe"]["httpGet"]["port"] for kind in _PROBES}
    assert services | probes <= named
    let_in = [port for each in of_kind(objects, "NetworkPolicy") for port in each["spec"]["ingress"][0]["ports"]]
    ranges = [range(each["port"], each["endPort"] + 1) for each in let_in if "endPort" in each]
    assert all(any(number in each for each in ranges) for number in targets - services), (
        "the policy lets clients through"
    )


def test_the_bound_ports_are_those_that_the_policy_lets_through(objects: Objects) -> None:
    given = argument(objects, "--gateway-ports")
    let_in = [port for each in of_kind(objects, "NetworkPolicy") for port in each["spec"]["ingress"][0]["ports"]]
    ranges = [each for each in let_in if "endPort" in each]
    assert (given is None) == (ranges == [] or of_kind(objects, "NetworkPolicy") == [])
    for each in read_gateway_ports(given or "").targets:
        assert any(allowed["port"] <= each <= allowed["endPort"] for allowed in ranges)


def test_the_policy_beside_the_plain_manifests_lets_clients_reach_gateways_as_the_chart_does() -> None:
    (beside,) = documents((MANIFESTS / "networkpolicy-gateway.yaml").read_text())
    assert schemas.problems(beside) == []
    plain, charted = only(manifests(), "NetworkPolicy"), only(chart("gateways"), "NetworkPolicy")
    assert beside["spec"]["podSelector"] == plain["spec"]["podSelector"]
    assert beside["metadata"]["namespace"] == plain["metadata"]["namespace"]
    assert beside["spec"]["policyTypes"] == ["Ingress"]
    clients = [*plain["spec"]["ingress"][0]["ports"], *beside["spec"]["ingress"][0]["ports"]]
    assert {**beside["spec"]["ingress"][0], "ports": clients} == charted["spec"]["ingress"][0]


def test_a_rollout_waits_at_most_a_second_for_a_probe(objects: Objects) -> None:
    """The first readiness probe may come before the first model, because the startup probe asks for /livez."""
    startup, readiness = (container(objects)[f"{kind}Probe"] for kind in ("startup", "readiness"))
    assert startup["periodSeconds"] == readiness["periodSeconds"] == 1
    assert startup["failureThreshold"] >= 30
    assert readiness["failureThreshold"] >= 3, "one late answer of a busy machine must not take a replica away"


def test_clients_do_not_reach_the_admin_port_or_the_webhook_through_the_service(objects: Objects) -> None:
    service = next(each for each in of_kind(objects, "Service") if each["metadata"]["name"] == "zonal")
    targets = [port["targetPort"] for port in service["spec"]["ports"]]
    assert [each for each in targets if isinstance(each, str)] == ["http", "https"]


def test_the_pod_may_take_as_long_to_end_as_its_options_say(objects: Objects) -> None:
    asked = [argument(objects, name) for name in ("--shutdown-grace-period", "--drain-timeout")]
    assert pod(objects)["spec"]["terminationGracePeriodSeconds"] == sum(map(int, filter(None, asked))) + _SPARE_SECONDS


def test_liveness_does_not_depend_on_the_cluster_and_readiness_does(objects: Objects) -> None:
    paths = {
        kind: container(objects)[f"{kind}Probe"]["httpGet"]["path"] for kind in ("startup", "liveness", "readiness")
    }
    assert paths == {"startup": "/livez", "liveness": "/livez", "readiness": "/readyz"}


def test_a_lost_zone_leaves_no_replica_pending(objects: Objects) -> None:
    if workload(objects)["kind"] == "DaemonSet":
        assert "topologySpreadConstraints" not in pod(objects)["spec"]
        return
    spread = pod(objects)["spec"]["topologySpreadConstraints"]
    assert [each["topologyKey"] for each in spread] == ["topology.kubernetes.io/zone", "kubernetes.io/hostname"]
    assert {each["whenUnsatisfiable"] for each in spread} == {"ScheduleAnyway"}


def test_the_pod_learns_where_it_is_from_the_downward_api(objects: Objects) -> None:
    from_pod = [each for each in container(objects)["env"] if "valueFrom" in each]
    given = {each["name"]: each["valueFrom"]["fieldRef"]["fieldPath"] for each in from_pod}
    if argument(objects, "--peer-port") is not None:
        assert given.pop("POD_UID") == "metadata.uid", "the pod owns the Lease of the replica"
    assert given == {
        "NODE_NAME": "spec.nodeName",
        "POD_NAME": "metadata.name",
        "POD_NAMESPACE": "metadata.namespace",
        "POD_ZONE": "metadata.labels['topology.kubernetes.io/zone']",
    }


def test_every_mount_has_a_volume_and_every_volume_a_mount(objects: Objects) -> None:
    mounts = {each["name"] for each in container(objects)["volumeMounts"]}
    assert mounts == {each["name"] for each in pod(objects)["spec"]["volumes"]}


def test_the_settings_are_the_configmap_that_the_pod_reads(objects: Objects) -> None:
    read = argument(objects, "--configmap")
    found = {
        f"{each['metadata']['namespace']}/{each['metadata']['name']}": each for each in of_kind(objects, "ConfigMap")
    }
    config_map = found[str(read)]
    assert all(isinstance(value, str) for value in (config_map.get("data") or {}).values())


def test_the_budget_never_blocks_the_drain_of_a_node(objects: Objects) -> None:
    if workload(objects)["kind"] == "DaemonSet":
        assert of_kind(objects, "PodDisruptionBudget") == [], "a DaemonSet has no scale that a budget could count"
        return
    spec = only(objects, "PodDisruptionBudget")["spec"]
    assert (spec["maxUnavailable"], spec["unhealthyPodEvictionPolicy"]) == (1, "AlwaysAllow")
