"""`zonal savings` with a Prometheus, with pages of metrics, and what it says when nothing is counted."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from ingress.migration.command import CannotCheck
from ingress.migration.savings.command import SavingsOptions, run_savings
from tests.fakes.prometheus import prometheus
from tests.integration.manifests import ManifestFolder, endpoint_slice, service
from tests.unit.ingress.migration.dumped import CONTEXT, PlacedEndpoint, nginx

LABELS = {"host": "shop.test", "namespace": "ingress-nginx", "exported_namespace": "shop", "exported_service": "cart"}
NGINX = {
    "nginx_ingress_controller_request_size_sum": [(LABELS, 100e9)],
    "nginx_ingress_controller_response_size_sum": [(LABELS, 500e9)],
    "nginx_ingress_controller_bytes_sent_sum": [(LABELS, 999e9)],
}
PAGE = """\
# TYPE nginx_ingress_controller_request_size histogram
nginx_ingress_controller_request_size_sum{host="shop.test",namespace="shop",service="cart"} 1e+09
# TYPE nginx_ingress_controller_bytes_sent histogram
nginx_ingress_controller_bytes_sent_sum{host="shop.test",namespace="shop",service="cart"} 5e+09
nginx_ingress_controller_bytes_sent_sum{host="_",namespace="",service=""} 7e+09
# TYPE process_start_time_seconds gauge
process_start_time_seconds 1000000
"""


def dump(place: Path) -> Path:
    slices = [endpoint_slice(PlacedEndpoint("cart", zone)) for zone in ("zone-a", "zone-b", "zone-c")]
    for number, each in enumerate(slices):
        each["endpoints"][0]["addresses"] = [f"10.0.0.{number + 1}"]
        each["metadata"]["name"] = f"cart-{number}"
    ManifestFolder(place / "dump").write("all.yaml", nginx("web"), service("cart"), *slices)
    return place / "dump"


def run(place: Path, **more: Any) -> int:
    return run_savings(SavingsOptions(source=dump(place), context=CONTEXT, **more))


def test_the_bytes_of_ingress_nginx_are_multiplied_by_zones_and_prices(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with prometheus(NGINX) as server:
        assert run(tmp_path, prometheus=server.url, cloud="aws", days=15.0) == 0
    out = capsys.readouterr().out
    assert "shop.test  shop/cart  1,200.0   16.00    16.00" in out
    assert "zonal saves $16.00, and at most $17.28:" in out
    assert "DataTransfer-Regional-Bytes" in out
    assert "Inter Zone" not in out
    assert all("[15d]" in each.query for each in server.asked)


def test_pages_of_pods_are_enough(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "pod.txt"
    page.write_text(PAGE)
    os.utime(page, (1000000 + 86400, 1000000 + 86400))
    assert run(tmp_path, metrics=(page, page), price=0.01, form="json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["gigabytes"] == pytest.approx(2 * 6 * 30)
    assert found["saved"] == pytest.approx(2 * 6 * 30 * 0.01 * 2 / 3)


def test_hours_say_for_how_long_pages_have_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "pod.txt"
    page.write_text(PAGE.replace("process_start_time_seconds 1000000\n", ""))
    with pytest.raises(CannotCheck, match="--hours"):
        run(tmp_path, metrics=(page,))
    assert run(tmp_path, metrics=(page,), hours=720.0, form="json") == 0
    assert json.loads(capsys.readouterr().out)["gigabytes"] == pytest.approx(6.0)


def test_without_bytes_there_is_no_estimate(tmp_path: Path) -> None:
    with prometheus({}) as server, pytest.raises(CannotCheck, match="are its metrics scraped"):
        run(tmp_path, prometheus=server.url)


def test_after_the_move_it_is_asked_of_zonal(capsys: pytest.CaptureFixture[str]) -> None:
    shop = {"namespace": "shop", "service": "cart"}
    known = {"zonal_zone_cost_dollars_total": [(shop, 1.0)], "zonal_zone_blind_cost_dollars_total": [(shop, 3.0)]}
    with prometheus(known) as server:
        assert run_savings(SavingsOptions(prometheus=server.url, months=1, by_service=True)) == 0
        (_, line) = capsys.readouterr().out.splitlines()
        assert line.endswith("shop,cart,0.0000,0.0000,1.0000,3.0000,2.0000,2.1600")
        assert run_savings(SavingsOptions(prometheus=server.url, months=1, form="json")) == 0
    assert json.loads(capsys.readouterr().out)[0]["saved_dollars"] == 2.0


def test_after_the_move_there_must_be_a_prometheus() -> None:
    with pytest.raises(CannotCheck, match="--prometheus URL"):
        run_savings(SavingsOptions())


def test_without_zones_no_dollars_are_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ManifestFolder(tmp_path / "dump").write("all.yaml", nginx("web"), service("cart"))
    with prometheus(NGINX) as server:
        assert run_savings(SavingsOptions(source=tmp_path / "dump", context=CONTEXT, prometheus=server.url)) == 0
    out = capsys.readouterr().out
    assert "600.0 GB a month; what they cost between zones is unknown" in out
    assert "EndpointSlices" in out
    assert "$0.00" not in out
