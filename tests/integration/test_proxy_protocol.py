"""The PROXY protocol on both ports: the header's address is the client's, and nothing is served without a header."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import pytest

from balancer.metrics.definitions import CLIENT_BYTES
from balancer.metrics.recorder import NUMBERS
from balancer.metrics.slots import read
from ingress.settings.context import TranslationContext
from tests.fakes.backends import echoing
from tests.integration.in_process import DataPlane, data_plane
from tests.integration.manifests import config_map, endpoint_slice, ingress, ingress_class, path, rule, service
from tests.integration.wire import Connection, Response, trusting

HOST = "shop.test"
V1 = b"PROXY TCP4 192.0.2.7 198.51.100.1 56324 443\r\n"
V2_SIGNATURE = b"\r\n\r\n\x00\r\nQUIT\n"
V2 = V2_SIGNATURE + b"\x21\x21\x00\x24" + bytes.fromhex("20010db8" + "0" * 22 + "07") * 2 + b"\x00\x01\x00\x02"
V2_LOCAL = V2_SIGNATURE + b"\x20\x00\x00\x00"
CONTEXT = TranslationContext(allow_local_endpoints=True)


@asynccontextmanager
async def serving(**settings: str) -> AsyncIterator[DataPlane]:
    async with data_plane() as plane, echoing("cart", {"zone-a": 1}) as (endpoint,):
        web = ingress("web", rule(HOST, path("/", "cart")))
        cluster = (ingress_class(), service("cart"), endpoint_slice(endpoint), web, config_map(**settings))
        assert plane.serve(cluster, CONTEXT) == ()
        yield plane


async def ask(port: int, header: bytes, *, tls: ssl.SSLContext | None = None, cut: int = 0) -> Response:
    """One request after `header`, of which `cut` bytes are sent as a piece of their own."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    if cut:
        writer.write(header[:cut])
        await writer.drain()
        await asyncio.sleep(0.01)  # or the kernel joins both pieces
    writer.write(header[cut:])
    if tls is not None:
        await writer.start_tls(tls, server_hostname=HOST)
    async with Connection(reader, writer) as connection:
        return await connection.get(HOST)


def client_address(response: Response) -> set[str]:
    """What the endpoint was told about who asks."""
    fields = {name.lower(): value for name, value in response.json()["headers"]}
    return {fields["x-forwarded-for"], fields["x-real-ip"]}


@pytest.mark.parametrize(
    ("header", "address"),
    [(V1, "192.0.2.7"), (V2, "2001:db8::7"), (V2_LOCAL, "127.0.0.1"), (b"PROXY UNKNOWN\r\n", "127.0.0.1")],
    ids=["v1", "v2", "v2 local", "v1 unknown"],
)
@pytest.mark.parametrize("secure", [False, True], ids=["plain", "tls"])
async def test_the_endpoint_hears_the_address_of_the_header(header: bytes, address: str, secure: bool) -> None:
    async with serving(use_proxy_protocol="true") as plane:
        port, tls = (plane.https_port, trusting()) if secure else (plane.http_port, None)
        for cut in (0, 1, 12, len(header) - 1):
            response = await ask(port, header, tls=tls, cut=cut)
            assert (response.status, client_address(response)) == (200, {address})


async def test_the_hop_of_the_client_that_the_header_names_is_counted_by_zone() -> None:
    networks = {"zone_client_networks": "192.0.2.0/24=zone-b", "use_proxy_protocol": "true"}
    async with serving(**networks) as plane:
        answers = [await ask(plane.http_port, header) for header in (V1, V2)]
        counted = {
            entry.key.labels: entry.values[0]
            for entry in read(plane.counters)
            if entry.key.metric == NUMBERS[CLIENT_BYTES.name] and entry.key.labels[2] == "response"
        }
    sizes = [float(len(answer.body)) for answer in answers]
    assert counted == {("zone-b", "unknown", "response"): sizes[0], ("unknown", "unknown", "response"): sizes[1]}


def told(response: Response, *names: str) -> tuple[str, ...]:
    """Fields that the endpoint got."""
    fields = {name.lower(): value for name, value in response.json()["headers"]}
    return tuple(fields[name] for name in names)


async def test_the_port_of_the_header_says_where_tls_ended_and_nothing_is_redirected_in_a_circle() -> None:
    async with serving(use_proxy_protocol="true", force_ssl_redirect="true") as plane:
        served = await ask(plane.http_port, V1)
        assert told(served, "x-forwarded-port", "x-forwarded-proto", "x-scheme") == ("443", "https", "https")
        assert served.field("strict-transport-security") is None  # TLS did not end here, as in ingress-nginx
        for header in (V1.replace(b" 443", b" 80"), V1.replace(b" 443", b" 8443"), V2_LOCAL):
            assert (await ask(plane.http_port, header)).status == 308
        odd = await ask(plane.https_port, V1.replace(b" 443", b" 8443"), tls=trusting())
        assert told(odd, "x-forwarded-port", "x-forwarded-proto") == ("8443", "https")


@pytest.mark.parametrize("first", [b"GET / HTTP/1.1\r\nHost: shop.test\r\n\r\n", V1[:20]])
async def test_without_a_header_nothing_is_answered(first: bytes) -> None:
    async with serving(use_proxy_protocol="true", proxy_protocol_header_timeout="100ms") as plane:
        for port in (plane.http_port, plane.https_port):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(first)
            async with asyncio.timeout(30):
                with suppress(ConnectionResetError):  # it was closed with bytes unread
                    assert await reader.read() == b""
            writer.close()


async def test_without_the_setting_a_header_is_no_request() -> None:
    async with serving() as plane:
        response = await ask(plane.http_port, V1)
        assert response.status == 400
