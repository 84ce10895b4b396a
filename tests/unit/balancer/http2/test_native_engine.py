"""What only the engine without the objects of the binding does. Compiled builds alone have it."""

from __future__ import annotations

from itertools import groupby

import pytest

from balancer.http.messages import Fields
from balancer.http2.engines import BINDING, NGH2
from balancer.http2.events import DATA, HEAD
from tests.unit.balancer.http2.pairs import GET, IS_COMPILED, OK, POST, Pair
from tests.unit.balancer.http2.wire import frame

compiled_only = pytest.mark.skipif(not IS_COMPILED, reason="the plain source asks nghttp2 by its binding")


@compiled_only
@pytest.mark.parametrize("block", [GET, (*GET, (b"authorization", b"Bearer 1"))])
def test_a_block_of_fields_that_comes_again_is_the_same_object(block: Fields) -> None:
    """Also with a field that must never be indexed."""
    pair = Pair()
    blocks = []
    for _ in range(3):
        pair.client.request(block, True)
        blocks += [event[2] for event in pair.pump()[1] if event[0] == HEAD]
    assert len(blocks) == 3
    assert blocks[0] is blocks[1] is blocks[2]


@compiled_only
def test_a_field_that_changes_leaves_those_around_it() -> None:
    pair, heads = Pair(), []
    for path in (b"/a", b"/b"):
        pair.client.request((*GET[:3], (b":path", path)), True)
        heads += [event[2] for event in pair.pump()[1] if event[0] == HEAD]
    one, other = heads
    assert [left is right for left, right in zip(one, other, strict=True)] == [True, True, True, False]
    assert other == (*GET[:3], (b":path", b"/b"))


@pytest.mark.parametrize("library", [NGH2, BINDING])
def test_blocks_of_other_lengths_are_read_whole(library: str) -> None:
    pair = Pair(server=library)
    blocks = (GET, (*GET, (b"a", b"1"), (b"b", b"2")), (*GET, (b"a", b"1")), (*GET, (b"b", b"2")), GET)
    for block in blocks:
        pair.client.request(block, True)
        assert [event[2] for event in pair.pump()[1] if event[0] == HEAD] == [block]


@pytest.mark.parametrize("library", [NGH2, BINDING])
@pytest.mark.parametrize("most", [10, 100, 16_393, 40_000, None])
def test_a_body_is_whole_in_whatever_pieces_it_leaves(library: str, most: int | None) -> None:
    pair = Pair(client=library, server=library)
    stream = pair.client.request(POST, False)
    pair.client.data(stream, b"", True)
    pair.pump()
    body = bytes(range(256)) * 100
    pair.server.respond(stream, OK, False)
    for at in range(0, len(body), 1000):
        pair.server.data(stream, body[at : at + 1000], at + 1000 >= len(body))
    heard = bytearray()
    while said := pair.server.take_bytes(most):
        assert most is None or len(said) <= most
        heard += b"".join(event[2] for event in pair.client.receive(said, 0.0) if event[0] == DATA)
    assert bytes(heard) == body
    assert pair.server.queued_in_all() == 0


@pytest.mark.parametrize("server", [NGH2, BINDING])
def test_frames_of_data_that_come_together_are_whole_and_in_their_order(server: str) -> None:
    """Two streams take turns, and one of them ends amid the frames of the other. The own engine joins what it can."""
    pair = Pair(server=server)
    one, other = (pair.client.request(POST, False) for _ in range(2))
    pair.pump()
    said = bytearray()
    for stream, data, ends in (
        (one, b"a", False),
        (one, b"", False),
        (one, b"b", False),
        (other, b"1", False),
        (other, b"2", True),
        (one, b"c", False),
        (one, b"d", True),
    ):
        said += frame(0, int(ends), data, stream)
    events = pair.server.receive(bytes(said), 0.0)
    assert {event[0] for event in events} == {DATA}
    joined = [(stream, list(those)) for stream, those in groupby(events, lambda event: event[1])]
    assert [(stream, b"".join(event[2] for event in those)) for stream, those in joined] == [
        (one, b"ab"),
        (other, b"12"),
        (one, b"cd"),
    ]
    assert [[event[3] for event in those][-1] for _, those in joined] == [False, True, True]
    if IS_COMPILED and server == NGH2:
        assert len(events) == 3
    for stream in (one, other):
        pair.server.received(stream, 4 if stream == one else 2)
        with pytest.raises(ValueError, match=r"more|exceeds"):
            pair.server.received(stream, 1)
