"""What becomes of a logged request is what the routes of zonal say."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from ingress.migration.rehearsal.foreseeing import Foreseen, Oracle
from ingress.migration.rehearsal.lines import line_reader
from tests.unit.ingress.migration.dumped import CONTEXT, nginx, settings
from tests.unit.ingress.migration.rehearsal.logged import PORTS, line, oracle, translated


def asked(of: Oracle, target: str, host: str = "shop.test", client: str = "203.0.113.7") -> Foreseen:
    logged = line_reader()(line(target, client=client))
    assert logged is not None
    return of.foresee(host, logged, secure=True)


def test_a_route_has_the_names_of_its_backends_by_number_and_by_name_of_the_port(tmp_path: Path) -> None:
    of = oracle(
        tmp_path,
        nginx("web"),
        nginx("api", "/api", "api"),
        nginx("c", "/api", "next", canary="true", canary_weight="5"),
    )
    assert asked(of, "/x?y").names == {"shop-cart-80", "shop-cart-http"}
    assert asked(of, "/api/x").names == {"shop-api-80", "shop-api-http", "shop-next-80", "shop-next-http"}
    assert of.hosts_of["shop-api-80"] == ("shop.test",)
    assert asked(of, "/x", host="other.test") == Foreseen(404)


@pytest.mark.parametrize(
    ("annotations", "status"),
    [
        ({"permanent_redirect": "https://a.test"}, 301),
        ({"whitelist_source_range": "10.0.0.0/8"}, 403),
        ({"configuration_snippet": "return 410;"}, 503),
        ({"proxy_read_timeout": "10"}, 0),
    ],
)
def test_what_zonal_answers_by_itself(tmp_path: Path, annotations: dict[str, str], status: int) -> None:
    assert asked(oracle(tmp_path, nginx("web", **annotations)), "/").status == status


def test_a_path_that_a_snippet_changes_is_foreseen_where_it_leads(tmp_path: Path) -> None:
    of = oracle(
        tmp_path,
        settings(allow_snippet_annotations="true", annotations_risk_level="Critical"),
        nginx("web", configuration_snippet="rewrite ^/old/(.*)$ /api/$1 last; rewrite ^/dots/(.*)$ /.$1/ last;"),
        nginx("api", "/api", "api", whitelist_source_range="203.0.113.0/24"),
    )
    assert asked(of, "/old/x").names == {"shop-api-80", "shop-api-http"}
    assert asked(of, "/old/x", client="10.0.0.1").status == 403
    assert asked(of, "/dots/.").status == 400


def test_a_gate_that_cannot_be_foreseen_makes_the_answer_unknown(tmp_path: Path) -> None:
    found = asked(oracle(tmp_path, nginx("web", auth_url="http://auth.test/")), "/")
    assert (found.status, found.unknown) == (0, True)
    assert asked(oracle(tmp_path, nginx("web", whitelist_source_range="10.0.0.0/8")), "/", client="").unknown


@pytest.mark.parametrize(("target", "host"), [("/a%zz", "shop.test"), ("/", "a b"), ("/\u20ac", "shop.test")])
def test_what_no_client_can_send_is_refused(tmp_path: Path, target: str, host: str) -> None:
    assert asked(oracle(tmp_path, nginx("web")), target, host).status == 400


def test_a_wildcard_host_has_an_example(tmp_path: Path) -> None:
    of = oracle(tmp_path, nginx("web", host="*.shop.test"))
    assert asked(of, "/", of.hosts[0]).names == {"shop-cart-80", "shop-cart-http"}


def test_the_default_backend_has_the_name_under_which_it_is_logged(tmp_path: Path) -> None:
    context = msgspec.structs.replace(CONTEXT, default_backend_service="shop/next")
    found = asked(Oracle(translated(tmp_path, nginx("web"), context=context).model, PORTS), "/x", host="nobody.test")
    assert {"upstream-default-backend", "shop-next-80"} <= found.names
    assert (found.status, found.place) == (0, "the default backend")
