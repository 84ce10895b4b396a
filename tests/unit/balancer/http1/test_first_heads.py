"""What one connection began with is known where another begins with the same bytes, and nothing else of it is."""

from __future__ import annotations

import asyncio
import gc
import random
import sys
from collections.abc import Iterator
from types import ModuleType

import msgspec
import pytest

from balancer.http.messages import RequestHead
from balancer.http1.first_heads import FirstHeads
from balancer.http1.heads import REMEMBERED_BYTES_MAX, RequestHeadReader
from balancer.model.settings import ProxySettings
from tests.fakes.clients import RawClient
from tests.unit.balancer.http1.listening import Listener, next_request

SETTINGS = ProxySettings()


def began(heads: FirstHeads, head: bytes) -> RequestHead:
    """The request of a connection that begins with `head`."""
    reader = RequestHeadReader(SETTINGS)
    request = reader.read(head)
    heads.remember(head, SETTINGS, request, reader.keep_alive)
    return request


@pytest.mark.parametrize(
    "head",
    [
        b"GET /a HTTP/1.1\r\nHost: app.test\r\nAccept: */*\r\nUser-Agent: x\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: app.test\r\nConnection: close\r\n\r\n",
        b"GET / HTTP/1.0\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: app.test\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n",
        b"OPTIONS * HTTP/1.1\r\nHost: app.test\r\n\r\n",
    ],
)
def test_another_connection_that_begins_so_has_the_same_request(head: bytes) -> None:
    heads = FirstHeads()
    assert heads.find(head, SETTINGS) is None
    request = began(heads, head)
    reader = RequestHeadReader(SETTINGS)
    reader.read(head)
    assert heads.find(head, SETTINGS) == (SETTINGS, request, reader.keep_alive)


def test_one_byte_more_or_other_settings_are_another_beginning() -> None:
    heads = FirstHeads()
    head = b"GET /first HTTP/1.1\r\nHost: app.test\r\n\r\n"
    began(heads, head)
    assert heads.find(head + b"G", SETTINGS) is None
    assert heads.find(head[:-1], SETTINGS) is None
    assert heads.find(head, msgspec.structs.replace(SETTINGS, head_lines_max=1)) is None


@pytest.mark.parametrize(
    "head",
    [
        pytest.param(b"GET /a%b HTTP/1.1\r\nHost: app.test\r\n\r\n" % (b"x" * REMEMBERED_BYTES_MAX), id="long"),
        b"GET / HTTP/1.1\r\nHost: app.test\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: app.test\r\nAuthorization: Basic Zm9vOmJhcg==\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: app.test\r\nCookie: a=b\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: app.test\r\nAccept: */*\r\nX-Api-Key: a\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: app.test\r\nX-Request-ID: a\r\n\r\n",
        b"GET /?token=a HTTP/1.1\r\nHost: app.test\r\n\r\n",
        b"GET http://app.test/?token=a HTTP/1.1\r\nHost: app.test\r\n\r\n",
    ],
)
def test_what_may_be_one_clients_own_is_not_remembered(head: bytes) -> None:
    heads = FirstHeads()
    began(heads, head)
    assert heads.find(head, SETTINGS) is None


def test_the_number_of_remembered_heads_is_bounded() -> None:
    known = FirstHeads()
    heads = [b"GET /%d HTTP/1.1\r\nHost: app.test\r\n\r\n" % number for number in range(1000)]
    for head in heads:
        began(known, head)
    assert known.find(heads[-1], SETTINGS) is not None
    assert sum(known.find(head, SETTINGS) is not None for head in heads) <= 64


async def test_connections_that_begin_alike_go_on_each_for_itself() -> None:
    first, second = (b"GET /%b HTTP/1.1\r\nHost: app.test\r\n\r\n" % path for path in (b"1", b"2"))
    async with Listener() as listener:
        for _ in range(3):
            async with RawClient(listener.port) as client:
                connection = await listener.opened.get()
                for head, target in ((first, b"/1"), (second, b"/2"), (first, b"/1")):
                    client.send(head)
                    request = await next_request(connection)
                    assert request is not None
                    assert request.target == target
                assert connection.requests == 3


def kept_bytes(*roots: object) -> Iterator[bytes]:
    """Every text that the modules of the data plane and `roots` hold, at whatever depth."""
    spaces = {name: vars(each) for name, each in tuple(sys.modules.items())}
    waiting = [*roots, *(each for name, each in spaces.items() if name.startswith("balancer."))]
    seen = {id(each) for name, each in spaces.items() if not name.startswith("balancer.")}
    while waiting:
        each = waiting.pop()
        if id(each) in seen or isinstance(each, ModuleType | asyncio.AbstractEventLoop):
            continue
        seen.add(id(each))
        if isinstance(each, bytes):  # not the buffer of the reads, which the next ones overwrite
            yield each
        elif isinstance(each, msgspec.Struct):  # the collector sees nothing in most of them
            waiting += msgspec.structs.astuple(each)
        else:
            waiting += gc.get_referents(each)


@pytest.mark.large
async def test_nothing_of_a_worker_holds_the_secrets_of_clients_that_have_left() -> None:
    secret = b"s%d" % random.randrange(10**15, 10**16)
    secrets = {name: secret + name for name in (b"authorization", b"cookie", b"x-api-key", b"query")}
    heads = [b"GET /%b HTTP/1.1\r\nHost: app.test\r\nAccept: */*\r\n" % kind for kind in secrets]
    heads = [head + b"%b: %b\r\n\r\n" % item for head, item in zip(heads, secrets.items(), strict=True)]
    heads[-1] = b"GET /?token=%b HTTP/1.1\r\nHost: app.test\r\n\r\n" % secrets[b"query"]
    heads.append(b"GET /shared/%b HTTP/1.1\r\nHost: app.test\r\n\r\n" % secret)
    async with Listener() as listener:
        for head in heads:
            async with RawClient(listener.port) as client:
                connection = await listener.opened.get()
                client.send(head)
                assert await next_request(connection) is not None
        found = {text for text in kept_bytes(listener.context.first_heads) if secret in text}
    assert heads[-1] in found, "the walk reaches what is remembered"
    held = [text[:200] for text in found if any(each in text for each in secrets.values())]
    assert held == []
