"""A check as SARIF is valid by the schema of SARIF 2.1.0, and points at the files."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fastjsonschema
import msgspec
import pytest

from ingress.migration.baselines import read_baseline
from ingress.migration.sarif import as_sarif
from ingress.migration.texts import as_json
from ingress.migration.verdicts import IngressOutcome, Review
from tests.unit.ingress.migration.dumped import checked, nginx, settings

pytestmark = pytest.mark.large

SCHEMA = Path(__file__).parents[3] / "cases" / "sarif" / "schema.json"


@pytest.fixture(scope="module")
def validated() -> Callable[[Review], dict[str, Any]]:
    validate = fastjsonschema.compile(json.loads(SCHEMA.read_text(encoding="utf-8")))

    def parsed(review: Review) -> dict[str, Any]:
        log = json.loads(as_sarif(review, version="1.2.3"))
        validate(log)
        return dict(log["runs"][0])

    return parsed


def test_every_ingress_is_a_result_at_its_file(validated: Callable[[Review], dict[str, Any]], tmp_path: Path) -> None:
    run = validated(
        checked(
            tmp_path,
            nginx("web", affinity="cookie"),
            nginx("late", "/late", server_alias="~^a"),
            settings(keep_alive="60"),
        )
    )
    results = {each["locations"][0]["logicalLocations"][0]["fullyQualifiedName"]: each for each in run["results"]}
    assert {name: (each["ruleId"], each["kind"], each["level"]) for name, each in results.items()} == {
        "Ingress/shop/web": ("ingress-works-differently", "fail", "note"),
        "Ingress/shop/late": ("ingress-misrouted", "fail", "error"),
        "ConfigMap/ingress-nginx/ingress-nginx-controller": ("ingress-works", "pass", "none"),
    }
    for each in results.values():
        assert each["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "all.yaml"
        assert run["tool"]["driver"]["rules"][each["ruleIndex"]]["id"] == each["ruleId"]
    assert "affinity: differs" in results["Ingress/shop/web"]["message"]["text"]


def test_other_findings_are_results_as_well(validated: Callable[[Review], dict[str, Any]], tmp_path: Path) -> None:
    (tmp_path / "broken file.yaml").write_text("{")
    run = validated(checked(tmp_path, nginx("web")))
    result = run["results"][-1]
    assert result["ruleId"] == "ingress-closed"
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "broken%20file.yaml"


def test_every_outcome_has_a_rule(validated: Callable[[Review], dict[str, Any]], tmp_path: Path) -> None:
    assert len(validated(checked(tmp_path, nginx("web")))["tool"]["driver"]["rules"]) == len(IngressOutcome)


def test_results_have_regions_fingerprints_and_a_state(
    validated: Callable[[Review], dict[str, Any]], tmp_path: Path
) -> None:
    found = checked(tmp_path, nginx("web", affinity="cookie"), nginx("late", "/late", server_alias="~^a"))
    first, second = found.ingresses
    baseline = read_baseline(as_json(msgspec.structs.replace(found, ingresses=(first,))).encode())
    lines = {(first.namespace, first.name, ""): 4, (second.namespace, second.name, "affinity"): 9}
    log = json.loads(as_sarif(found, version="1", lines=lines, baseline=baseline))
    fastjsonschema.compile(json.loads(SCHEMA.read_text(encoding="utf-8")))(log)
    results = log["runs"][0]["results"]
    assert [each["locations"][0]["physicalLocation"]["region"]["startLine"] for each in results] == [4, 9]
    assert [each["baselineState"] for each in results] == ["unchanged", "new"]
    assert len({each["partialFingerprints"]["zonalCheck/v1"] for each in results}) == 2
    assert all(rule["help"]["text"] for rule in log["runs"][0]["tool"]["driver"]["rules"])
