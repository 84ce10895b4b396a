"""What one connection began with is known where another begins with the same bytes, and nothing else of it is."""

from __future__ import annotations

import msgspec
import pytest

from balancer.http.messages import RequestHead
from balancer.http1 import first_heads
from balancer.http1.heads import REMEMBERED_BYTES_MAX, RequestHeadReader
from balancer.model.settings import ProxySettings
from tests.fakes.clients import RawClient
from tests.unit.balancer.http1.listening import Listener, next_request


def began(head: bytes, settings: ProxySettings) -> RequestHead:
    """The request of a connection that begins with `head`."""
    reader = RequestHeadReader(settings)
    request = reader.read(head)
    first_heads.remember(head, settings, request, reader.keep_alive)
    return request


@pytest.mark.parametrize(
    "head",
    [
        b"GET /a?b HTTP/1.1\r\nHost: app.test\r\nAccept: */*\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: app.test\r\nConnection: close\r\n\r\n",
        b"GET / HTTP/1.0\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: app.test\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n",
        b"OPTIONS * HTTP/1.1\r\nHost: app.test\r\nMax-Forwards: 3\r\n\r\n",
    ],
)
def test_another_connection_that_begins_so_has_the_same_request(head: bytes) -> None:
    settings = ProxySettings()
    assert first_heads.find(head, settings) is None
    request = began(head, settings)
    reader = RequestHeadReader(settings)
    reader.read(head)
    assert first_heads.find(head, settings) == (settings, request, reader.keep_alive)


def test_one_byte_more_or_other_settings_are_another_beginning() -> None:
    settings = ProxySettings()
    head = b"GET /first HTTP/1.1\r\nHost: app.test\r\n\r\n"
    began(head, settings)
    assert first_heads.find(head + b"G", settings) is None
    assert first_heads.find(head[:-1], settings) is None
    assert first_heads.find(head, msgspec.structs.replace(settings, head_lines_max=1)) is None


def test_neither_long_heads_nor_those_that_ask_for_an_upgrade_are_remembered() -> None:
    settings = ProxySettings()
    long = b"GET / HTTP/1.1\r\nHost: app.test\r\nCookie: %b\r\n\r\n" % (b"x" * REMEMBERED_BYTES_MAX)
    upgrade = b"GET / HTTP/1.1\r\nHost: app.test\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
    for head in (long, upgrade):
        began(head, settings)
        assert first_heads.find(head, settings) is None


def test_the_number_of_remembered_heads_is_bounded() -> None:
    settings = ProxySettings()
    heads = [b"GET /%d HTTP/1.1\r\nHost: app.test\r\n\r\n" % number for number in range(1000)]
    for head in heads:
        began(head, settings)
    assert first_heads.find(heads[-1], settings) is not None
    assert sum(first_heads.find(head, settings) is not None for head in heads) <= 64


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
