"""The pages about installing name what there is: files, values, roles, permissions, and objects that are valid."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from ingress.settings.unsupported import Closes
from ingress.settings.unsupported_settings import UNSUPPORTED_SETTINGS
from tests.features.deploying import schemas
from tests.features.deploying.finding import container, of_kind, pod
from tests.features.deploying.permissions import grants
from tests.features.deploying.podsecurity import violations
from tests.features.deploying.rendering import CHART, CHOICES, ROOT, Document, chart, kustomized, values
from tools.boards.writing import ALERTS, BOARDS

INSTALL = (ROOT / "docs" / "install.md").read_text()
PAGES = [ROOT / "docs" / "install.md", *sorted((ROOT / "deploy").rglob("*.md"))]
SHOP = ROOT / "deploy" / "examples" / "shop-cluster"


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", INSTALL, re.MULTILINE | re.DOTALL)


def is_declared(path: str) -> bool:
    """Whether a value is in values.yaml, or belongs to one that the user fills in freely."""
    tree: object = yaml.safe_load((CHART / "values.yaml").read_text())
    for name in path.split("."):
        if not isinstance(tree, dict) or (tree and name not in tree):
            return False
        tree = tree.get(name, {})
    return True


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_path_and_link_leads_somewhere(page: Path) -> None:
    text = page.read_text()
    named = re.findall(r"(?<![\w./])deploy/[\w./-]*\w", text)
    links = [target for target in re.findall(r"\]\(([^)#]+)\)", text) if "://" not in target]
    assert [each for each in named if not (ROOT / each).exists()] == []
    assert [each for each in links if not (page.parent / each).exists()] == []


def test_every_value_on_the_page_is_one_of_the_chart() -> None:
    given = set(re.findall(r"--set(?:-string)? ([\w.-]+?)=", INSTALL))
    given |= set(
        re.findall(r"`((?:secrets|configMaps|status|networkPolicy|service|ingressClass)\.\w+)(?:=[^`]*)?`", INSTALL)
    )
    assert len(given) > 10
    assert [each for each in given if not is_declared(each)] == []


def test_the_keys_to_leave_out_are_those_that_close_every_path() -> None:
    (listed,) = re.findall(r"^\* Leave out (.*?)\. They", INSTALL, re.MULTILINE | re.DOTALL)
    closing = {name for name, loss in UNSUPPORTED_SETTINGS.items() if loss.closes is Closes.PATHS}
    assert set(re.findall(r"`([^`]+)`", listed)) == closing


def test_the_page_counts_the_alerts_and_dashboards_right() -> None:
    numbers = {3: "three", 19: "nineteen"}
    alerts = [each for each in yaml.safe_load(ALERTS.read_text())["groups"][0]["rules"] if "alert" in each]
    text = " ".join(INSTALL.split())
    assert f"give Grafana {numbers[len(BOARDS)]} dashboards, and Prometheus {numbers[len(alerts)]} alerts" in text


def test_a_value_that_the_chart_lacks_is_noticed() -> None:
    assert is_declared("settings.zone-aware-routing")
    assert is_declared("service.annotations.anything")
    assert not is_declared("secrets.namespace")


def test_the_values_and_objects_on_the_page_are_valid() -> None:
    documents = [each for block in blocks("yaml") for each in yaml.safe_load_all(block)]
    objects = [each for each in documents if "apiVersion" in each and not each["apiVersion"].startswith("kind.")]
    assert [schemas.problems(each) for each in objects] == [[], [], []]
    examples = [each for each in documents if "apiVersion" not in each]
    assert len(examples) == 4
    assert [name for each in examples for name in _paths(each) if not is_declared(name)] == []


def _paths(tree: Document, before: str = "") -> Iterator[str]:
    for name, inner in tree.items():
        yield f"{before}{name}"
        if isinstance(inner, dict):
            yield from _paths(inner, f"{before}{name}.")


def test_the_values_for_the_conformance_suite_are_valid_and_wide_enough() -> None:
    page = ROOT / "docs" / "gateway.md"
    (named,) = re.findall(r"`(deploy/examples/[\w./-]+)`", page.read_text())
    given = yaml.safe_load((ROOT / named).read_text())
    assert [name for name in _paths(given) if not is_declared(name)] == []
    assert given["secrets"]["clusterWide"], "a Gateway of the suite's setup has a Secret"
    assert given["gateway"]["ports"]["last"] - given["gateway"]["ports"]["first"] >= 255


def test_the_role_on_the_page_is_the_one_of_the_chart() -> None:
    documents = tuple(each for block in blocks("yaml") for each in yaml.safe_load_all(block) if "metadata" in each)
    theirs = [grant for grant in grants(chart("everything")) if grant.role == "zonal-secrets"]
    assert grants(documents) == theirs
    (binding,) = of_kind(documents, "RoleBinding")
    assert binding["subjects"] == [{"kind": "ServiceAccount", "name": "zonal", "namespace": "zonal"}]


def test_every_role_has_a_row_that_names_its_verbs_and_its_value() -> None:
    section = INSTALL.split("\n## Permissions\n")[1].split("\n## ")[0]
    cells = re.findall(r"^\| `([\w-]+)` \|([^|]+)\|([^|]*)\|", section, re.MULTILINE)
    rows = {role: (allows, value.strip(" `")) for role, allows, value in cells}
    given = [grant for choice in CHOICES for grant in grants(chart(choice))]
    assert set(rows) == {grant.role for grant in given}
    assert [grant for grant in given if grant.verb not in rows[grant.role][0]] == []
    assert [value for _, value in rows.values() if value and not is_declared(value)] == []


def test_what_the_page_says_about_defaults_is_so() -> None:
    defaults = values("default")
    for name in ("replicas", "shutdownGraceSeconds", "drainSeconds"):
        assert f"`{name}`** ({defaults[name]})" in INSTALL or f"`{name}` ({defaults[name]})" in INSTALL, name
    assert f"runs as uid {pod(chart('default'))['spec']['securityContext']['runAsUser']}" in INSTALL
    assert container(chart("default"))["image"] in INSTALL
    assert f"lease {values('default')['ingressClass']['name']}-leader" in INSTALL


def test_the_shop_for_a_cluster_is_valid_and_may_run_in_its_namespace() -> None:
    objects = kustomized(SHOP)
    assert [found for each in objects if (found := schemas.problems(each))] == []
    pods = [each["spec"]["template"]["spec"] for each in of_kind(objects, "Deployment")]
    assert len(pods) == 2
    assert [violations(each) for each in pods] == [[], []]


def test_the_backend_on_the_page_has_what_the_page_says_that_backends_need() -> None:
    section = INSTALL.split("\n## What backends need\n")[1].split("\n## ")[0]
    (block,) = re.findall(r"^```yaml\n(.*?)^```", section, re.MULTILINE | re.DOTALL)
    spec = yaml.safe_load(block)["spec"]["template"]["spec"]
    (app,) = spec["containers"]
    assert 0 < app["lifecycle"]["preStop"]["sleep"]["seconds"] < spec["terminationGracePeriodSeconds"]
    assert "httpGet" in app["readinessProbe"]
    assert "of 4,289" in section, "what the pause is worth"
