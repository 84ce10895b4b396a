"""A check runs the real translation on a dump, with the class of ingress-nginx read as ours."""

from __future__ import annotations

from pathlib import Path

from ingress.migration.assuming import SUPPOSED
from ingress.migration.texts import as_text
from ingress.migration.verdicts import IngressOutcome
from ingress.objects.kinds import Kind
from tests.integration.manifests import ingress, ingress_class, path, rule, service
from tests.unit.ingress.migration.dumped import checked, nginx, of, settings


def test_ingresses_of_the_class_are_checked_and_others_are_counted(tmp_path: Path) -> None:
    other = ingress("other", rule("other.test", path("/", "cart")), class_name="traefik")
    by_annotation = nginx("old", "/old")
    del by_annotation["spec"]["ingressClassName"]
    by_annotation["metadata"]["annotations"]["kubernetes.io/ingress.class"] = "nginx"
    found = checked(tmp_path, nginx("web"), by_annotation, other)
    assert [(each.name, each.verdict) for each in found.ingresses] == [
        ("old", IngressOutcome.WORKS),
        ("web", IngressOutcome.WORKS),
    ]
    assert found.of_other_classes == 1
    assert {each.file for each in found.ingresses} == {"all.yaml"}


def test_a_kind_that_the_dump_lacks_is_supposed_and_said(tmp_path: Path) -> None:
    secured = nginx("web")
    secured["spec"]["tls"] = [{"hosts": ["shop.test"], "secretName": "shop-tls"}]
    found = checked(tmp_path, secured)
    assert of(found, "web").verdict is IngressOutcome.WORKS
    assert found.assumed == tuple(SUPPOSED.values())


def test_a_kind_that_the_dump_has_in_part_is_not_supposed(tmp_path: Path) -> None:
    found = checked(tmp_path, nginx("web"), nginx("api", "/api", "api"), service("api"))
    assert [each.reason for each in of(found, "web").as_today] == ["ServiceMissing"]
    assert of(found, "api").as_today == ()
    assert SUPPOSED[Kind.SERVICE] not in found.assumed


def test_a_class_of_ours_in_the_dump_is_ours_as_well(tmp_path: Path) -> None:
    """Both controllers serve side by side: what zonal serves already takes part in the conflicts."""
    mine = ingress("mine", rule("shop.test", path("/", "cart")), class_name="zonal")
    found = checked(tmp_path, ingress_class(), mine, nginx("web"))
    assert [(each.name, each.verdict) for each in found.ingresses] == [("web", IngressOutcome.MISROUTED)]
    assert found.of_other_classes == 1


def test_the_configmap_of_the_other_controller_counts(tmp_path: Path) -> None:
    found = checked(tmp_path, nginx("web"), settings(enable_modsecurity="true"))
    assert found.config_map.verdict is IngressOutcome.CLOSED
    assert of(found, "web").verdict is IngressOutcome.CLOSED
    assert "ConfigMap" in of(found, "web").remarks[0].message


def test_the_arguments_of_the_controller_in_the_dump_count(tmp_path: Path) -> None:
    container = {
        "image": "x/ingress-nginx/controller:v1",
        "args": ["/nginx-ingress-controller", "--configmap=infra/nginx", "--tcp-services-configmap=infra/tcp"],
    }
    workload = {
        "kind": "DaemonSet",
        "metadata": {"name": "nginx", "namespace": "infra"},
        "spec": {"template": {"spec": {"containers": [container]}}},
    }
    mine = settings(keep_alive="60") | {"metadata": {"name": "nginx", "namespace": "infra"}}
    tcp = settings() | {"metadata": {"name": "tcp", "namespace": "infra"}, "data": {"5432": "db/postgres:5432"}}
    found = checked(tmp_path, nginx("web"), workload, mine, tcp)
    assert (found.config_map.name, found.config_map.exists) == ("infra/nginx", True)
    assert found.controller is not None
    assert "5432 to db/postgres:5432" in found.controller.arguments[-1].how
    assert "DaemonSet infra/nginx (all.yaml): the arguments of ingress-nginx" in as_text(found)
