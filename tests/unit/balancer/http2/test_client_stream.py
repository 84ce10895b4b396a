"""One request: its body and its windows, its answer, and its end on either side."""

from __future__ import annotations

from balancer.errors import ErrorKind
from balancer.http.edits import HeadEdit
from balancer.http.messages import ResponseHead
from balancer.http2.events import CANCEL, INTERNAL_ERROR, NO_ERROR
from tests.fakes.sockets import until
from tests.features.http2 import frames
from tests.features.http2.cases import block
from tests.unit.balancer.http2.talking import data, get, post, talk

WINDOW = 65_535


async def test_a_body_waits_until_somebody_takes_it() -> None:
    async with talk(answers=False) as at:
        await at.say(post(1), data(1, b"hel"), data(1, b"lo"))
        asked = await at.asked()
        assert asked.body == b""
        asked.stream.start_body()
        assert asked.body == b"hello"
        await at.say(data(1, b" you", ends=True))
        await until(lambda: asked.trailers == ())
        assert asked.body == b"hello you"


async def test_trailers_end_a_body() -> None:
    async with talk(answers=False) as at:
        await at.say(post(1), data(1, b"x"), frames.frame(frames.HEADERS, 5, 1, block([["x-sum", "1"]])))
        asked = await at.asked()
        asked.stream.start_body()
        await until(lambda: asked.trailers == ((b"x-sum", b"1"),))


async def test_the_window_is_given_back_as_the_body_is_taken() -> None:
    async with talk(answers=False) as at:
        await at.say(post(1), *[data(1, bytes(16_384))] * 3)
        asked = await at.asked()
        await at.say(get(3))
        await at.asked(2)
        asked.holds = True
        asked.stream.start_body()
        assert len(asked.body) == 3 * 16_384
        await at.say(data(1, bytes(16_383)), get(5))  # fills the window: nothing was given back
        await at.asked(3)
        assert len(asked.body) == 3 * 16_384
        asked.holds = False
        asked.stream.resume()
        assert len(asked.body) == WINDOW
        await at.say(*[data(1, bytes(16_384))] * 2)
        await until(lambda: len(asked.body) == WINDOW + 2 * 16_384)


async def test_a_stream_without_window_is_paused_and_holds_no_other() -> None:
    async with talk(answers=False, window=10) as at:
        await at.say(get(1), get(3))
        asked, other = await at.asked(1), await at.asked(2)
        asked.answer(b"x" * 15, ends=False)
        await until(lambda: asked.events == ["paused"])
        other.answer(b"whole")
        assert await at.answered(3) == b"whole"
        assert asked.stream.writing_paused
        await at.say(frames.frame(frames.WINDOW_UPDATE, 0, 1, (6).to_bytes(4, "big")))
        await until(lambda: asked.events == ["paused", "resumed"])
        asked.stream.finish(((b"x-sum", b"1"),))
        assert await at.answered(1) == b"x" * 15
        assert at.peer.streams[1].trailers == [(b"x-sum", b"1")]


async def test_little_is_read_at_once_while_much_waits_on_the_connection() -> None:
    """A stream goes on reading until 64 KiB of it wait, and in small pieces once 1 MiB waits for the client."""
    async with talk(answers=False, window=0) as at:
        numbers = range(1, 35, 2)
        await at.say(*[get(number) for number in numbers])
        await at.asked(len(numbers))
        for asked in at.server.asked[:-1]:
            assert not asked.stream.reads_little()
            asked.answer(bytes(32 * 1024), ends=False)
            assert not asked.stream.writing_paused
            asked.stream.send(bytes(32 * 1024))
            assert asked.stream.writing_paused
        last = at.server.asked[-1].stream
        assert last.reads_little()
        at.server.asked[-1].answer(b"x", ends=False)
        assert last.writing_paused
        room = (100_000).to_bytes(4, "big")
        await at.say(*[frames.frame(frames.WINDOW_UPDATE, 0, number, room) for number in (0, *numbers)])
        await at.say(*[frames.frame(frames.WINDOW_UPDATE, 0, 0, (2**21).to_bytes(4, "big"))])
        await until(lambda: all(asked.events[-1] == "resumed" for asked in at.server.asked))
        assert not last.reads_little()
        await until(lambda: {len(at.peer.streams[number].body) for number in numbers[:-1]} == {64 * 1024})


async def test_a_client_that_breaks_off_is_lost_to_its_request_alone() -> None:
    async with talk(answers=False) as at:
        await at.say(get(1), get(3), frames.frame(frames.RST_STREAM, 0, 1, CANCEL.to_bytes(4, "big")))
        other = await at.asked(2)
        await until(lambda: at.server.asked[0].events == ["client_left"])
        other.answer()
        assert await at.answered(3) == b"ok"


async def test_an_answer_that_is_cut_short_never_looks_whole() -> None:
    async with talk(answers=False) as at:
        await at.say(get(1))
        asked = await at.asked()
        asked.answer(b"part", ends=False)
        asked.stream.reset()
        asked.stream.release()
        await until(lambda: at.peer.streams[1].reset == INTERNAL_ERROR)
        assert not at.peer.streams[1].ended


async def test_an_answer_before_the_end_of_the_request_ends_the_stream() -> None:
    async with talk(answers=False) as at:
        await at.say(post(1), data(1, b"part"))
        asked = await at.asked()
        asked.answer(b"enough")
        assert await at.answered() == b"enough"
        await until(lambda: at.peer.streams[1].reset == NO_ERROR)


async def test_a_request_that_says_it_has_no_body_begins_once_that_is_sure() -> None:
    async with talk() as at:
        await at.say(post(1, [["content-length", "0"]]), get(3))
        assert await at.answered(3) == b"ok"
        assert [asked.request.method for asked in at.server.asked if asked.request] == [b"GET"]
        await at.say(data(1, b"", ends=True))
        assert await at.answered(1) == b"ok"


async def test_a_body_of_a_request_that_has_none_never_reaches_anybody() -> None:
    async with talk() as at:
        await at.say(post(1, [["content-length", "0"]]))
        await at.say(data(1, b"GET /smuggled HTTP/1.1\r\n\r\n", ends=True), get(3))
        assert await at.answered(3) == b"ok"
        assert len(at.server.asked) == 1
        assert at.peer.streams[1].reset is not None


async def test_interim_answers_come_before_the_final_one() -> None:
    async with talk(answers=False) as at:
        await at.say(get(1))
        asked = await at.asked()
        asked.stream.interim(ResponseHead(103, ((b"link", b"</a>"),), 0, b""))
        asked.stream.respond(ResponseHead(204, (), 0, b""), HeadEdit(), b"", ())
        asked.stream.release()
        await at.answered()
        assert [each[0] for each in at.peer.streams[1].heads] == [(b":status", b"103"), (b":status", b"204")]


async def test_malformed_trailers_are_refused() -> None:
    async with talk(answers=False) as at:
        await at.say(post(1), data(1, b"x"))
        asked = await at.asked()
        asked.stream.start_body()
        await at.say(frames.frame(frames.HEADERS, 5, 1, block([["connection", "close"]])))
        await until(lambda: bool(asked.events))
        assert asked.events[0] in (ErrorKind.BAD_REQUEST.value, "client_left")
