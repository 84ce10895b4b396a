"""What a stream between does not change passes in both directions, and its state is that of the client's stream."""

from __future__ import annotations

import pytest

from balancer.errors import ErrorKind, Refusal
from balancer.http.edits import HeadEdit
from balancer.http.messages import ResponseHead, Trailers
from balancer.http.origin import Origin
from balancer.http.streams import ClientStream, RequestStream
from balancer.model.entry_points import HTTP
from balancer.proxy.between import StreamBetween

HEAD = ResponseHead(101, (), 0, b"")
EDIT = HeadEdit()
REFUSAL = Refusal(ErrorKind.BAD_REQUEST, "it ends too early")


class Inner(ClientStream):
    """The client's stream, which notes what it is told."""

    def __init__(self, *, secure: bool = False) -> None:
        self.told: list[object] = []
        self.origin = Origin(peer="192.0.2.7", entry_point=HTTP)
        self.secure = secure

    def attach(self, consumer: object) -> None:
        self.told.append(consumer)

    def detach(self) -> None:
        self.told.append("detached")

    def start_body(self) -> None:
        self.told.append("start")

    def hold(self) -> None:
        self.told.append("hold")

    def resume(self) -> None:
        self.told.append("resume")

    def interim(self, head: ResponseHead) -> None:
        self.told.append(head)

    def switch(self, head: ResponseHead, edit: HeadEdit, data: bytes) -> None:
        self.told.append((head, edit, data))


class Consumer:
    """Who answers, and notes the events of the client."""

    def __init__(self) -> None:
        self.told: list[object] = []

    def request_data(self, data: bytes) -> None:
        self.told.append(data)

    def request_end(self, trailers: Trailers) -> None:
        self.told.append(("end", trailers))

    def request_rest(self, data: bytes, trailers: Trailers) -> None:
        self.told.append((data, trailers))

    def request_failed(self, refusal: Refusal) -> None:
        self.told.append(refusal)

    def client_lost(self, kind: ErrorKind) -> None:
        self.told.append(kind)

    def client_paused(self) -> None:
        self.told.append("paused")

    def client_resumed(self) -> None:
        self.told.append("resumed")


def say_everything(between: StreamBetween) -> None:
    between.request_data(b"some")
    between.request_end(())
    between.request_rest(b"rest", ())
    between.request_failed(REFUSAL)
    between.client_paused()
    between.client_resumed()
    between.client_lost(ErrorKind.CLIENT_LEFT)


def test_events_of_the_client_reach_who_is_attached() -> None:
    inner, consumer = Inner(), Consumer()
    between = StreamBetween(inner)
    say_everything(between)  # to nobody yet
    between.attach(consumer)
    say_everything(between)
    between.detach()
    say_everything(between)  # to nobody any more
    assert inner.told == [between, "detached"], "the client's stream tells the one between"
    last = ("paused", "resumed", ErrorKind.CLIENT_LEFT)
    assert consumer.told == [b"some", ("end", ()), (b"rest", ()), REFUSAL, *last]


def test_what_answers_say_reaches_the_client() -> None:
    inner = Inner()
    between = StreamBetween(inner)
    between.start_body()
    between.hold()
    between.resume()
    between.interim(HEAD)
    between.switch(HEAD, EDIT, b"data")
    assert inner.told == ["start", "hold", "resume", HEAD, (HEAD, EDIT, b"data")]


@pytest.mark.parametrize("secure", [True, False])
def test_it_is_on_the_connection_of_the_client(secure: bool) -> None:
    inner = Inner(secure=secure)
    between = StreamBetween(inner)
    assert between.origin is inner.origin
    assert between.secure is secure


@pytest.mark.parametrize("name", ["body_begun", "closed", "last", "writing_paused"])
def test_only_the_stream_of_a_client_has_places_for_its_state(name: str) -> None:
    # Compiled code that knows only a `RequestStream` would read such a place and ask no stream between.
    assert name in vars(ClientStream)
    with pytest.raises(NotImplementedError):
        getattr(RequestStream(), name)


@pytest.mark.parametrize("name", ["closed", "body_begun", "last"])
def test_the_state_is_that_of_the_client(name: str) -> None:
    inner = Inner()
    between = StreamBetween(inner)
    for value in (True, False):
        setattr(inner, name, value)
        assert getattr(between, name) is value
    setattr(between, name, True)
    assert getattr(inner, name) is True
