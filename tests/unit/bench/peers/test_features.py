"""What each feature adds: the table, and the configurations that have it."""

from __future__ import annotations

from pathlib import Path

from tests.bench.peers.cases import GATEWAY, NGINX, ZONAL
from tests.bench.peers.configs import features, gateway
from tests.bench.peers.configs.features import FEATURES
from tests.bench.peers.configs.setup import Setup
from tests.bench.peers.features import addition_rows, case_of, case_of_addition, rows
from tests.bench.peers.samples import Figures, Sample


def setup(place: Path) -> Setup:
    return Setup(
        place=place, http_port=1, https_port=2, endpoint_ports=(3, 4), grpc_ports=(6, 7), echo_port=5,
        certificate=place, key=place, both=place,
    )  # fmt: skip


def sample(case: str, contender: str, microseconds: float) -> Sample:
    return Sample(case=case, contender=contender, round=0, figures={"cpu_microseconds": microseconds})


def test_every_feature_has_an_ingress_and_nginx_a_server_where_it_has_the_feature(tmp_path: Path) -> None:
    text = features.servers(setup(tmp_path))
    named = {document["metadata"]["name"] for document in features.objects(setup(tmp_path))}
    for each in FEATURES:
        assert each.name in named
        assert (f"server_name {each.host};" in text) is (each.nginx is not None)
        assert case_of(each).contenders == ((NGINX, ZONAL) if each.nginx is not None else (ZONAL,))


def test_the_table_says_what_is_added_and_leaves_out_what_was_not_measured() -> None:
    figures = Figures([sample("plain", ZONAL, 30.0), sample("cors", ZONAL, 32.5), sample("plain", NGINX, 10.0)])
    lines = rows(figures).splitlines()
    assert lines[2] == "| no feature | 30.0 | +0.0 | 10.0 | +0.0 |"
    assert "| CORS for one origin | 32.5 | +2.5 |  |  |" in lines


def test_every_addition_of_gateway_api_has_a_route() -> None:
    hostnames = [each["spec"].get("hostnames") for each in gateway.objects(["shop.test"])]
    assert ["shop.test"] in hostnames
    for each in gateway.ADDITIONS:
        assert [each.host] in hostnames
        assert case_of_addition(each).contenders == (GATEWAY,)


def test_the_table_of_additions_leaves_out_what_was_not_measured() -> None:
    samples = [sample("route", GATEWAY, 12.0), sample("edit", GATEWAY, 13.1)]
    lines = addition_rows(Figures(samples)).splitlines()
    assert lines[2:] == [
        "| path and host | 12.0 | +0.0 |",
        "| RequestHeaderModifier with set, add and remove | 13.1 | +1.1 |",
    ]
