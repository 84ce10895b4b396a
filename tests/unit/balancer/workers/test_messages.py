"""Every message survives the way however it is cut; whatever is no message breaks the channel, with one error."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar, cast

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from balancer.connections.tls import self_signed
from balancer.explain.drafts import Draft, Gap, OpenStep, RouteName
from balancer.explain.explanations import CandidateEndpoint, Explanation, Share
from balancer.model.policies import RoutePolicy
from balancer.model.publication import RoutingModel
from balancer.model.routes import Route, ServiceName
from balancer.runtime.steps import finished
from balancer.workers import messages
from balancer.workers.deltas import PublicationAssembler, delta, pieces
from balancer.workers.messages import (
    TO_PARENT,
    TO_WORKER,
    Accepting,
    BrokenChannel,
    DrainNow,
    ExplainAsked,
    Explained,
    Fallback,
    MessageReader,
    NotSayable,
    Ping,
    Pong,
    PublicationRefused,
    Retiring,
    Serving,
    ToParent,
    ToWorker,
    UnreadablePiece,
    WorkerReport,
    ZoneReport,
    encode,
)
from tests import builders as build
from tests.properties import examples
from tests.unit.balancer.any_models import models

EXPLANATION = Explanation(
    host="shop.test",
    path="/",
    ingress="shop/web",
    service="shop/cart",
    canary=None,
    own_zone="zone-a",
    own_zone_source="flag",
    policy="prefer-zone",
    policy_source=None,
    mode="zonal",
    reason="zonal",
    pool=(CandidateEndpoint("10.0.0.1:80", "zone-a", 1.0),),
    endpoint="10.0.0.1:80",
    to_zone="zone-a",
    steps=(),
)
NEXT_NAME = RouteName(build.owner("trial"), ServiceName("shop", "next"))
NAME = RouteName(build.owner("web"), ServiceName("shop", "cart"), (NEXT_NAME,))
DRAFT = Draft(EXPLANATION, ("a step", OpenStep(Gap.SLICES)), (NAME,), NAME, ("10.0.0.1",))
REPORT = WorkerReport(
    connections=(("client_active", 3),),
    left_out=(("shop", "cart", "zone-a", 1),),
    spill_ratios=(("shop", "cart", 0.5),),
    overload_factors=(("shop", "cart", "zone-a", 1.5),),
    zones=(ZoneReport(namespace="shop", service="cart", backend="shop/cart:80", zone="zone-a", state="leaving"),),
    event_loop_lag_seconds=0.01,
)
FROM_PARENT: list[ToWorker] = [
    Ping(1),
    Ping(2, wants_report=True),
    ExplainAsked(3, "http://shop.test/", ("Cookie: a=b",), "10.9.9.9"),
    DrainNow(grace_seconds=15.0, limit_seconds=240.0),
    *pieces(delta(RoutingModel(), build.model(build.backend(of=build.endpoints("ab")))), 7),
    Fallback(self_signed()),
]
FROM_WORKER: list[ToParent] = [
    Accepting(),
    Serving(7),
    PublicationRefused(8, "a mistake"),
    Pong(1),
    Pong(2, REPORT),
    Explained(3, DRAFT),
    Explained(
        4, Draft(msgspec.structs.replace(EXPLANATION, shares=(Share("zonal", None, 0.5),), dry_run_reason="off"), ())
    ),
    Explained(5, None, "give a URL"),
    Retiring(),
]


Message = TypeVar("Message")


def cut(stream: bytes, sizes: list[int]) -> Iterator[bytes]:
    """The stream in parts of these sizes, over and over."""
    place = 0
    while place < len(stream):
        for size in sizes:
            yield stream[place : place + size]
            place += size


@given(st.lists(st.integers(1, 600), min_size=1, max_size=5))
def test_messages_come_out_as_they_went_in_however_the_stream_is_cut(sizes: list[int]) -> None:
    to_worker: MessageReader[ToWorker | UnreadablePiece] = MessageReader(TO_WORKER)
    to_parent = MessageReader(TO_PARENT)
    assert read(to_worker, cut(b"".join(map(encode, FROM_PARENT)), sizes)) == FROM_PARENT
    assert read(to_parent, cut(b"".join(map(encode, FROM_WORKER)), sizes)) == FROM_WORKER


def read(reader: MessageReader[Message], parts: Iterator[bytes]) -> list[Message]:
    found: list[Message] = []
    for part in parts:
        reader.feed(part)
        while reader.has_whole():
            message = reader.next_message()
            assert message is not None
            found.append(message)
        assert reader.next_message() is None
    return found


@pytest.mark.large
@examples(15)
@given(models)
def test_a_model_is_the_same_at_the_other_end(model: RoutingModel) -> None:
    reader, gathering = MessageReader(TO_WORKER), PublicationAssembler()
    for piece in pieces(delta(RoutingModel(), model), 7):
        reader.feed(encode(piece))
        received = reader.next_message()
        assert received == piece
        making = gathering.add(piece)
    assert making is not None
    assert finished(making) == build.publication(7, model)


def garbage_of(body: bytes) -> bytes:
    return len(body).to_bytes(4, "big") + body


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\xc1",
        msgspec.msgpack.encode({"type": "Unheard"}),
        msgspec.msgpack.encode({"type": "Ping", "number": "seven"}),
        b"\x82\xa4type\xa4Ping\xa6number\xa2\xff\xff",
        b"\x83\xa4type\xa4Ping\xa6number\x01\xa7unknown" + b"\x91" * 100_000 + b"\x01",
        b"\x82\xa4type\xa4Ping\xa6number\xdd\xff\xff\xff\xff",
        b"\x82\xa4type\xacExplainAsked\xa6fields\xdd\xff\xff\xff\xff",
    ],
    ids=["nothing", "no type", "a tag", "a field", "not UTF-8", "nested without end", "a number", "a long list"],
)
def test_what_is_no_message_breaks_the_channel_for_good(body: bytes) -> None:
    reader = MessageReader(TO_WORKER)
    reader.feed(garbage_of(body) + encode(Ping(1)))
    for _ in range(2):
        with pytest.raises(BrokenChannel, match="not a message"):
            reader.next_message()


def test_a_message_for_the_other_end_is_none_for_this_one() -> None:
    reader = MessageReader(TO_PARENT)
    reader.feed(encode(Ping(1)))
    with pytest.raises(BrokenChannel):
        reader.next_message()


@given(st.integers(0, len(encode(FROM_PARENT[2])) - 1), st.integers(0, 255))
def test_a_byte_gone_wrong_gives_a_message_or_the_one_error(place: int, octet: int) -> None:
    data = bytearray(encode(FROM_PARENT[2]))
    data[place] = octet
    reader = MessageReader(TO_WORKER)
    reader.feed(data)
    try:
        message = reader.next_message()
        assert message is None or isinstance(message, ExplainAsked)
    except BrokenChannel as error:
        assert str(error)


def test_a_length_beyond_the_bound_breaks_the_channel_before_anything_is_kept() -> None:
    reader = MessageReader(TO_WORKER)
    reader.feed((messages.MESSAGE_BYTES_MAX + 1).to_bytes(4, "big"))
    assert reader.has_whole()
    with pytest.raises(BrokenChannel, match="longer"):
        reader.next_message()
    at_bound = MessageReader(TO_WORKER)
    at_bound.feed(messages.MESSAGE_BYTES_MAX.to_bytes(4, "big"))
    assert at_bound.next_message() is None


def test_a_message_beyond_the_bound_is_not_written() -> None:
    message = Explained(1, None, "x" * 1000)
    with pytest.raises(NotSayable, match="longer"):
        encode(message, bytes_max=999)


@pytest.mark.parametrize(
    "route",
    [
        msgspec.structs.replace(build.route(), policy=RoutePolicy(max_body_bytes=2**64)),
        build.route(hash_by="\ud800"),
        build.route(hash_by=cast("str", object())),
    ],
    ids=["a number", "a surrogate", "a type"],
)
def test_what_cannot_be_encoded_is_one_error(route: Route) -> None:
    (piece,) = pieces(delta(RoutingModel(), build.model(hosts=[build.host("shop.test", route)])), 7)
    with pytest.raises(NotSayable):
        encode(piece)


def test_a_piece_of_which_a_type_is_wrong_is_told_apart_and_what_follows_is_heard() -> None:
    route = build.route(hash_by=cast("str", 7))
    (piece,) = pieces(delta(RoutingModel(), build.model(hosts=[build.host("shop.test", route)])), 7)
    reader = MessageReader(TO_WORKER)
    reader.feed(encode(piece) + encode(Ping(1)))
    unread = reader.next_message()
    assert isinstance(unread, UnreadablePiece)
    assert unread.generation == 7
    assert "hash_by" in unread.problem
    assert reader.next_message() == Ping(1)
