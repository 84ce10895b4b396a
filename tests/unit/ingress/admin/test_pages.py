"""The admin port: who gets which answer, and what nobody ever gets to see."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import Awaitable, Callable
from typing import Annotated, Any

import aiohttp
import msgspec
import pytest
from aiohttp import web
from aiohttp.test_utils import make_mocked_request
from pytest_aiohttp.plugin import AiohttpClient

from balancer.connections.listeners import CannotListen
from balancer.metrics.exposition import CONTENT_TYPE
from balancer.model.publication import RoutingModel
from balancer.model.secrecy import SECRET
from ingress.admin.pages import build_admin, model_document, start_admin
from tests.fakes.sockets import until
from tests.unit.ingress.admin.asked import FINDING, MODEL, UNWELL, Overview, Source

Ask = Callable[..., Awaitable[tuple[aiohttp.ClientResponse, bytes]]]


@pytest.fixture
def source() -> Source:
    return Source()


@pytest.fixture
async def ask(source: Source, aiohttp_client: AiohttpClient) -> Ask:
    """Ask the admin port, over a real connection from loopback."""
    client = await aiohttp_client(build_admin(source, Overview()))

    async def ask(path: str, method: str = "GET", **options: Any) -> tuple[aiohttp.ClientResponse, bytes]:
        async with client.request(method, path, **options) as response:
            return response, await response.read()

    return ask


async def test_livez_answers_ok_even_when_not_ready(ask: Ask, source: Source) -> None:
    source.reason = "no list of Ingress yet"
    response, body = await ask("/livez")
    assert (response.status, body) == (200, b"ok\n")


@pytest.mark.parametrize("path", ["/readyz", "/healthz"])
async def test_readiness_is_503_with_a_one_line_reason(ask: Ask, source: Source, path: str) -> None:
    response, body = await ask(path)
    assert (response.status, body) == (200, b"ok\n")
    source.reason = "no list of\nIngress yet"
    response, body = await ask(path)
    assert (response.status, body) == (503, b"no list of Ingress yet\n")


async def test_metrics_come_with_the_content_type_of_prometheus(ask: Ask) -> None:
    response, body = await ask("/metrics")
    assert response.status == 200
    assert response.headers["Content-Type"] == CONTENT_TYPE
    assert body == b"zonal_build_info 1\n"


@pytest.mark.large
async def test_a_large_page_of_metrics_arrives_whole(ask: Ask, source: Source) -> None:
    source.page = b"".join(b"series_%d 1\n" % number for number in range(300_000))
    response, body = await ask("/metrics")
    assert body == source.page
    assert response.headers["Content-Length"] == str(len(source.page))


async def test_an_address_that_scrapes_too_much_at_once_is_refused_and_another_is_not(source: Source) -> None:
    runner, port = await start_admin(build_admin(source, Overview()), host="127.0.0.1", port=0)
    source.may_tell.clear()

    async def scrape(address: str) -> int:
        connector = aiohttp.TCPConnector(local_addr=(address, 0))
        async with (
            aiohttp.ClientSession(connector=connector) as client,
            client.get(f"http://127.0.0.1:{port}/metrics") as response,
        ):
            return response.status

    try:
        greedy = [asyncio.ensure_future(scrape("127.0.0.2")) for _ in range(6)]
        await until(lambda: sum(each.done() for each in greedy) == 2)
        modest = asyncio.ensure_future(scrape("127.0.0.3"))
        await until(lambda: source.asked == 5)
        source.may_tell.set()
        assert sorted([await each for each in greedy]) == [200] * 4 + [503] * 2
        assert await modest == 200
    finally:
        await runner.cleanup()


async def test_findings_are_a_list_of_objects(ask: Ask) -> None:
    response, body = await ask("/debug/findings")
    assert response.content_type == "application/json"
    assert msgspec.json.decode(body) == [FINDING]


async def test_statuses_of_gateway_api_are_shown_as_they_should_be_written(ask: Ask) -> None:
    _, body = await ask("/debug/gateway")
    statuses = [{"kind": "Gateway", "namespace": "infra", "name": "gw", "status": {}}]
    assert msgspec.json.decode(body) == {"statuses": statuses}


async def test_an_explanation_is_an_object_with_these_keys(ask: Ask) -> None:
    response, body = await ask("/debug/explain?url=http%3A%2F%2Fshop.example.com%2Fa&header=X-Try%3A%20a&header=X:b")
    assert (response.status, response.content_type) == (200, "application/json")
    document = msgspec.json.decode(body)
    assert list(document) == [
        *("host", "path", "ingress", "service", "canary", "own_zone", "own_zone_source", "policy", "policy_source"),
        *("mode", "reason", "pool", "endpoint", "to_zone", "steps"),
        *("status", "error", "location", "target", "certificate", "limits", "endpoints"),
    ]
    assert (document["service"], document["reason"], document["endpoint"]) == (
        "shop/catalog",
        "zone_local",
        "10.0.0.1:8080",
    )
    assert document["pool"] == [{"endpoint": "10.0.0.1:8080", "zone": "zone-a", "probability": 1.0}]


async def test_where_no_worker_answers_there_is_no_explanation(ask: Ask) -> None:
    response, body = await ask("/debug/explain?url=http://nobody.test/")
    assert (response.status, msgspec.json.decode(body)) == (503, {"error": "no worker"})


@pytest.mark.parametrize(
    "query", ["", "?url=", "?url=shop.example.com", "?url=http%3A%2F%2Fshop.example.com&header=nonsense"]
)
async def test_a_question_that_makes_no_sense_is_400_with_the_reason(ask: Ask, query: str) -> None:
    response, body = await ask("/debug/explain" + query)
    assert (response.status, response.content_type) == (400, "application/json")
    assert msgspec.json.decode(body)["error"].startswith("give a ")


async def test_the_first_page_lists_every_page(ask: Ask, source: Source) -> None:
    response, body = await ask("/")
    assert (response.status, response.content_type) == (200, "text/plain")
    pages = {resource.canonical for resource in build_admin(source, Overview()).router.resources()} - {"/", "/healthz"}
    pages = {page for page in pages if not page.startswith("/ui/")}
    lines = body.decode().partition("\n\n")[0].splitlines()
    assert {line.split()[0] for line in lines} == pages
    assert all(len(line.split()) > 2 for line in lines)


async def test_the_model_is_a_document(ask: Ask) -> None:
    response, body = await ask("/debug/model")
    assert response.content_type == "application/json"
    document = msgspec.json.decode(body)
    assert document["health"] == [UNWELL]
    assert document["hosts"][0]["routes"][0]["kind"] == "Prefix"
    assert document["hosts"][0]["routes"][0]["branches"][0]["zone_policy"]["name"] == "prefer-zone"
    assert document["backends"][0]["endpoints"][0]["address"] == "10.0.0.1"
    assert document["own_zone"] == {"zone": "zone-a", "source": "flag", "node": None, "labels": []}


async def test_no_byte_of_a_key_or_certificate_is_ever_shown(ask: Ask) -> None:
    _, body = await ask("/debug/model")
    assert msgspec.json.decode(body)["certificates"] == [{"key": "shop/tls", "expires_at_epoch_seconds": 1.9e9}]
    for secret in (b"key-bytes", b"chain-bytes", b"PRIVATE", b"BEGIN", b"pem"):
        assert secret not in body


@pytest.mark.parametrize("path", ["/other", "/debug", "/debug/", "/debug/other", "/metrics/", "/livez/x"])
async def test_everything_else_is_not_found(ask: Ask, path: str) -> None:
    response, _ = await ask(path)
    assert response.status == 404


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"])
@pytest.mark.parametrize("path", ["/livez", "/metrics", "/debug/model"])
async def test_only_get_and_head_are_allowed(ask: Ask, path: str, method: str) -> None:
    response, _ = await ask(path, method)
    assert response.status == 405


@pytest.mark.parametrize("path", ["/livez", "/readyz", "/metrics", "/debug/model", "/debug/findings"])
async def test_head_has_the_head_of_get_and_no_body(ask: Ask, path: str) -> None:
    with_body, body = await ask(path)
    without, nothing = await ask(path, "HEAD")
    assert (without.status, nothing) == (200, b"")
    assert without.headers["Content-Length"] == str(len(body))
    assert without.headers["Content-Type"] == with_body.headers["Content-Type"]


@pytest.mark.parametrize("path", ["/livez", "/debug/model", "/nowhere"])
async def test_answers_do_not_name_the_software(ask: Ask, path: str) -> None:
    response, _ = await ask(path)
    assert "Server" not in response.headers


async def debug_status(
    peer: object,
    *,
    debug_remote: bool = False,
    headers: dict[str, str] | None = None,
    page: str = "/debug/findings",
) -> int:
    """The status that a peer with this socket address gets for a debugging page."""
    app = build_admin(Source(), Overview(), debug_remote=debug_remote)
    request = make_mocked_request("GET", page, headers=headers, app=app, transport=Peer(peer))
    match = await app.router.resolve(request)
    response = await match.handler(request)
    assert isinstance(response, web.StreamResponse)
    return response.status


class Peer:
    """A connection that knows only the address of its other end."""

    def __init__(self, address: object) -> None:
        self._address = address

    def get_extra_info(self, name: str, default: object = None) -> object:
        return self._address if name == "peername" else default


@pytest.mark.parametrize("address", ["127.0.0.1", "127.8.8.8", "::1", "::ffff:127.0.0.1"])
async def test_debug_pages_answer_loopback_peers(address: str) -> None:
    assert await debug_status((address, 5000)) == 200


@pytest.mark.parametrize(
    "address", ["10.0.0.1", "0.0.0.0", "::", "2001:db8::1", "::ffff:10.0.0.1", "fe80::1%eth0", "192.168.127.1"]
)
async def test_debug_pages_answer_nobody_else(address: str) -> None:
    assert await debug_status((address, 5000)) == 403
    assert await debug_status((address, 5000), debug_remote=True) == 200


async def test_explanations_are_for_loopback_peers_as_well() -> None:
    page = "/debug/explain?url=http://shop.example.com/"
    assert await debug_status(("127.0.0.1", 5000), page=page) == 200
    assert await debug_status(("10.0.0.1", 5000), page=page) == 403
    assert await debug_status(("10.0.0.1", 5000), page=page, debug_remote=True) == 200


async def test_debug_pages_do_not_answer_a_peer_without_address() -> None:
    assert await debug_status(None) == 403
    assert await debug_status("") == 403


@pytest.mark.parametrize("header", ["X-Forwarded-For", "X-Real-IP", "Forwarded"])
async def test_headers_do_not_make_a_peer_local(header: str) -> None:
    value = "for=127.0.0.1" if header == "Forwarded" else "127.0.0.1"
    assert await debug_status(("10.0.0.1", 5000), headers={header: value}) == 403


def test_only_pem_and_values_that_say_who_asks_are_left_out_of_the_model_document() -> None:
    hidden: set[str] = set()

    def compare(value: object, document: object) -> None:
        if isinstance(value, tuple):
            assert isinstance(document, list)
            for each, shown in zip(value, document, strict=True):
                compare(each, shown)
        elif isinstance(value, msgspec.Struct):
            assert isinstance(document, dict)
            hidden.update(set(value.__struct_fields__) - set(document))
            for name, shown in document.items():
                compare(getattr(value, name), shown)

    compare(MODEL, model_document(MODEL))
    assert hidden == {"ca_pem", "crl_pem", "chain_pem", "private_key_pem", "header_value", "header_pattern", "fields"}


class Secretive(msgspec.Struct, frozen=True):
    token: Annotated[str, SECRET] = "s3cret"
    data: bytes = b"key-bytes"
    name: str = "plain"


def test_marked_fields_and_bytes_show_no_content() -> None:
    strange: Any = (b"key-bytes", Secretive())
    shown = model_document(RoutingModel(hosts=strange))
    assert shown["hosts"] == ["<bytes>", {"data": "<bytes>", "name": "plain"}]


async def test_the_port_in_use_is_told(source: Source) -> None:
    runner, port = await start_admin(build_admin(source, Overview()), host="127.0.0.1", port=0)
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
            assert ipaddress.ip_address(connection.getpeername()[0]).is_loopback
    finally:
        await runner.cleanup()


async def test_a_port_that_is_taken_is_told_as_every_port_is(source: Source) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(CannotListen) as refused:
        port = taken.getsockname()[1]
        await start_admin(build_admin(source, Overview()), host="127.0.0.1", port=port)
    assert str(refused.value) == f"cannot listen on 127.0.0.1 port {port}: Address already in use"
    assert refused.value.purpose == "admin"
