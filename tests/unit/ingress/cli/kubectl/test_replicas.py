"""Which pods are replicas, and what their options say."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from ingress.cli.kubectl.replicas import ReplicaPod, configmap_of, replicas_of
from tests.features.deploying.finding import pod
from tests.features.deploying.rendering import chart


def listed(*pods: dict[str, Any]) -> bytes:
    return msgspec.json.encode({"kind": "PodList", "items": pods})


def running(name: str, container: dict[str, Any] | None = None, **metadata: str) -> dict[str, Any]:
    return {
        "metadata": {"namespace": "zonal", "name": name, **metadata},
        "spec": {"containers": [container or {}]},
        "status": {"phase": "Running"},
    }


def test_pods_that_run_are_sorted_by_name() -> None:
    waiting = {**running("c"), "status": {"phase": "Pending"}}
    ending = running("d", deletionTimestamp="2026-01-01T00:00:00Z")
    found = replicas_of(listed(running("b"), waiting, ending, running("a")))
    assert found == [ReplicaPod("zonal", "a"), ReplicaPod("zonal", "b")]


def test_the_pod_of_the_chart_is_understood() -> None:
    template = pod(chart("default"))
    made = {**running("zonal-0"), "spec": template["spec"]}
    assert replicas_of(listed(made)) == [ReplicaPod("zonal", "zonal-0", 10254, "zonal/zonal")]


@pytest.mark.parametrize(
    "container",
    [
        {"args": ["run", "--configmap=a/b", "--admin-port=9"]},
        {"args": ["run", "--configmap", "a/b", "--admin-port", "9"]},
        {"command": ["zonal", "run", "--configmap=a/b"], "ports": [{"name": "admin", "containerPort": 9}]},
        {"env": [{"name": "ZONAL_CONFIGMAP", "value": "a/b"}, {"name": "ZONAL_ADMIN_PORT", "value": "9"}]},
    ],
)
def test_options_are_read_wherever_they_stand(container: dict[str, Any]) -> None:
    assert replicas_of(listed(running("x", container))) == [ReplicaPod("zonal", "x", 9, "a/b")]


def test_an_option_without_a_value_or_number_counts_for_nothing() -> None:
    container = {"args": ["run", "--admin-port=auto", "--configmap"]}
    assert replicas_of(listed(running("x", container))) == [ReplicaPod("zonal", "x")]


def test_what_is_no_list_is_told() -> None:
    with pytest.raises(ValueError, match="list of pods"):
        replicas_of(b'{"items": 1}')


def test_replicas_of_one_installation_read_one_configmap_of_their_namespace() -> None:
    assert configmap_of([ReplicaPod("zonal", "x"), ReplicaPod("zonal", "y")]) == "zonal/zonal"


@pytest.mark.parametrize(
    ("replicas", "said"),
    [
        ([ReplicaPod("zonal", "x"), ReplicaPod("zonal", "y", configmap="b/b")], "several ConfigMaps"),
        ([ReplicaPod("zonal", "x", configmap="zonal")], "cannot be"),
        ([ReplicaPod("zonal", "x", configmap="zonal/../../secrets/a?b=\x1b")], r"cannot be: .*\\x1b"),
        ([ReplicaPod("shop", "x")], "not in the namespace of all replicas"),
        ([ReplicaPod("zonal", "x", configmap="kube-system/coredns")], "not in the namespace of all replicas"),
    ],
)
def test_who_makes_a_pod_does_not_choose_what_an_operator_changes(replicas: list[ReplicaPod], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        configmap_of(replicas)
