"""The fields about security on answers: over TLS and without, from an endpoint and from zonal itself."""

from __future__ import annotations

import ssl

import pytest

from ingress.settings.context import TranslationContext
from tests.fakes.backends import echoing
from tests.integration.in_process import data_plane
from tests.integration.manifests import config_map, endpoint_slice, ingress, ingress_class, path, rule, service
from tests.integration.wire import Connection, Response, trusting

HOST, NOBODY = "shop.test", "nobody.test"
HSTS = "max-age=31536000; includeSubDomains"
CONTEXT = TranslationContext(allow_local_endpoints=True)


async def ask(port: int, host: str, *, tls: ssl.SSLContext | None) -> Response:
    async with await Connection.open(port, tls=tls, server_name=host) as connection:
        return await connection.get(host)


@pytest.mark.parametrize(
    ("settings", "hsts", "names_server"),
    [
        ({}, HSTS, False),
        ({"hsts": "false"}, None, False),
        ({"hsts_max_age": "5", "hsts_include_subdomains": "false"}, "max-age=5", False),
        ({"allow_backend_server_header": "true"}, HSTS, True),
    ],
)
async def test_hsts_is_on_every_answer_over_tls_and_server_on_none_unless_wanted(
    settings: dict[str, str], hsts: str | None, names_server: bool
) -> None:
    async with data_plane() as plane, echoing("cart", {"zone-a": 1}) as (endpoint,):
        web = ingress("web", rule(HOST, path("/", "cart")))
        cluster = (ingress_class(), service("cart"), endpoint_slice(endpoint), web, config_map(**settings))
        assert plane.serve(cluster, CONTEXT) == ()
        for host, status in ((HOST, 200), (NOBODY, 404)):
            for port, tls in ((plane.https_port, trusting()), (plane.http_port, None)):
                answer = await ask(port, host, tls=tls)
                assert answer.status == status
                assert answer.field("strict-transport-security") == (hsts if tls else None)
                assert (answer.field("server") is not None) is (names_server and status == 200)
