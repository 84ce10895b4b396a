"""Plays the same to nghttp2 by the objects of its binding and without them: both engines say the same, byte for byte.

`python -m typed --run -m tests.features.fuzz.twins --inputs 1000000 --seed 1` runs as many. On the plain source there
is one of the two, which is compared with itself. Nothing here opens a socket.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial
from itertools import groupby
from random import Random

from balancer.http2.engine import CLIENT, SERVER, Engine
from balancer.http2.engines import BINDING, NGH2, make_engine
from balancer.http2.events import (
    CANCEL,
    CLOSED,
    DATA,
    HEAD,
    INTERNAL_ERROR,
    NO_ERROR,
    PROTOCOL_ERROR,
    EngineLimits,
    Event,
)
from balancer.http2.frames import PREFACE
from tests.features.fuzz.framing import HELLO, FrameMaker

_ASKED = (1, 3, 5)
_REST = ((b":scheme", b"http"), (b":authority", b"app.test"), (b":path", b"/"), (b"x-request-id", b"7" * 32))
_OK = ((b":status", b"200"), (b"server", b"x"), (b"x-request-id", b"7" * 32))
_TRAILERS = ((b"grpc-status", b"0"),)
_NARROW = EngineLimits(header_list_bytes=200, header_fields=4, connection_window=65_535, stream_window=20_000)
_LIMITS = (EngineLimits(), _NARROW)
_STEPS = 12

Step = Callable[[Engine], object]


def compare(role: bool, limits: EngineLimits, steps: list[Step]) -> None:
    """Both engines take all steps in their order. Raises AssertionError for the first whose outcome differs."""
    one, other = make_engine(role, limits, NGH2), make_engine(role, limits, BINDING)
    for number, step in enumerate(steps):
        left, right = _outcome(one, step), _outcome(other, step)
        assert left == right, f"step {number}: {left} and {right}"


def _outcome(engine: Engine, step: Step) -> object:
    try:
        done = step(engine)
    except ValueError:
        done = "refused"
    counted = engine.budgets.errors, engine.budgets.heard, engine.budgets.ours, engine.budgets.opened
    done = _in_one_order(done) if isinstance(done, list) else done
    may_say, kept = engine.has_bytes(), [engine.queued(stream) for stream in (1, 3, 5, 7, 9)]
    return done, may_say, kept, engine.queued_in_all(), engine.peer_max_streams, counted


def _in_one_order(events: list[Event]) -> list[Event]:
    """nghttp2 closes all streams that a GOAWAY leaves out in the order of a table with a random seed."""
    ordered: list[Event] = []
    for is_closed, those in groupby(_whole(events), lambda event: bool(event[0] == CLOSED)):
        ordered.extend(sorted(those, key=lambda event: event if is_closed else ()))
    return ordered


def _whole(events: list[Event]) -> list[Event]:
    """The same, with frames of data that follow each other as one: so much one of the engines does itself."""
    whole: list[Event] = []
    for event in events:
        last = whole[-1] if whole else None
        if event[0] == DATA and last is not None and last[:2] == event[:2]:
            whole[-1] = (DATA, event[1], last[2] + event[2], event[3])
        else:
            whole.append(event)
    return whole


def steps_of(random: Random, pieces: list[bytes], *, is_endpoint: bool) -> list[Step]:
    """What comes in `pieces`, and what is done between them."""
    steps: list[Step] = []
    if is_endpoint:
        steps += [lambda engine: engine.receive(HELLO[len(PREFACE) :], 0.0)]
        for method, ends in ((b"GET", True), (b"HEAD", True), (b"POST", False)):
            steps.append(partial(_ask, method, ends))
    for piece in pieces:
        steps.append(partial(_hear, piece))
        for _ in range(random.randrange(_STEPS)):
            steps.append(_act(random))
    return steps


def _ask(method: bytes, ends: bool, engine: Engine) -> int:
    return engine.request(((b":method", method), *_REST), ends)


def _hear(piece: bytes, engine: Engine) -> list[Event]:
    """Hears something, and gives back every other piece of a body."""
    events = engine.receive(piece, 0.0)
    for event in events:
        if event[0] == DATA and event[1] % 4 == 1:
            engine.received(event[1], len(event[2]))
        elif event[0] == HEAD and len(event[2]) % 2:
            assert event[2] == tuple(event[2])
    return events


def _act(random: Random) -> Step:
    stream, size, ends = (
        random.choice((1, 1, 3, 5, 7, 9)),
        random.choice((0, 5, 300, 17_000, 70_000)),
        random.random() < 0.4,
    )
    code = random.choice((CANCEL, PROTOCOL_ERROR, NO_ERROR, INTERNAL_ERROR))
    most = random.choice((None, None, 0, 9, 100, 40_000))
    acts: tuple[Step, ...] = (
        lambda engine: (engine.take_bytes(most), _in_one_order(engine.take_events())),
        lambda engine: (engine.take_bytes(most), _in_one_order(engine.take_events())),
        lambda engine: (engine.take_bytes(), _in_one_order(engine.take_events())),
        lambda engine: engine.respond(stream, _OK, ends) if engine.budgets.opened == 0 else None,
        lambda engine: engine.data(stream, bytes(size), ends),
        lambda engine: engine.data(stream, bytes(size), ends),
        lambda engine: engine.trailers(stream, _TRAILERS),
        lambda engine: engine.received(stream, size),
        lambda engine: engine.interim(stream, ((b":status", b"103"),)) if engine.budgets.opened == 0 else None,
    )
    rare: tuple[Step, ...] = (
        lambda engine: engine.reset(stream, code),
        lambda engine: engine.ping(b"12345678"),
        lambda engine: engine.goaway(code),
        lambda engine: engine.shutdown_notice(),
        lambda engine: engine.can_request(),
    )
    return random.choice(rare if random.random() < 0.08 else acts)


def run(*, inputs: int, seed: int) -> int:
    """Plays so many sequences. Returns the steps. Raises AssertionError, or what an engine raised."""
    random, count = Random(seed), 0
    for number in range(inputs):
        is_endpoint = number % 3 == 2
        frames = b"".join(FrameMaker(random, _ASKED if is_endpoint else ()).sequence())
        data = frames if is_endpoint else HELLO + frames
        cuts = sorted(random.randint(0, len(data)) for _ in range(random.randint(0, 3)))
        pieces = [data[begin:end] for begin, end in zip([0, *cuts], [*cuts, len(data)], strict=True)]
        steps = steps_of(random, pieces, is_endpoint=is_endpoint)
        count += len(steps)
        try:
            compare(CLIENT if is_endpoint else SERVER, random.choice(_LIMITS), steps)
        except Exception as error:
            error.add_note(f"sequence {number} of seed {seed}: {[piece.hex() for piece in pieces]}")
            raise
    return count


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inputs", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    started = time.perf_counter()
    steps = run(inputs=options.inputs, seed=options.seed)
    print(
        f"{options.inputs} sequences, {steps} steps in {time.perf_counter() - started:.0f} s (seed {options.seed}): "
        "nothing differs"
    )


if __name__ == "__main__":
    main()
