"""The plain manifests with replicas that act as one are what the chart makes of the same choice."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.features.deploying.rendering import (
    MANIFESTS,
    ROOT,
    Document,
    chart,
    documents,
    helm_template,
    kustomized,
    manifests,
)

FLEET = ROOT / "deploy" / "manifests-fleet"


def by_name(objects: tuple[Document, ...]) -> dict[tuple[str, str], Document]:
    return {(each["kind"], each["metadata"]["name"]): each for each in objects}


def test_they_are_the_plain_ones_and_what_the_exchange_needs() -> None:
    plain, fleet = by_name(manifests()), by_name(kustomized(FLEET))
    assert fleet.keys() - plain.keys() == {
        ("NetworkPolicy", "zonal-fleet"),
        ("Role", "zonal-fleet"),
        ("RoleBinding", "zonal-fleet"),
    }
    changed = {name for name, each in plain.items() if fleet[name] != each}
    assert changed == {("Deployment", "zonal")}
    assert (MANIFESTS / "kustomization.yaml").is_file()


@pytest.mark.skipif(shutil.which("helm") is None, reason="no helm on the PATH")
def test_they_equal_what_the_chart_makes(tmp_path: Path) -> None:
    (tmp_path / "values.yaml").write_text("fleet: {enabled: true}\n")
    made = by_name(documents(helm_template(tmp_path / "values.yaml")))
    fleet = by_name(kustomized(FLEET))
    for name in (("NetworkPolicy", "zonal-fleet"), ("Role", "zonal-fleet"), ("RoleBinding", "zonal-fleet")):
        for part in ("spec", "rules", "roleRef", "subjects"):
            assert fleet[name].get(part) == made[name].get(part)
    (mine,), (theirs,) = (
        each["Deployment", "zonal"]["spec"]["template"]["spec"]["containers"] for each in (fleet, made)
    )
    assert sorted(mine["args"]) == sorted(theirs["args"])
    assert mine["ports"] == theirs["ports"]
    assert sorted(each["name"] for each in mine["env"]) == sorted(each["name"] for each in theirs["env"])


def test_the_chart_has_them_only_where_they_are_asked_for() -> None:
    assert ("Role", "zonal-fleet") not in by_name(chart("default"))
