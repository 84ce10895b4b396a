"""Responses as the operator wants them: added fields and gzip, over real sockets, of endpoints and of zonal itself."""

from __future__ import annotations

import gzip

import pytest

from ingress.findings import Finding
from ingress.settings.context import TranslationContext
from tests.fakes.backends import EchoEndpoint, echoing
from tests.integration.in_process import DataPlane, data_plane
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
from tests.integration.wire import Connection, Response, get, trusting

HOST, NOBODY, SECURE = "shop.test", "nobody.test", "secure.test"
CONTEXT = TranslationContext(allow_local_endpoints=True)
LONG = "X-Long: " + "a" * 600  # the echo of the request is as long, so that compressing it is worth it


def serve(plane: DataPlane, endpoint: EchoEndpoint, settings: dict[str, str], *more: Document) -> tuple[Finding, ...]:
    web = ingress("web", rule(HOST, path("/", "cart")))
    redirecting = {"nginx.ingress.kubernetes.io/force-ssl-redirect": "true"}
    secure = ingress("secure", rule(SECURE, path("/", "cart")), annotations=redirecting)
    objects = (ingress_class(), service("cart"), endpoint_slice(endpoint), web, secure, config_map(**settings))
    return plane.serve((*objects, *more), CONTEXT)


def fields_map(**data: str) -> Document:
    named = {name.replace("_", "-"): value for name, value in data.items()}
    return {**config_map(), "metadata": {"name": "fields", "namespace": "zonal"}, "data": named}


def values(response: Response, name: str) -> list[str]:
    return [value for each, value in response.fields if each == name]


async def test_added_fields_are_on_every_response_and_replace_those_of_endpoints() -> None:
    added = fields_map(X_Frame_Options="DENY", Connection="close", Server="zonal")
    async with data_plane() as plane, echoing("cart", {"zone-a": 1}) as (endpoint,):
        (finding,) = serve(plane, endpoint, {"add_headers": "zonal/fields"}, added)
        assert (finding.name, finding.reason) == ("fields", "InvalidValue")
        assert "Connection" in finding.message
        for host, status in ((HOST, 200), (NOBODY, 404), (SECURE, 308)):
            answer = await get(plane.http_port, host)
            assert (answer.status, values(answer, "x-frame-options"), values(answer, "server")) == (
                status,
                ["DENY"],
                ["zonal"],
            )
            assert not answer.ends_connection
        async with await Connection.open(plane.https_port, tls=trusting(), server_name=HOST) as connection:
            answer = await connection.get(HOST)
        assert values(answer, "x-frame-options") == ["DENY"]
        assert len(values(answer, "strict-transport-security")) == 1


async def test_added_fields_change_with_their_configmap_on_open_connections() -> None:
    async with data_plane() as plane, echoing("cart", {"zone-a": 1}) as (endpoint,):
        settings = {"add_headers": "zonal/fields"}
        assert serve(plane, endpoint, settings, fields_map(X_A="1")) == ()
        async with await Connection.open(plane.http_port) as connection:
            assert values(await connection.get(HOST), "x-a") == ["1"]
            serve(plane, endpoint, settings, fields_map(X_A="2", X_B="3"))
            answer = await connection.get(HOST)
            assert (values(answer, "x-a"), values(answer, "x-b")) == (["2"], ["3"])
            (finding,) = serve(plane, endpoint, settings)
            assert finding.reason == "ConfigMapMissing"
            assert values(await connection.get(HOST), "x-a") == []


async def test_responses_are_compressed_for_clients_that_accept_it() -> None:
    async with data_plane() as plane, echoing("cart", {"zone-a": 1}) as (endpoint,):
        assert serve(plane, endpoint, {"use_gzip": "true"}) == ()
        async with await Connection.open(plane.http_port) as connection:
            plain = await connection.get(HOST, "/", LONG)
            assert (plain.field("content-encoding"), plain.field("vary")) == (None, "Accept-Encoding")
            coded = await connection.get(HOST, "/", LONG, "Accept-Encoding: br, gzip;q=0.5")
            assert coded.field("content-encoding") == "gzip"
            assert (coded.field("content-length"), coded.field("transfer-encoding")) == (None, "chunked")
            assert len(coded.body) < 600 <= len(gzip.decompress(coded.body))
            assert coded._replace(body=gzip.decompress(coded.body)).json()["service"] == "cart"
            refused = await connection.get(HOST, "/", LONG, "Accept-Encoding: gzip;q=0")
            assert refused.field("content-encoding") is None
            assert (await connection.get(HOST, "/", LONG)).json()["service"] == "cart"


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"use_gzip": "false"},
        {"use_gzip": "true", "gzip_min_length": "100000"},
        {"use_gzip": "true", "gzip_types": "text/css"},
    ],
)
async def test_what_the_settings_do_not_ask_for_is_not_compressed(settings: dict[str, str]) -> None:
    async with data_plane() as plane, echoing("cart", {"zone-a": 1}) as (endpoint,):
        assert serve(plane, endpoint, settings) == ()
        answer = await get(plane.http_port, HOST, "/", LONG, "Accept-Encoding: gzip")
        assert (answer.field("content-encoding"), answer.field("vary")) == (None, None)
        assert answer.json()["service"] == "cart"
