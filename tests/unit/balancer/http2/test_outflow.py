"""Who waits for window, and which answers are still on their way."""

from __future__ import annotations

from balancer.http2.engine import SERVER
from balancer.http2.engines import make_engine
from balancer.http2.events import CANCEL, CLOSED, EngineLimits
from balancer.http2.outflow import Outflow
from tests.fakes.sockets import until
from tests.features.http2 import frames
from tests.unit.balancer.http2.talking import data, get, post, talk


async def test_a_client_that_reads_again_frees_all_streams() -> None:
    async with talk(answers=False, window=100_000) as at:
        await at.say(frames.frame(frames.WINDOW_UPDATE, 0, 0, (10_000_000).to_bytes(4, "big")), get(1), get(3))
        one, other = await at.asked(1), await at.asked(2)
        assert at.peer.transport is not None
        at.peer.transport.pause_reading()
        while not at.connection.is_stuck:
            one.stream.send(bytes(50)) if one.stream.writing_paused else one.answer(bytes(90_000), ends=False)
            await at.say(frames.frame(frames.WINDOW_UPDATE, 0, 1, (90_000).to_bytes(4, "big")))
        await until(lambda: "paused" in other.events)
        at.peer.transport.resume_reading()
        await until(lambda: other.events[-1] == "resumed")


async def test_an_answer_that_waits_for_window_is_whole_before_the_rest_of_its_request_is_refused() -> None:
    async with talk(answers=False, window=1) as at:
        await at.say(post(1), data(1, b"part"))
        asked = await at.asked()
        asked.answer(b"enough")
        await until(lambda: bytes(at.peer.streams[1].body) == b"e")
        assert at.peer.streams[1].reset is None
        await at.say(frames.frame(frames.WINDOW_UPDATE, 0, 1, (100).to_bytes(4, "big")))
        assert await at.answered() == b"enough"
        await until(lambda: at.peer.streams[1].reset == 0)


def test_an_answer_that_is_not_read_for_too_long_costs_no_other_stream() -> None:
    engine, number = make_engine(SERVER, EngineLimits(), "ngh2"), 1
    engine.receive(frames.PREFACE + frames.settings([[4, 1]]) + get(number) + get(3), 0.0)
    outflow = Outflow(engine)
    outflow.last_writes |= {number: 60.0, 3: 61.0}
    for stream in (number, 3):
        engine.respond(stream, ((b":status", b"200"),), False)
        engine.data(stream, b"more than a byte", True)
    engine.take_bytes()
    outflow.reset_late(60.5)
    assert outflow.last_writes == {3: 61.0}
    assert frames.frame(frames.RST_STREAM, 0, number, CANCEL.to_bytes(4)) in engine.take_bytes()
    assert (CLOSED, number, CANCEL) in engine.take_events()
    assert engine.queued(3)
