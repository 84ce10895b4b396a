"""What docs/gitops.md says: values that the chart takes, and a challenge beside the Ingress that it is for."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from ingress.settings.context import TranslationContext
from tests.fakes.backends import echoing
from tests.features.deploying.finding import of_kind, workload
from tests.features.deploying.rendering import CHART, documents, helm_template
from tests.integration.in_process import data_plane
from tests.integration.manifests import (
    Document,
    config_map,
    endpoint_slice,
    ingress,
    ingress_class,
    path,
    rule,
    service,
)
from tests.integration.wire import get
from tests.unit.sources import ROOT

PAGE = (ROOT / "docs" / "gitops.md").read_text(encoding="utf-8")
OBJECTS = {
    each["kind"]: each
    for block in re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    for each in yaml.safe_load_all(block)
}
VALUES: dict[str, dict[str, Any]] = {
    "Application": OBJECTS["Application"]["spec"]["source"]["helm"]["valuesObject"],
    "HelmRelease": OBJECTS["HelmRelease"]["spec"]["values"],
}
CHALLENGE = "/.well-known/acme-challenge/token"


@pytest.mark.skipif(shutil.which("helm") is None, reason="no helm on the PATH")
@pytest.mark.parametrize("kind", sorted(VALUES))
def test_the_chart_takes_the_values_of_the_page(kind: str, tmp_path: Path) -> None:
    (tmp_path / "values.yaml").write_text(yaml.safe_dump(VALUES[kind]))
    made = documents(helm_template(tmp_path / "values.yaml"))
    assert of_kind(made, "HorizontalPodAutoscaler")
    # Who renders without the cluster must not set a number that the autoscaler has chosen.
    assert ("replicas" in workload(made)["spec"]) is (kind == "HelmRelease")


def test_the_paths_of_the_page_are_those_of_the_chart() -> None:
    source = OBJECTS["Application"]["spec"]["source"]
    assert (ROOT / source["path"]).resolve() == CHART.resolve()
    assert OBJECTS["HelmRelease"]["spec"]["chart"]["spec"]["chart"] == source["path"]
    schema = json.loads((CHART / "values.schema.json").read_text())
    assert all(name in schema["properties"] for values in VALUES.values() for name in values)


def solver(name: str = "cm-acme-http-solver-x") -> Document:
    """The Ingress that cert-manager makes for a challenge (pkg/issuer/acme/http/ingress.go of v1.16)."""
    document = ingress(name, rule("shop.test", path(CHALLENGE, "solver", kind="ImplementationSpecific")))
    document["metadata"]["labels"] = {"acme.cert-manager.io/http01-solver": "true"}
    document["metadata"]["annotations"] = {"nginx.ingress.kubernetes.io/whitelist-source-range": "0.0.0.0/0,::/0"}
    return document


@pytest.mark.parametrize("redirects", [True, False])
async def test_a_challenge_is_answered_beside_the_ingress_that_it_is_for(redirects: bool) -> None:
    web = ingress("web", rule("shop.test", path("/", "app")))
    web["spec"]["tls"] = [{"hosts": ["shop.test"], "secretName": "shop-tls"}]
    settings = config_map(ssl_redirect=str(redirects).lower())
    async with (
        data_plane() as plane,
        echoing("app", {"zone-a": 1}) as apps,
        echoing("solver", {"zone-a": 1}) as solvers,
    ):
        cluster = [ingress_class("zonal"), settings, service("app"), service("solver")]
        cluster += [endpoint_slice(each) for each in (*apps, *solvers)]
        plane.serve([*cluster, web, solver()], TranslationContext(allow_local_endpoints=True))
        answer = await get(plane.http_port, "shop.test", CHALLENGE)
        other = await get(plane.http_port, "shop.test", "/.well-known/other")
    assert answer.status in ({200, 308} if redirects else {200})
    assert (b"solver" in answer.body) is (answer.status == 200)
    if answer.status == 308:
        assert answer.field("location") == f"https://shop.test{CHALLENGE}"
    assert b"solver" not in other.body
