"""Events become requests: the head first, bodies once a turn, and nothing of one stream in another."""

from __future__ import annotations

from balancer.http2.events import CANCEL, INTERNAL_ERROR, PROTOCOL_ERROR
from tests.fakes.sockets import until
from tests.features.http2 import frames
from tests.features.http2.cases import block
from tests.unit.balancer.http2.talking import data, get, post, talk


async def test_many_small_pieces_of_a_turn_are_one() -> None:
    async with talk(answers=False) as at:
        await at.say(post(1))
        asked = await at.asked()
        asked.stream.start_body()
        await at.say(*[data(1, b"x")] * 50)
        await until(lambda: len(asked.body) == 50)
        assert asked.pieces < 50


async def test_bodies_of_streams_that_take_turns_are_kept_apart() -> None:
    async with talk(answers=False) as at:
        await at.say(post(1), post(3))
        one, other = await at.asked(1), await at.asked(2)
        one.stream.start_body()
        other.stream.start_body()
        await at.say(*[data(1, b"1"), data(3, b"3")] * 20, data(1, b"", ends=True), data(3, b"", ends=True))
        await until(lambda: one.trailers == other.trailers == ())
        assert (one.body, other.body) == (b"1" * 20, b"3" * 20)


async def test_data_of_a_stream_that_is_over_still_gives_its_window_back() -> None:
    async with talk() as at:
        await at.say(get(1))
        await at.answered(1)
        for number in range(3, 41, 2):
            await at.say(post(number), *[data(number, bytes(16_000))] * 4)
            await until(lambda stream=number: at.peer.streams[stream].is_over)  # type: ignore[misc]
        await at.say(get(41))
        assert await at.answered(41) == b"ok"


async def test_frames_are_taken_a_part_at_a_time() -> None:
    """What one read brought does not keep others waiting, and loses nothing."""
    async with talk() as at:
        await at.say(*[get(number) for number in range(1, 201, 2)])
        await at.say(*[frames.frame(0x42, 0, 0, bytes(9_000))] * 20, get(201))
        assert await at.answered(201) == b"ok"
        assert len(at.server.asked) == 101


async def test_requests_that_are_broken_off_are_counted_by_what_broke_them() -> None:
    async with talk(answers=False) as at:
        await at.say(get(1), get(3))
        await at.asked(2)
        await at.say(frames.frame(frames.RST_STREAM, 0, 1, CANCEL.to_bytes(4)))
        await at.say(frames.frame(frames.HEADERS, 5, 5, block([["x-before", "pseudo"], [":method", "GET"]])))
        await until(lambda: at.peer.streams[5].reset == PROTOCOL_ERROR)
        at.server.asked[1].stream.reset()
        await until(lambda: at.peer.streams[3].reset == INTERNAL_ERROR)
        await until(lambda: at.tally.resets == {"client": 1, "malformed": 1, "cut": 1})
        assert not at.tally.floods
        assert not at.peer.is_lost


async def test_a_whole_answer_that_is_reset_is_no_broken_request() -> None:
    """Clients may reset what they have read to its end, as when they do not want to send the rest of a body."""
    async with talk() as at:
        await at.say(get(1))
        await at.answered(1)
        await at.say(frames.frame(frames.RST_STREAM, 0, 1, CANCEL.to_bytes(4)), get(3))
        await at.answered(3)
        assert not at.tally.resets
