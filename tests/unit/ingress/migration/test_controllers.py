"""The workload that runs ingress-nginx is found in a dump, with its arguments."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ingress.migration.controllers import OtherController, find_controllers, find_service


def workload(*args: str, image: str = "registry.test/ingress-nginx/controller:v1.15.1", **more: Any) -> dict[str, Any]:
    container = {"name": "controller", "image": image, "args": ["/nginx-ingress-controller", *args]}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "controller", "namespace": "ingress-nginx"},
        "spec": {"template": {"spec": {"containers": [{"name": "other"}, container]}}},
        **more,
    }


def test_arguments_have_values_and_the_namespace_is_filled_in(tmp_path: Path) -> None:
    args = ("--ingress-class=nginx", "--configmap=$(POD_NAMESPACE)/settings", "--enable-ssl-passthrough")
    (tmp_path / "a.json").write_text(json.dumps({"kind": "List", "items": [workload(*args), {"kind": "Pod"}]}))
    (found,) = find_controllers(tmp_path)
    assert (found.kind, found.namespace, found.name, found.file) == (
        "Deployment",
        "ingress-nginx",
        "controller",
        "a.json",
    )
    assert found.get("configmap") == "ingress-nginx/settings"
    assert found.get("enable-ssl-passthrough") == "true"
    assert found.get("missing") == ""
    assert find_controllers(tmp_path / "a.json") == (found,)


def test_what_another_program_is_told_is_no_argument(tmp_path: Path) -> None:
    started = workload("--v=2")
    started["spec"]["template"]["spec"]["containers"][1]["command"] = ["/usr/bin/dumb-init", "--verbose", "--"]
    (tmp_path / "a.json").write_text(json.dumps(started))
    (found,) = find_controllers(tmp_path)
    assert found.arguments == {"v": "2"}


def test_other_workloads_and_broken_files_have_none(tmp_path: Path) -> None:
    other = workload(image="nginx:1.27")
    other["spec"]["template"]["spec"]["containers"][1]["args"] = ["--ingress-class=nginx"]
    (tmp_path / "a.json").write_text(json.dumps(other))
    (tmp_path / "b.yaml").write_text("nginx-ingress-controller: {")
    (tmp_path / "c.yaml").write_text("kind: Deployment\nspec: nginx-ingress-controller\n")
    assert find_controllers(tmp_path) == ()
    assert OtherController("Pod", "a", "b", "c", {}).get("x") == ""


def front(name: str = "front", *, selector: object = None, kind: str = "LoadBalancer") -> dict[str, Any]:
    spec = {"type": kind, "selector": {"app": "nginx"} if selector is None else selector}
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "namespace": "ingress-nginx"},
        "spec": spec,
    }


def found_service(place: Path, *services: dict[str, Any], publish: str = "") -> str:
    (place / "services.json").write_text(json.dumps({"kind": "List", "items": list(services)}))
    arguments = {"publish-service": publish} if publish else {}
    controller = OtherController(
        "Deployment", "ingress-nginx", "controller", "a", arguments, {"app": "nginx", "x": "y"}
    )
    service = find_service(place, controller)
    return "" if service is None else str(service["metadata"]["name"])


def test_the_published_service_is_the_one_that_clients_reach(tmp_path: Path) -> None:
    assert found_service(tmp_path, front(), front("other"), publish="$(POD_NAMESPACE)/other") == "other"
    assert found_service(tmp_path, front(), publish="elsewhere/front") == ""


def test_otherwise_it_is_the_one_before_the_pods(tmp_path: Path) -> None:
    assert (
        found_service(tmp_path, front("admission", kind="ClusterIP"), front("x", selector={"app": "y"}), front())
        == "front"
    )
    assert found_service(tmp_path, front(selector={})) == ""
    assert found_service(tmp_path, front(selector={"app": ["odd"]}), front("no", selector="odd")) == ""
