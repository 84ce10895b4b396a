"""Taking connections in on real sockets: the limit, PROXY headers before all else, and descriptors that run out."""

from __future__ import annotations

import asyncio
import resource
import socket
import ssl
import time
import weakref
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import msgspec
import pytest

from balancer.connections.clienthello import NO_APPLICATION_PROTOCOL
from balancer.http2.client import Http2Connection
from balancer.http2.frames import PREFACE
from balancer.model.entry_points import HTTP, HTTPS
from balancer.model.settings import Http2Settings
from balancer.runtime.loops import loop_factory
from tests.fakes.sockets import PATIENCE_SECONDS, until
from tests.features.tenants.handshakes import client_hello
from tests.integration.wire import trusting
from tests.unit.balancer.connections.desk import PLENTY, V1, desk
from tests.unit.balancer.connections.test_clienthello import hello
from tests.unit.balancer.http1.listening import next_request
from tests.unit.balancer.runtime.tls_lines import Peer

pytestmark = pytest.mark.large

_SAID_BYTES = 49  # SETTINGS, the window of the connection, and an acknowledgement or GOAWAY
_INADEQUATE_SECURITY = b"\x00\x00\x08\x07" + bytes(12) + b"\x0c"


async def test_a_connection_is_handed_over_with_the_address_of_its_peer() -> None:
    async with desk() as at:
        await at.connect()
        await until(lambda: len(at.clients) == 1)
        assert (at.clients[0].stream.origin.peer, at.clients[0].secure) == ("127.0.0.1", False)


@pytest.mark.parametrize(("bound", "setting"), [(2, PLENTY), (PLENTY, 2)])
async def test_beyond_the_limit_connections_are_closed_at_once_until_one_ends(bound: int, setting: int) -> None:
    async with desk(bound=bound, client_connections=setting) as at:
        for _ in range(5):
            await at.connect()
        await until(lambda: len(at.notes) == 3)
        assert at.notes == ["connection_limit"] * 3
        assert len(at.clients) == 2
        for client in at.clients:
            client.abort()
        await until(lambda: all(client.closed for client in at.clients))
        for client in at.clients:
            at.places.leave(client)
        await at.connect()
        await until(lambda: len(at.clients) == 3)


async def test_what_shakes_hands_counts_and_has_a_deadline() -> None:
    async with desk(bound=2) as at:
        for _ in range(3):
            await at.connect(secure=True)
        await until(lambda: at.notes == ["connection_limit"])
        await until(lambda: at.notes == ["connection_limit", "tls_handshake", "tls_handshake"])
        await until(lambda: not at.reception.arriving)


async def test_handshakes_that_never_end_make_room_for_others_of_their_client() -> None:
    async with desk(handshake_seconds=PATIENCE_SECONDS) as at:
        for _ in range(30):
            await at.connect(secure=True, first=client_hello("shop.test"))
        await until(lambda: at.notes == ["handshake_limit"] * 10)
        await until(lambda: len(at.reception.arriving) == 20)
        _, writer = await asyncio.open_connection("127.0.0.1", at.ports[True], ssl=trusting(), server_hostname="a")
        await until(lambda: len(at.all_clients) == 1)
        writer.transport.abort()
        assert at.notes == ["handshake_limit"] * 11


@pytest.mark.parametrize("expected", [True, False])
async def test_over_tls_a_client_that_expects_the_end_is_not_waited_for(expected: bool) -> None:
    async with desk(handshake_seconds=PATIENCE_SECONDS) as at:
        with socket.create_connection(("127.0.0.1", at.ports[True])) as own:
            own.setblocking(False)
            peer = Peer(own, ssl.TLSVersion.TLSv1_3, None)
            await peer.do(peer.session.do_handshake)
            await peer.write(b"GET / HTTP/1.1\r\nHost: shop.test\r\nConnection: close\r\n\r\n")
            await until(lambda: len(at.clients) == 1)
            (client,) = at.clients
            assert await next_request(client) is not None
            client.close(expected)
            assert await peer.read(1) == b""
            if not expected:
                assert not client.closed
                await peer.do(peer.session.unwrap)
            await until(lambda: client.closed)


async def test_what_is_no_handshake_is_noted_and_no_more() -> None:
    async with desk() as at:
        await at.connect(secure=True, first=b"GET / HTTP/1.1\r\n\r\n")
        await until(lambda: at.notes == ["tls_handshake"])
        assert at.clients == []


@pytest.mark.parametrize("secure", [False, True])
async def test_with_the_proxy_protocol_the_header_says_who_the_client_is(secure: bool) -> None:
    async with desk(handshake_seconds=10, proxy_protocol=True) as at:
        writer = await at.connect(secure=secure, first=V1)
        if secure:
            await writer.start_tls(trusting(), server_hostname="shop.test")
        writer.write(b"GET / HTTP/1.1\r\nHost: shop.test\r\n\r\n")
        await until(lambda: len(at.clients) == 1)
        assert at.clients[0].stream.origin.peer == "192.0.2.7"
        async with asyncio.timeout(30):
            request = await next_request(at.clients[0])
        assert request is not None
        assert request.authority == b"shop.test"
        writer.transport.abort()


@pytest.mark.parametrize("first", [b"GET / HTTP/1.1\r\n\r\n", V1[:10], b""])
async def test_without_a_whole_header_in_time_there_is_no_connection(first: bytes) -> None:
    async with desk(proxy_protocol=True, proxy_protocol_timeout_seconds=0.05) as at:
        await at.connect(first=first)
        await until(lambda: at.notes == ["proxy_protocol"])
        assert at.clients == []


@contextmanager
def without_descriptors() -> Iterator[None]:
    """The process gets no further descriptor. Those that it has stay open."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


async def test_without_descriptors_accepting_pauses_and_goes_on() -> None:
    async with desk() as at:
        with socket.create_connection(("127.0.0.1", at.ports[False])):  # before the loop turns
            with without_descriptors():
                await until(lambda: at.notes == ["descriptors_exhausted"] * 2)
                assert at.clients == []
            await until(lambda: len(at.clients) == 1)


async def test_closed_it_accepts_no_more_and_what_has_come_stays() -> None:
    async with desk() as at:
        await at.connect()
        await until(lambda: len(at.clients) == 1)
        at.reception.close()
        with pytest.raises(ConnectionRefusedError):
            await at.connect()
        assert not at.clients[0].closed


async def test_stopping_drops_what_is_arriving() -> None:
    async with desk(proxy_protocol=True) as at:
        reader, writer = await asyncio.open_connection("127.0.0.1", at.ports[False])
        await until(lambda: len(at.reception.arriving) == 1)
        at.reception.stop()
        assert await reader.read() == b""
        writer.close()
        assert at.clients == []


async def take_in_a_burst() -> None:
    async with desk(bound=10) as at:
        with ExitStack() as sockets:
            for _ in range(14):
                sockets.enter_context(socket.create_connection(("127.0.0.1", at.ports[False])))
            await until(lambda: len(at.clients) == 10 and at.notes == ["connection_limit"] * 4)
            await until(lambda: not at.reception.arriving)
            transport = at.clients[0].stream._transport
            assert transport is not None and not transport.is_closing()
            connection = transport.get_extra_info("socket")
            assert (connection.family, connection.type) == (socket.AF_INET, socket.SOCK_STREAM)


@pytest.mark.parametrize("event_loop", ["asyncio", "uvloop"])
def test_plain_connections_are_opened_in_each_event_loop(event_loop: str) -> None:
    with asyncio.Runner(loop_factory=loop_factory(event_loop)) as runner:
        runner.run(take_in_a_burst())


async def test_a_client_verifies_what_it_is_shown() -> None:
    async with desk() as at:
        with pytest.raises(ssl.SSLCertVerificationError):
            await asyncio.open_connection("127.0.0.1", at.ports[True], ssl=ssl.create_default_context())
        await until(lambda: at.notes == ["tls_handshake"])


@pytest.mark.parametrize(("offered", "http2"), [("spdy/3", True), ("h2", False)])
@pytest.mark.parametrize("step", [1, 7, 1000])
async def test_who_offers_only_what_we_do_not_speak_is_told_so(step: int, offered: str, http2: bool) -> None:
    """RFC 7301 3.2, however the ClientHello comes."""
    async with desk(handshake_seconds=10, http2=Http2Settings(enabled=http2)) as at:
        said = hello(offered)
        reader, writer = await asyncio.open_connection("127.0.0.1", at.ports[True])
        for begin in range(0, len(said), step):
            writer.write(said[begin : begin + step])
            await asyncio.sleep(0)
        assert await reader.read() == NO_APPLICATION_PROTOCOL
        writer.close()
        await until(lambda: at.notes == ["tls_handshake"])


@pytest.mark.parametrize(
    ("protocols", "chosen"), [((), None), (("http/1.1",), "http/1.1"), (("h2", "http/1.1"), "h2"), (("h2",), "h2")]
)
async def test_who_offers_what_we_speak_shakes_hands(protocols: tuple[str, ...], chosen: str | None) -> None:
    async with desk(handshake_seconds=10) as at:
        context = trusting()
        if protocols:
            context.set_alpn_protocols(list(protocols))
        _, writer = await asyncio.open_connection("127.0.0.1", at.ports[True], ssl=context)
        assert writer.get_extra_info("ssl_object").selected_alpn_protocol() == chosen
        await until(lambda: len(at.all_clients) == 1)
        assert isinstance(at.all_clients[0], Http2Connection) is (chosen == "h2")
        writer.close()


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
async def test_ciphers_that_http2_forbids_end_its_connection(version: ssl.TLSVersion) -> None:
    async with desk(handshake_seconds=10) as at:
        context = trusting()
        context.maximum_version = version
        context.set_ciphers("ECDHE-ECDSA-AES128-SHA256")
        context.set_alpn_protocols(["h2"])
        reader, writer = await asyncio.open_connection("127.0.0.1", at.ports[True], ssl=context)
        writer.write(PREFACE + b"\x00\x00\x00\x04\x00\x00\x00\x00\x00")
        said = b""
        while len(said) < _SAID_BYTES:
            said += await reader.read(100)
        assert said.endswith(_INADEQUATE_SECURITY) is (version is ssl.TLSVersion.TLSv1_2)
        writer.close()


@pytest.mark.parametrize(("first", "is_http2"), [(PREFACE, True), (b"PRI * HTTP/1.1\r\n", False), (b"GET /", False)])
async def test_the_first_bytes_say_whether_a_plain_client_speaks_http2(first: bytes, is_http2: bool) -> None:
    async with desk(http2=Http2Settings(cleartext=True)) as at:
        await at.connect(first=first)
        await until(lambda: len(at.all_clients) == 1)
        assert isinstance(at.all_clients[0], Http2Connection) is is_http2


@pytest.mark.parametrize("takes_http2", [True, False])
async def test_an_entry_point_may_take_http2_without_tls_where_the_settings_do_not(takes_http2: bool) -> None:
    async with desk() as at:
        at.reception.use((msgspec.structs.replace(HTTP, http2_cleartext=takes_http2), HTTPS))
        await at.connect(first=PREFACE)
        await until(lambda: len(at.all_clients) == 1)
        assert isinstance(at.all_clients[0], Http2Connection) is takes_http2


@pytest.mark.parametrize("first", [PREFACE, b"GET /"], ids=["HTTP/2", "HTTP/1.1"])
async def test_a_connection_that_has_arrived_holds_nothing_of_its_welcome(first: bytes) -> None:
    """Its task would be a kibibyte, for as long as the connection lives."""
    async with desk(http2=Http2Settings(cleartext=True)) as at:
        writer = await at.connect()
        await until(lambda: len(at.reception.arriving) == 1)
        (welcome,) = [weakref.ref(each) for each in at.reception.arriving]
        writer.write(first)
        await until(lambda: len(at.all_clients) == 1)
        await until(lambda: welcome() is None)
        assert not at.all_clients[0].closed  # type: ignore[attr-defined]


async def test_half_a_hello_costs_no_time_while_the_rest_does_not_come() -> None:
    async with desk(handshake_seconds=0.5) as at:
        await at.connect(secure=True, first=hello("h2")[:50])
        await until(lambda: len(at.reception.arriving) == 1)
        began = time.process_time()
        await until(lambda: at.notes == ["tls_handshake"])
        assert time.process_time() - began < 0.35  # waking for ever would take all of the 0.5 s
