"""Trusted proxies over real sockets: whose word counts, what endpoints are told, and that nobody else can forge it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from ingress.settings.context import TranslationContext
from tests.fakes.backends import echoing
from tests.features.faults.http2_clients import Http2Client
from tests.integration.in_process import DataPlane, data_plane
from tests.integration.manifests import config_map, endpoint_slice, ingress, ingress_class, path, rule, service
from tests.integration.wire import Connection, Response, request_bytes

HOST = "shop.test"
CONTEXT = TranslationContext(allow_local_endpoints=True)
PREFIX = "nginx.ingress.kubernetes.io/"
PROXIED = b"PROXY TCP4 192.0.2.7 198.51.100.1 56324 80\r\n"


@asynccontextmanager
async def serving(annotations: dict[str, str] | None = None, **config: str) -> AsyncIterator[DataPlane]:
    async with data_plane() as plane, echoing("cart", {"zone-a": 1}) as (endpoint,):
        named = {PREFIX + name: value for name, value in (annotations or {}).items()}
        web = ingress("web", rule(HOST, path("/", "cart")), annotations=named)
        plane.serve((ingress_class(), service("cart"), endpoint_slice(endpoint), web, config_map(**config)), CONTEXT)
        yield plane


async def ask(plane: DataPlane, *fields: str, header: bytes = b"") -> Response:
    """One request from 127.0.0.1 on a connection of its own, after a PROXY `header`."""
    async with await Connection.open(plane.http_port) as connection:
        return await connection.send(header + request_bytes("GET", "/", f"Host: {HOST}", *fields))


def told(response: Response) -> dict[str, str]:
    """What the endpoint got, by lower-case name."""
    return {name.lower(): value for name, value in response.json()["headers"]}


SPOOFED = (
    ("X-Forwarded-For: 198.51.100.7",),
    ("X-Forwarded-For: 198.51.100.7, 127.0.0.1",),
    ("X-Forwarded-For: 127.0.0.1", "X-Forwarded-For: 198.51.100.7"),
    ("Forwarded: for=198.51.100.7",),
    ("X-Real-IP: 198.51.100.7",),
    ("X_Forwarded_For: 198.51.100.7",),
    ("CF-Connecting-IP: 198.51.100.7",),
)
ALLOWED = {"whitelist-source-range": "198.51.100.0/24"}


@pytest.mark.parametrize("config", [{}, {"use_forwarded_headers": "true", "proxy_real_ip_cidr": "10.0.0.0/8"}])
async def test_a_client_that_is_no_trusted_proxy_forges_no_address(config: dict[str, str]) -> None:
    async with serving(ALLOWED, **config) as plane:
        for fields in SPOOFED:
            assert (await ask(plane, *fields)).status == 403


async def test_a_client_behind_a_trusted_proxy_forges_no_address_either() -> None:
    trust = {"use_forwarded_headers": "true", "proxy_real_ip_cidr": "127.0.0.0/8"}
    async with serving(ALLOWED, **trust) as plane:
        for forged in ("198.51.100.7", "198.51.100.7, 198.51.100.8", "127.0.0.1, 198.51.100.7"):
            # The proxy has appended the address from which it got the request.
            assert (await ask(plane, f"X-Forwarded-For: {forged}, 203.0.113.9")).status == 403
            assert (await ask(plane, f"X-Forwarded-For: {forged}", "X-Forwarded-For: 203.0.113.9")).status == 403
        assert (await ask(plane, "X-Forwarded-For: 203.0.113.9, 198.51.100.7")).status == 200
        assert (await ask(plane, "X-Forwarded-For: 198.51.100.7, unknown")).status == 403


@pytest.mark.parametrize(
    ("config", "status"),
    [
        ({}, 403),
        ({"enable_real_ip": "true"}, 403),
        ({"use_forwarded_headers": "true", "proxy_real_ip_cidr": "127.0.0.0/8"}, 403),
        ({"use_forwarded_headers": "true", "proxy_real_ip_cidr": "192.0.2.0/24"}, 200),
    ],
)
async def test_a_field_counts_beside_a_proxy_header_only_from_the_address_that_it_names(
    config: dict[str, str], status: int
) -> None:
    async with serving(ALLOWED, use_proxy_protocol="true", **config) as plane:
        assert (await ask(plane, "X-Forwarded-For: 198.51.100.7", header=PROXIED)).status == status
        assert (await ask(plane, header=PROXIED.replace(b"192.0.2.7", b"198.51.100.7"))).status == 200


async def test_a_second_proxy_header_is_no_request() -> None:
    async with serving(ALLOWED, use_proxy_protocol="true") as plane:
        second = PROXIED.replace(b"192.0.2.7", b"198.51.100.7")
        assert (await ask(plane, header=PROXIED + second)).status == 400


async def test_endpoints_are_told_what_the_trusted_proxy_said() -> None:
    fields = (
        "X-Forwarded-For: 1.2.3.4",
        "X-Forwarded-Proto: myproto",
        "X-Forwarded-Port: 1234",
        "X-Forwarded-Host: myhost.com, another.host,example.net",
    )
    trust = {"use_forwarded_headers": "true", "proxy_real_ip_cidr": "127.0.0.1"}
    async with serving({}, compute_full_forwarded_for="true", **trust) as plane:
        got = told(await ask(plane, *fields))
    assert (got["host"], got["x-forwarded-host"]) == ("myhost.com", "myhost.com")
    assert (got["x-forwarded-for"], got["x-real-ip"]) == ("1.2.3.4, 127.0.0.1", "1.2.3.4")
    assert (got["x-forwarded-proto"], got["x-scheme"], got["x-forwarded-port"]) == ("myproto", "myproto", "1234")
    assert got["x-original-forwarded-for"] == "1.2.3.4"


async def test_requests_of_one_connection_may_come_from_different_clients() -> None:
    async with (
        serving(enable_real_ip="true", proxy_real_ip_cidr="127.0.0.1") as plane,
        await Connection.open(plane.http_port) as connection,
    ):
        for client in ("1.2.3.4", "5.6.7.8", "1.2.3.4"):
            assert told(await connection.get(HOST, "/", f"X-Forwarded-For: {client}"))["x-real-ip"] == client
        assert told(await connection.get(HOST))["x-real-ip"] == "127.0.0.1"


async def test_a_trusted_scheme_decides_about_the_redirect_to_https() -> None:
    trust = {"use_forwarded_headers": "true", "proxy_real_ip_cidr": "127.0.0.1"}
    force = {"force-ssl-redirect": "true"}
    async with serving(force, **trust) as plane:
        assert (await ask(plane, "X-Forwarded-Proto: https")).status == 200
        redirected = await ask(plane, "X-Forwarded-Proto: http", "X-Forwarded-Host: Other.test:8080")
        assert (redirected.status, redirected.field("location")) == (308, "https://other.test")
    async with serving(force, use_forwarded_headers="true", proxy_real_ip_cidr="10.0.0.0/8") as plane:
        redirected = await ask(plane, "X-Forwarded-Proto: https", "X-Forwarded-Host: evil.test")
        assert (redirected.status, redirected.field("location")) == (308, f"https://{HOST}")


FAMILY = (
    "X-Forwarded-Prefix: /evil",
    "X-Forwarded-User: root",
    "X-Forwarded-Groups: admins",
    "X-Forwarded-Ssl: on",
    "X-Forwarded-Protocol: https",
    "X-Forwarded-Access-Token: t",
    "Front-End-Https: on",
    "X-Url-Scheme: https",
    "True-Client-IP: 10.0.0.1",
    "CF-Connecting-IP: 10.0.0.1",
    "X-Original-Host: admin.test",
    "CloudFront-Forwarded-Proto: https",
    "X_Forwarded_User: root",
    "X!Forwarded!User: root",
)
FAMILY_NAMES = {line.partition(":")[0].lower() for line in FAMILY}


@pytest.mark.parametrize("config", [{}, {"enable_underscores_in_headers": "true"}])
async def test_a_client_says_nothing_that_only_proxies_can_know(config: dict[str, str]) -> None:
    async with serving(None, **config) as plane:
        got = told(await ask(plane, *FAMILY, "X-Other: 1"))
    assert not FAMILY_NAMES & got.keys()
    assert got["x-other"] == "1"


async def test_nor_does_a_client_over_http2() -> None:
    lines = ("GET / HTTP/1.1", f"host: {HOST}", *(line.lower() for line in FAMILY), "x-other: 1", "", "")
    async with serving(None, http2_cleartext="true") as plane, Http2Client.to(plane.http_port) as client:
        answer = await client.ask("\r\n".join(lines).encode())
    got = {name.lower(): value for name, value in json.loads(answer.body)["headers"]}
    assert not FAMILY_NAMES & got.keys()
    assert got["x-other"] == "1"


async def test_a_trusted_proxy_says_what_it_knows() -> None:
    config = {"use_forwarded_headers": "true", "proxy_real_ip_cidr": "127.0.0.0/8"}
    async with serving(None, **config) as plane:
        got = told(await ask(plane, *FAMILY, "ssl-client-verify: SUCCESS"))
        assert got.keys() & FAMILY_NAMES == FAMILY_NAMES - {"x_forwarded_user", "x!forwarded!user"}
        assert "ssl-client-verify" not in got


async def test_two_peers_of_one_kind_of_connection_are_told_apart() -> None:
    """What is remembered of a head as clients send it is not what a trusted proxy's head becomes."""
    config = {"use_forwarded_headers": "true", "proxy_real_ip_cidr": "192.0.2.0/24", "use_proxy_protocol": "true"}
    async with serving(None, **config) as plane:
        for _ in range(2):
            for header, is_told in ((PROXIED, True), (PROXIED.replace(b"192.0.2.7", b"203.0.113.9"), False)):
                got = told(await ask(plane, "X-Forwarded-User: alice", header=header))
                assert ("x-forwarded-user" in got) is is_told


async def test_an_operator_keeps_a_name() -> None:
    async with serving(keep_client_headers="X-Forwarded-Prefix, true-client-ip") as plane:
        got = told(await ask(plane, *FAMILY))
    assert got.keys() & FAMILY_NAMES == {"x-forwarded-prefix", "true-client-ip"}
