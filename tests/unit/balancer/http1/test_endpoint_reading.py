"""How much of a response is read at once, on real sockets."""

from __future__ import annotations

import asyncio

import msgspec

from balancer.errors import ErrorKind
from balancer.http.consumers import ResponseConsumer
from balancer.http.messages import HTTP_2_0, ResponseHead, Trailers
from balancer.http1.endpoint import EndpointConnection
from tests.fakes.endpoints import ScriptedEndpoint, Visit, answering
from tests.fakes.sockets import PATIENCE_SECONDS, until
from tests.messages import Unkept, outgoing
from tests.unit.balancer.http1.test_endpoint import connected, exchanged

_SIZE = 4 * 1024 * 1024
_LITTLE = 32 * 1024


class Measuring(ResponseConsumer):
    """Takes one response for a client that has much to read already."""

    def __init__(self) -> None:
        self.pieces: list[int] = []
        self.ended = asyncio.Event()

    def reads_little(self) -> bool:
        return True

    def response_started(self, response: ResponseHead, data: bytes, trailers: Trailers | None) -> None:
        self.pieces.append(len(data))

    def response_data(self, data: bytes) -> None:
        self.pieces.append(len(data))

    def response_end(self, trailers: Trailers) -> None:
        self.ended.set()


async def test_little_is_read_at_once_for_a_client_of_many_answers_that_has_much_to_read() -> None:
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % _SIZE + bytes(_SIZE)
    async with ScriptedEndpoint(answering(answer)) as endpoint:
        loop, keeper = asyncio.get_running_loop(), Unkept()
        _, connection = await loop.create_connection(lambda: EndpointConnection(keeper), "127.0.0.1", endpoint.port)
        taker, asked = Measuring(), outgoing()
        asked.request = msgspec.structs.replace(asked.request, protocol=HTTP_2_0)
        connection.begin(taker, asked)
        async with asyncio.timeout(PATIENCE_SECONDS):
            await taker.ended.wait()
        connection.release()
        connection.reset()
        await until(lambda: connection.closed)
    assert sum(taker.pieces) == _SIZE
    assert max(taker.pieces) <= _LITTLE


async def test_a_large_answer_whose_head_is_known_is_whole_as_the_first_one() -> None:
    body = bytes(range(256)) * 256
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body
    async with connected(answering(answer)) as connection:
        for _ in range(4):
            taker = await exchanged(connection)
            assert (taker.statuses, taker.size, taker.body) == ([200], len(body), body[-1000:])
            assert connection.reusable


async def test_a_large_malformed_body_behind_a_known_head_fails_its_exchange() -> None:
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    bodies = [b"10000\r\n" + bytes(65536) + b"\r\n0\r\n\r\n", b"no size\r\n" + bytes(65536)]

    async def script(visit: Visit) -> None:
        for body in bodies:
            await visit.head()
            await visit.send(head + body)
        await visit.rest()

    async with connected(script) as connection:
        assert (await exchanged(connection)).size == 65536
        assert (await exchanged(connection)).failure is ErrorKind.INVALID_RESPONSE
        assert not connection.reusable
