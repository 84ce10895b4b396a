"""What becomes of the Service in front of ingress-nginx: the chart's defaults, and what the chart must be told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from ingress.migration.checking import check_dump
from ingress.migration.services import name_of, service_reviews
from ingress.migration.texts import as_text
from ingress.migration.verdicts import NameStanding
from tests.unit.ingress.migration.dumped import CONTEXT, nginx
from tests.unit.ingress.migration.test_controllers import workload


def service(**spec: Any) -> dict[str, Any]:
    metadata = {"name": "front", "namespace": "ingress-nginx"}
    return {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": {"type": "LoadBalancer", **spec}}


def differing(document: dict[str, Any]) -> dict[str, str]:
    return {each.name: each.value for each in service_reviews(document) if each.standing is NameStanding.DIFFERS}


def test_what_the_chart_has_by_default_is_the_same() -> None:
    document = service(externalTrafficPolicy="Local", ports=[{"port": 80}, {"port": 443}], sessionAffinity="None")
    assert differing(document) == {}
    assert name_of(document) == "ingress-nginx/front"


def test_ports_policies_and_ranges_that_the_chart_must_be_told() -> None:
    document = service(
        type="NodePort", ports=[{"port": 5432}], loadBalancerSourceRanges=["192.0.2.0/24"], loadBalancerIP="192.0.2.7"
    )
    assert differing(document) == {
        "type": "NodePort",
        "externalTrafficPolicy": "Cluster",
        "ports": "5432",
        "loadBalancerSourceRanges": "192.0.2.0/24",
        "loadBalancerIP": "192.0.2.7",
    }


def test_annotations_of_load_balancers_and_addresses_are_named() -> None:
    document = service(externalTrafficPolicy="Local")
    document["metadata"]["annotations"] = {
        "meta.helm.sh/release-name": "nginx",
        "service.beta.kubernetes.io/aws-load-balancer-type": "external",
    }
    document["status"] = {"loadBalancer": {"ingress": [{"ip": "192.0.2.8"}, {"hostname": "lb.test"}]}}
    assert differing(document) == {
        "service.beta.kubernetes.io/aws-load-balancer-type": "external",
        "address": "lb.test",
    }
    assert [each.value for each in service_reviews(document) if each.name == "address"] == ["192.0.2.8", "lb.test"]


def test_odd_manifests_have_no_fields_instead_of_an_error() -> None:
    assert name_of({}) == "default/"
    assert differing({"spec": "odd", "metadata": [], "status": {"loadBalancer": {"ingress": "odd"}}}) == {
        "type": "ClusterIP",
        "externalTrafficPolicy": "Cluster",
    }


def test_a_check_shows_it_below_the_arguments(tmp_path: Path) -> None:
    front = service(ports=[{"port": 80}])
    documents = [workload("--publish-service=$(POD_NAMESPACE)/front"), nginx("web"), front]
    (tmp_path / "dump.yaml").write_text(yaml.safe_dump_all(documents))
    found = check_dump(tmp_path / "dump.yaml", CONTEXT, now_epoch_seconds=0.0)
    assert found.controller is not None
    assert found.controller.service == "ingress-nginx/front"
    told = as_text(found)
    assert "Service ingress-nginx/front: how clients reach ingress-nginx" in told
    assert "externalTrafficPolicy" in told
