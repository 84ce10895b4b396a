"""A moved Ingress is a second object that says the same, without what only the API server writes."""

from __future__ import annotations

import pytest

from ingress.migration.moving import (
    PREFERRED,
    SUGGESTED,
    RawObject,
    moved_config_map,
    moved_ingress,
    name_beside,
)
from ingress.objects.names import SUBDOMAIN
from ingress.settings.table.option import NGINX_PREFIX
from ingress.settings.table.whole import INGRESS_OPTIONS
from ingress.settings.unsupported import FOREIGN_ANNOTATIONS
from tests.unit.ingress.migration.dumped import PREFIX, nginx, settings


def annotations_of(document: RawObject) -> dict[str, str]:
    return dict(document["metadata"].get("annotations", {}))


def test_class_and_name_are_new_and_everything_else_is_kept() -> None:
    old = nginx("web", affinity="cookie")
    old["metadata"]["labels"] = {"app": "shop"}
    old["metadata"]["annotations"]["cert-manager.io/issuer"] = "letsencrypt"
    new = moved_ingress(old, class_name="zonal", suffix="z")
    assert new.document == {
        **old,
        "metadata": {**old["metadata"], "name": "web-z"},
        "spec": {**old["spec"], "ingressClassName": "zonal"},
    }
    assert new.changes == ()
    assert old["metadata"]["name"] == "web"


def test_what_the_api_server_writes_is_left_out() -> None:
    old = nginx("web")
    old["status"] = {"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}}
    old["metadata"] |= {"uid": "1", "resourceVersion": "2", "generation": 3, "managedFields": [], "selfLink": "/"}
    old["metadata"]["creationTimestamp"] = "2024-01-01T00:00:00Z"
    old["metadata"]["annotations"]["kubectl.kubernetes.io/last-applied-configuration"] = "{}"
    new = moved_ingress(old, class_name="zonal", suffix="z").document
    assert new.keys() == {"apiVersion", "kind", "metadata", "spec"}
    assert new["metadata"] == {"name": "web-z", "namespace": "shop"}


def test_the_class_annotation_becomes_the_field() -> None:
    old = nginx("web")
    del old["spec"]["ingressClassName"]
    old["metadata"]["annotations"]["kubernetes.io/ingress.class"] = "nginx"
    new = moved_ingress(old, class_name="zonal", suffix="z")
    assert (new.document["spec"]["ingressClassName"], annotations_of(new.document)) == ("zonal", {})
    assert len(new.changes) == 1


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"whitelist_source_range": "10.0.0.0/8"}, {"allowlist-source-range": "10.0.0.0/8"}),
        (
            {"whitelist_source_range": "10.0.0.0/8", "allowlist_source_range": "::1"},
            {"whitelist-source-range": "10.0.0.0/8", "allowlist-source-range": "::1"},
        ),
        ({"whitelist_source_range": "a", "allowlist_source_range": " "}, {"allowlist-source-range": "a"}),
    ],
)
def test_an_annotation_with_a_better_name_gets_the_name_unless_both_are_set(
    given: dict[str, str], expected: dict[str, str]
) -> None:
    new = moved_ingress(nginx("web", **given), class_name="zonal", suffix="z").document
    assert annotations_of(new) == {PREFIX + name: value for name, value in expected.items()}


def test_what_had_no_effect_is_kept_and_said() -> None:
    new = moved_ingress(nginx("web", upstream_max_fails="3"), class_name="zonal", suffix="z")
    assert annotations_of(new.document) == {PREFIX + "upstream-max-fails": "3"}
    assert "ejection-consecutive-errors" in new.changes[0]


def test_the_tables_name_what_exists() -> None:
    assert SUGGESTED.keys() <= FOREIGN_ANNOTATIONS
    assert NGINX_PREFIX + PREFERRED["whitelist-source-range"] in INGRESS_OPTIONS


def test_a_configmap_keeps_every_key() -> None:
    new = moved_config_map(settings(keep_alive="60", no_such_key="1"), namespace="zonal", name="zonal")
    assert new["metadata"] == {"name": "zonal", "namespace": "zonal"}
    assert new["data"] == {"keep-alive": "60", "no-such-key": "1"}


@pytest.mark.parametrize("name", ["web", "a.b", "x" * 253, "x." * 126 + "x", ("y" * 240) + "1"])
def test_every_name_stays_a_name_of_its_own(name: str) -> None:
    found = name_beside(name, "zonal")
    assert SUBDOMAIN.fullmatch(found)
    assert found.endswith("-zonal")
    assert found != name_beside("x" * 252, "zonal")


def test_what_belongs_to_somebody_else_is_left_out_and_said() -> None:
    old = nginx("web", affinity="cookie")
    old["metadata"] |= {
        "finalizers": ["a/b"],
        "ownerReferences": [{"kind": "Shop", "name": "a"}],
        "labels": {"argocd.argoproj.io/instance": "shop", "app.kubernetes.io/managed-by": "Helm", "app": "shop"},
    }
    old["metadata"]["annotations"] |= {"meta.helm.sh/release-name": "shop", "argocd.argoproj.io/tracking-id": "x"}
    new = moved_ingress(old, class_name="zonal", suffix="z")
    assert new.document["metadata"] == {
        "name": "web-z",
        "namespace": "shop",
        "labels": {"app": "shop"},
        "annotations": {PREFIX + "affinity": "cookie"},
    }
    assert len(new.changes) == 6
    assert "argocd.argoproj.io/instance is left out: it belongs to Argo CD." in new.changes
