"""A body that is refused is never whole for an endpoint, and its client's connection ends."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import NamedTuple

import pytest

from ingress.settings.context import TranslationContext
from tests.fakes.clients import RawClient
from tests.fakes.endpoints import ScriptedEndpoint, Visit
from tests.fakes.sockets import until
from tests.features.faults.http2_scripts import Http2ScriptedEndpoint
from tests.integration.in_process import DataPlane, data_plane
from tests.integration.manifests import config_map, endpoint_slice, ingress, ingress_class, path, rule, service

HOST = "shop.test"
HEAD = b"POST / HTTP/1.1\r\nHost: shop.test\r\nTransfer-Encoding: chunked\r\n\r\n"
REFUSED = {
    "CRLF in a quoted extension": b'5;a="\r\nhello\r\n0\r\n\r\n',
    "CRLF in a quoted extension that ends later": b'5;a="\r\n0\r\n\r\nGET /smuggled HTTP/1.1\r\nX: "\r\nhello\r\n',
    "LF in an extension": b"5;\nhello\r\n0\r\n\r\n",
    "no size": b"\r\nhello\r\n0\r\n\r\n",
    "a size in decimals": b"5.0\r\nhello\r\n0\r\n\r\n",
    "a negative size": b"-5\r\nhello\r\n0\r\n\r\n",
    "an endless size": b"fffffffffffffffff\r\nhello\r\n0\r\n\r\n",
    "data longer than the size": b"5\r\nhello!\r\n0\r\n\r\n",
    "LF after data": b"5\r\nhello\n0\r\n\r\n",
    "a malformed trailer": b"0\r\nX A: b\r\n\r\n",
    "a folded trailer": b"0\r\nX-A: b\r\n c\r\n\r\n",
    "CR in the end": b"0\r\r\n\r\n",
}
BEGUN = b"3\r\none\r\n"


class Place(NamedTuple):
    port: int
    service: str = "web"
    zone: str = "zone-a"


class Ended(NamedTuple):
    """What an endpoint got of one request, and that its connection ended."""

    received: bytes


@asynccontextmanager
async def serving(
    kind: type[ScriptedEndpoint], ended: asyncio.Queue[Ended], **said: str
) -> AsyncIterator[tuple[DataPlane, ScriptedEndpoint]]:
    async def script(visit: Visit) -> None:
        await visit.rest()
        ended.put_nowait(Ended(visit.received))

    annotations = {f"nginx.ingress.kubernetes.io/{name.replace('_', '-')}": text for name, text in said.items()}
    async with kind(script) as web, data_plane() as plane:
        cluster = [
            ingress_class(),
            config_map(ssl_redirect="false"),
            service("web"),
            endpoint_slice(Place(web.port)),
            ingress("web", rule(HOST, path("/", "web")), annotations=annotations),
        ]
        plane.serve(cluster, TranslationContext(allow_local_endpoints=True))
        yield plane, web


def is_whole(received: bytes) -> bool:
    """Whether an endpoint could take it for a complete request, or for more than one."""
    body = received.partition(b"\r\n\r\n")[2]
    return b"0\r\n\r\n" in body or b"smuggled" in received or received.count(b" HTTP/1.1\r\n") > 1


def received(web: ScriptedEndpoint, data: bytes) -> bool:
    return any(data in visit.received for visit in web.visits)


@pytest.mark.parametrize("body", REFUSED.values(), ids=REFUSED.keys())
@pytest.mark.parametrize("begins", [b"", BEGUN], ids=["at once", "after a part of the body"])
async def test_an_endpoint_gets_no_end_of_a_refused_body(body: bytes, begins: bytes) -> None:
    ended: asyncio.Queue[Ended] = asyncio.Queue()
    async with serving(ScriptedEndpoint, ended) as (plane, web), RawClient(plane.http_port) as client:
        client.send(HEAD + begins)
        if begins:
            await until(lambda: received(web, BEGUN))
        client.send(body)
        response = await client.response()
        assert response.status == 400
        assert await client.reader.read() == b"", "the connection ends"
        if web.visits:
            assert not is_whole((await ended.get()).received)


@pytest.mark.parametrize("body", REFUSED.values(), ids=REFUSED.keys())
async def test_a_body_that_is_received_first_reaches_no_endpoint_if_it_is_refused(body: bytes) -> None:
    ended: asyncio.Queue[Ended] = asyncio.Queue()
    async with (
        serving(ScriptedEndpoint, ended, proxy_request_buffering="on") as (plane, web),
        RawClient(plane.http_port) as client,
    ):
        client.send(HEAD + BEGUN + body)
        assert (await client.response()).status == 400
        assert await client.reader.read() == b""
        assert web.requests == 0


async def test_an_endpoint_over_http2_gets_a_reset_and_no_end() -> None:
    ended: asyncio.Queue[Ended] = asyncio.Queue()
    async with (
        serving(Http2ScriptedEndpoint, ended, backend_protocol="GRPC") as (plane, web),
        RawClient(plane.http_port) as client,
    ):
        client.send(HEAD + BEGUN)
        await until(lambda: received(web, b"one"))
        client.send(REFUSED["data longer than the size"])
        assert (await client.response()).status == 400
        assert await client.reader.read() == b""
        assert not is_whole((await ended.get()).received)


async def test_an_answer_that_has_begun_is_cut_if_the_body_is_refused() -> None:
    async def script(visit: Visit) -> None:
        await visit.head()
        await visit.send(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf")
        await visit.rest()
        ended.put_nowait(Ended(visit.received))

    ended: asyncio.Queue[Ended] = asyncio.Queue()
    async with ScriptedEndpoint(script) as web, serving(ScriptedEndpoint, asyncio.Queue()) as (plane, _):
        cluster = [ingress_class(), config_map(ssl_redirect="false"), service("web"), endpoint_slice(Place(web.port))]
        web_of_host = ingress("web", rule(HOST, path("/", "web")))
        plane.serve([*cluster, web_of_host], TranslationContext(allow_local_endpoints=True))
        async with RawClient(plane.http_port) as client:
            client.send(HEAD + BEGUN)
            await client.head()
            assert await client.reader.readexactly(4) == b"half"
            client.send(REFUSED["LF after data"])
            with pytest.raises((asyncio.IncompleteReadError, ConnectionError)):
                await client.reader.readexactly(6)
            assert not is_whole((await ended.get()).received)
