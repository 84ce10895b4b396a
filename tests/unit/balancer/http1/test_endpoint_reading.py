"""How much of a response is read at once, on real sockets."""

from __future__ import annotations

import asyncio

import msgspec

from balancer.http.consumers import ResponseConsumer
from balancer.http.messages import HTTP_2_0, ResponseHead, Trailers
from balancer.http1.endpoint import EndpointConnection
from tests.fakes.endpoints import ScriptedEndpoint, answering
from tests.fakes.sockets import PATIENCE_SECONDS, until
from tests.messages import Unkept, outgoing

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
