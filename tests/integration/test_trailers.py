"""Trailers over real sockets: they say nothing that a gate has judged, and nothing that an edit hides."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import NamedTuple

import pytest

from ingress.settings.context import TranslationContext
from tests.fakes.clients import RawClient
from tests.fakes.endpoints import ScriptedEndpoint, Visit
from tests.features.faults.http2_clients import Http2Client
from tests.integration.in_process import DataPlane, data_plane
from tests.integration.manifests import config_map, endpoint_slice, ingress, ingress_class, path, rule, service

HOST = "shop.test"
PREFIX = "nginx.ingress.kubernetes.io/"
TRAILER_NAMES = b"X-User, X_User, X-Checksum, Authorization, X-Forwarded-User, Content-Type"
TRAILERS = (
    (b"X-User", b"root"),
    (b"x_user", b"root"),
    (b"x-checksum", b"abc"),
    (b"x-unannounced", b"1"),
    (b"grpc-status", b"0"),
    (b"authorization", b"Basic cm9vdDpyb290"),
    (b"x-forwarded-user", b"root"),
    (b"content-type", b"text/html"),
)
ANSWER = (
    b"HTTP/1.1 200 OK\r\nTrailer: X-Sum\r\nX-Powered-By: lab\r\nServer: lab\r\nTransfer-Encoding: chunked\r\n\r\n"
    b"2\r\nok\r\n0\r\nX-Sum: 1\r\nX-Powered-By: lab\r\nserver: lab\r\nx_powered_by: lab\r\nSet-Cookie: a=b\r\n\r\n"
)


class Place(NamedTuple):
    port: int
    service: str = "web"
    zone: str = "zone-a"


class Got:
    """What the endpoint got of its last request."""

    head = b""
    rest = b""

    async def answer(self, visit: Visit) -> None:
        while True:
            self.head = await visit.head()
            self.rest = b""
            while not self.rest.endswith(b"\r\n\r\n"):
                self.rest += await visit.some()
            await visit.send(ANSWER)


async def let_in(visit: Visit) -> None:
    while True:
        await visit.head()
        await visit.send(b"HTTP/1.1 200 OK\r\nX-User: alice\r\nContent-Length: 0\r\n\r\n")


@asynccontextmanager
async def serving(**said: str) -> AsyncIterator[tuple[DataPlane, Got]]:
    """A path `/` whose auth service says who the user is."""
    got = Got()
    async with ScriptedEndpoint(let_in) as auth, ScriptedEndpoint(got.answer) as web, data_plane() as plane:
        named = {"auth_url": f"http://127.0.0.1:{auth.port}/check", "auth_response_headers": "X-User", **said}
        annotations = {PREFIX + name.replace("_", "-"): text for name, text in named.items()}
        cluster = [
            ingress_class(),
            config_map(ssl_redirect="false", http2_cleartext="true", hide_headers="X-Powered-By"),
            service("web"),
            endpoint_slice(Place(web.port)),
            ingress("guarded", rule(HOST, path("/", "web")), annotations=annotations),
        ]
        plane.serve(cluster, TranslationContext(allow_local_endpoints=True))
        yield plane, got


HEAD = (
    f"POST / HTTP/1.1\r\nHost: {HOST}\r\nTrailer: {TRAILER_NAMES.decode()}\r\nTransfer-Encoding: chunked\r\n".encode()
)
KEPT = b"x-checksum: abc\r\ngrpc-status: 0\r\n"


def written(name: bytes) -> bytes:
    return b"".join(b"%b: %b\r\n" % field for field in TRAILERS) + name


@pytest.mark.parametrize("said", [{}, {"proxy_request_buffering": "on"}], ids=["streamed", "received first"])
async def test_a_client_sends_nothing_in_trailers_that_a_gate_decides(said: dict[str, str]) -> None:
    async with serving(**said) as (plane, got), RawClient(plane.http_port) as client:
        client.send(HEAD + b"\r\n5\r\nhello\r\n0\r\n" + written(b"\r\n"))
        await client.head()
        assert b"\r\nX-User: alice\r\n" in got.head
        assert b"root" not in got.head + got.rest
        assert got.rest == b"5\r\nhello\r\n0\r\n" + KEPT + b"\r\n"


async def test_a_client_of_http2_sends_nothing_in_trailers_that_a_gate_decides() -> None:
    head = f"POST / HTTP/1.1\r\nhost: {HOST}\r\ntrailer: {TRAILER_NAMES.decode()}\r\n\r\nhello".encode()
    async with serving() as (plane, got), Http2Client.to(plane.http_port) as client:
        begun = client.begin(head, ends=False)
        client.h2.send_headers(begun.stream, [(name.lower(), value) for name, value in TRAILERS], end_stream=True)
        client.flush()
        assert (await begun.answer).status == 200
        assert b"\r\nX-User: alice\r\n" in got.head
        assert b"root" not in got.head + got.rest
        assert got.rest.endswith(b"0\r\n" + KEPT + b"\r\n")


async def test_an_endpoint_says_nothing_in_trailers_that_is_hidden_in_heads() -> None:
    async with serving() as (plane, _), RawClient(plane.http_port) as client:
        client.send(HEAD + b"\r\n0\r\n\r\n")
        assert b"lab" not in await client.head()
        assert await client.reader.readuntil(b"\r\n\r\n") == b"2\r\nok\r\n0\r\nX-Sum: 1\r\n\r\n"
