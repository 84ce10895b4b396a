"""Canaries stand in the routes of the Ingress beside them, and each is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.ingress.migration.dumped import nginx
from tests.unit.ingress.migration.gateway.test_whole import move
from tests.unit.ingress.migration.test_writing import documents


def test_each_canary_is_told_and_stands_in_the_routes_of_its_main_ingress(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told = move(tmp_path, capsys, nginx("cart"), nginx("next", service="next", canary="true", canary_weight="10"))
    assert "shop/next: moves into the routes of the Ingress beside it" in told
    assert "canary-weight  becomes backendRefs.weight  [10]" in told
    (route,) = [each for each in documents(tmp_path / "new") if each["kind"] == "HTTPRoute"]
    assert [each["name"] for each in route["spec"]["rules"][0]["backendRefs"]] == ["cart", "next"]


@pytest.mark.parametrize(
    ("beside", "why"),
    [
        ([], "shop.test/: it gets no requests there: see zonal check."),
        ([nginx("cart", auth_url="http://auth.test")], "shop.test/: the Ingress beside it stays."),
        # Of two canaries of a path, ingress-nginx asks one.
        ([nginx("cart"), nginx("a", service="a", canary="true", canary_weight="5")], "shop.test/: it gets no requests"),
    ],
)
def test_a_canary_that_gets_no_requests_stays(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], beside: list[dict[str, object]], why: str
) -> None:
    told = move(tmp_path, capsys, *beside, nginx("next", service="next", canary="true", canary_weight="10"))
    assert "shop/next: stays an Ingress" in told
    assert why in told


def test_a_canary_that_the_translation_leaves_out_is_not_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    canary = nginx("next", service="next", canary="true", canary_weight="10", allowlist_source_range="10.0.0.0/8")
    told = move(tmp_path, capsys, nginx("cart"), canary)
    assert "shop/next: stays an Ingress" in told
    (route,) = [each for each in documents(tmp_path / "new") if each["kind"] == "HTTPRoute"]
    assert "weight" not in route["spec"]["rules"][0]["backendRefs"][0]
