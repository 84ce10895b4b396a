"""Messages: what is added to one of them is in no other, however connections and heads are shared."""

from __future__ import annotations

import asyncio
import re
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from balancer.connections.arrivals import Arrival
from balancer.connections.unread import Unread
from balancer.errors import Refusal
from balancer.http.consumers import ResponseConsumer
from balancer.http.current import CurrentSettings
from balancer.http.edits import HeadEdit
from balancer.http.messages import Fields, RequestHead, ResponseHead, Trailers, field_value
from balancer.http.streams import Outgoing, RequestServer, RequestStream
from balancer.http1.client_context import ClientContext
from balancer.http1.connection import ClientConnection
from balancer.http1.endpoint import EndpointConnection
from balancer.model.entry_points import HTTP
from balancer.model.settings import ProxySettings
from balancer.runtime.deadlines import Deadlines
from tests.messages import Unkept
from tests.questions import question_of

HOST = b"Host: shop.test\r\n"
# What every user behind one front proxy sends alike, so that connections recognise it.
FIELDS = st.sampled_from(
    (b"", b"Accept: */*\r\n", b"Accept: */*\r\nX-Request-ID: 7\r\n", b"Connection: keep-alive\r\n")
)
ANSWERS = st.sampled_from((b"Content-Length: 2\r\n", b"Content-Length: 2\r\nServer: x\r\n"))
NOTHING: Fields = ()
MARK = re.compile(rb"X-Mark: (\d+)\r\n")


class Asked(NamedTuple):
    """One request: what it says, what it is answered, and whether a gate and an edit add a field to it."""

    fields: bytes
    answer: bytes
    is_gated: bool
    is_edited: bool


class Turn(NamedTuple):
    """Requests that come in one piece on one client's connection, and the endpoint's connection that they go on."""

    client: int
    endpoint: int
    asked: list[Asked]


REQUESTS = st.builds(Asked, FIELDS, ANSWERS, st.booleans(), st.booleans())
TURNS = st.builds(Turn, st.integers(0, 1), st.integers(0, 1), st.lists(REQUESTS, min_size=1, max_size=3))


@given(st.lists(TURNS, min_size=1, max_size=6))
def test_what_is_added_to_one_message_is_in_no_other(turns: list[Turn]) -> None:
    asyncio.run(play(turns))


async def play(turns: list[Turn]) -> None:
    """Send the requests of `turns`; each message must carry its own mark if it was given one, and no other."""
    number = 0
    clients, endpoints = [Marking(), Marking()], [Line(), Line()]
    for turn in turns:
        client, line = clients[turn.client], endpoints[turn.endpoint]
        client.line, client.coming, client.number = line, list(turn.asked), number
        client.connection.data_received(
            b"".join(
                b"GET /%d HTTP/1.1\r\n%b%b\r\n" % (place, HOST, each.fields) for place, each in enumerate(turn.asked)
            )
        )
        sent, answered = line.transport.taken(), client.transport.taken()
        assert len(sent) == len(answered) == len(turn.asked)
        for each, request, response in zip(turn.asked, sent, answered, strict=True):
            assert MARK.findall(request) == ([b"%d" % number] if each.is_gated else [])
            assert MARK.findall(response) == ([b"%d" % number] if each.is_edited else [])
            number += 1


class Recording(asyncio.Transport):
    """Keeps what is written."""

    def __init__(self) -> None:
        super().__init__({"peername": ("192.0.2.1", 40000)})
        self._written: list[bytes] = []

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self._written.append(bytes(data))

    def taken(self) -> list[bytes]:
        written, self._written = self._written, []
        return written

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        pass

    def is_closing(self) -> bool:
        return False


class Line:
    """A kept connection to an endpoint."""

    def __init__(self) -> None:
        self.transport = Recording()
        self.connection = EndpointConnection(Unkept())
        self.connection.connection_made(self.transport)


class Answers(ResponseConsumer):
    """Takes the response to one request of a `Marking`."""

    def __init__(self, marking: Marking) -> None:
        self._marking = marking

    def response_started(self, response: ResponseHead, data: bytes, trailers: Trailers | None) -> None:
        self._marking.answered(response, data, trailers)


class Marking(RequestServer):
    """Serves a client's connection, and marks requests and responses that shall be: a gate and an edit in one."""

    def __init__(self) -> None:
        self.transport = Recording()
        self.coming: list[Asked] = []
        self.line = Line()
        self.number = 0
        settings = CurrentSettings(ProxySettings())
        context = ClientContext(settings, Deadlines(asyncio.get_running_loop()), Unread(settings))
        self.connection = ClientConnection(context, Arrival("", None, HTTP), None, lambda _: None)
        self.connection.connection_made(self.transport)
        self.connection.start(self)

    def request_came(self, stream: RequestStream, request: RequestHead) -> None:
        self.stream = stream
        asked, added = self.coming[0], NOTHING
        if asked.is_gated:
            added = ((b"X-Mark", b"%d" % self.number),)
        self.line.connection.begin(Answers(self), Outgoing(request, stream.origin, added=added))
        self.line.connection.data_received(b"HTTP/1.1 200 OK\r\n%b\r\nok" % asked.answer)

    def answered(self, response: ResponseHead, data: bytes, trailers: Trailers | None) -> None:
        asked, added = self.coming.pop(0), NOTHING
        if asked.is_edited:
            added = ((b"X-Mark", b"%d" % self.number),)
        self.number += 1
        self.stream.respond(response, HeadEdit(added=added), data, trailers)
        self.stream.release()

    def request_refused(self, stream: RequestStream, refusal: Refusal, request: RequestHead | None = None) -> None:
        raise refusal

    def connection_closed(self) -> None: ...


@pytest.mark.parametrize("name", RequestHead.__struct_fields__)
def test_no_attribute_of_a_request_can_be_changed(name: str) -> None:
    head = question_of("http://shop.test/").request
    with pytest.raises(AttributeError):
        setattr(head, name, getattr(head, name))


@pytest.mark.parametrize("name", ResponseHead.__struct_fields__)
def test_no_attribute_of_a_response_can_be_changed(name: str) -> None:
    head = ResponseHead(200, (), 0, b"")
    with pytest.raises(AttributeError):
        setattr(head, name, getattr(head, name))


def test_a_field_is_found_by_its_lower_case_name_first_value_first() -> None:
    head = question_of("http://shop.test/", ["Accept: a", "ACCEPT: b"]).request
    assert field_value(head.fields, b"accept") == b"a"
    assert field_value(head.fields, b"absent") is None
