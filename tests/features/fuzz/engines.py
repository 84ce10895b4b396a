"""Plays the same frames to both HTTP/2 engines and compares what a proxy would make of them.

`python -m tests.features.fuzz.engines --inputs 1000000 --seed 1` runs as many and says how long it took. The first
sequence of which the engines say something that is not explained below is printed. Nothing here opens a socket.
"""

from __future__ import annotations

import argparse
import gc
import resource
import time
from collections import Counter
from random import Random
from typing import NamedTuple

from balancer.errors import ErrorKind, Refusal
from balancer.http.messages import Fields
from balancer.http2 import events as engine_events
from balancer.http2.engine import CLIENT, SERVER, Engine
from balancer.http2.engines import H2, NGH2, make_engine
from balancer.http2.events import INTERNAL_ERROR, PROTOCOL_ERROR, EngineLimits, Event
from balancer.http2.fields import MalformedMessage, trailers_of
from balancer.http2.frames import PREFACE
from balancer.http2.requests import RequestReader
from balancer.http2.responses import ResponseReader
from tests.features.fuzz.framing import HELLO, FrameMaker

_LIMITS = EngineLimits()
_ASKED = (1, 3, 5)  # the streams of the requests to an endpoint
_REST = ((b":scheme", b"http"), (b":authority", b"app.test"), (b":path", b"/"))
_SERVER_HELLO = HELLO[len(PREFACE) :]
_OK = ((b":status", b"200"),)
_SETTLED_AT = 20  # thousandths of a run, behind which memory must not grow
_MALFORMED = "malformed"
_BY_PEER = -1
_GROWTH_KIB_MAX = 24 * 1024


class Verdict:
    """What became of a sequence: what each stream said, and how it and the connection ended."""

    def __init__(self) -> None:
        self.heads: dict[int, object] = {}
        self.bodies: dict[int, bytes] = {}
        self.ends: dict[int, object] = {}
        self.resets: dict[int, int] = {}
        self.fault: int | None = None  # 0: both sides had said goodbye


class Tally(NamedTuple):
    """How many sequences there were, of how many heads both engines said the same, and what differed, by its reason."""

    inputs: int
    alike: int
    explained: Counter[str]
    grown_kib: int
    seconds: float


def play(library: str, pieces: list[bytes], *, is_endpoint: bool = False) -> Verdict:
    """Gives `pieces` to an engine: of a client to a server that answers at once, or of an endpoint that is asked."""
    player = _Asking(library) if is_endpoint else _Answering(library)
    for piece in pieces:
        player.hear(piece)
    return player.verdict


class _Player:
    """An engine, and what has come of what it heard."""

    asks = False

    def __init__(self, engine: Engine) -> None:
        self.engine, self.verdict = engine, Verdict()

    def hear(self, piece: bytes) -> None:
        for event in self.engine.receive(piece, 0.0):
            self._take(event)
        self.engine.take_bytes()
        for event in self.engine.take_events():
            self._take(event)

    def _take(self, event: Event) -> None:
        verdict = self.verdict
        match event:
            case (engine_events.HEAD, stream, fields, ends):
                self._take_head(stream, fields, ends)
            case (engine_events.DATA, stream, data, ends):
                self.engine.received(stream, len(data))
                if stream in verdict.bodies:
                    verdict.bodies[stream] += data
                    if ends:
                        verdict.ends[stream] = ()
            case (engine_events.TRAILERS, stream, fields):
                verdict.ends[stream] = trailers_of(fields, ErrorKind.BAD_REQUEST)
            case (engine_events.RESET, stream, _):
                verdict.resets[stream] = _BY_PEER
            case (engine_events.CLOSED, stream, code) if code:
                verdict.resets.setdefault(stream, code)
            case (engine_events.FAULT, _, code, _):
                verdict.fault = code

    def _take_head(self, stream: int, fields: Fields, ends: bool) -> None:
        try:
            told = self._read(stream, fields, ends)
        except MalformedMessage:
            told = _MALFORMED
        except Refusal as refusal:
            told = refusal.kind
        self.verdict.heads[stream], self.verdict.bodies[stream] = told, b""
        if ends:
            self.verdict.ends[stream] = ()
        if told == _MALFORMED:
            self.engine.reset(stream, PROTOCOL_ERROR)
        elif stream % 4 == 1 and not self.asks:
            self.engine.respond(stream, _OK, False)
            self.engine.data(stream, b"x" * 100, True)

    def _read(self, stream: int, fields: Fields, ends: bool) -> object:
        raise NotImplementedError


class _Answering(_Player):
    """A server, which answers every other request at once."""

    def __init__(self, library: str) -> None:
        super().__init__(make_engine(SERVER, _LIMITS, library))
        self._reader = RequestReader(field_bytes=8192, fields_max=128, list_bytes=65_536)

    def _read(self, stream: int, fields: Fields, ends: bool) -> object:
        head = self._reader.read(fields, ends)
        return head.method, head.authority, head.target, head.path, head.fields, head.body_bytes, head.expects_continue


class _Asking(_Player):
    """A client that has asked for three things: without a body, for a head alone, and with half of a body."""

    asks = True

    def __init__(self, library: str) -> None:
        super().__init__(make_engine(CLIENT, _LIMITS, library))
        self._reader = ResponseReader()
        self.hear(_SERVER_HELLO)
        for method, ends in ((b"GET", True), (b"HEAD", True), (b"POST", False)):
            stream = self.engine.request(((b":method", method), *_REST), ends)
            if not ends:
                self.engine.data(stream, b"half", False)
        self.engine.take_bytes()

    def _read(self, stream: int, fields: Fields, ends: bool) -> object:
        head = self._reader.read(fields, b"HEAD" if stream == _ASKED[1] else b"GET", ends)
        return head.status, head.fields, head.body_bytes


def compare(one: Verdict, other: Verdict) -> tuple[int, list[str]]:
    """How many heads are served alike, and what differs for a reason. Raises AssertionError for what has no reason.

    `one` is of ngh2, `other` of hyper-h2.
    """
    alike, reasons = 0, []
    assert INTERNAL_ERROR not in (one.fault, other.fault), "an error of ours"
    if (one.fault is None) != (other.fault is None):
        reasons.append("hyper-h2 ends the connection" if one.fault is None else "ngh2 ends the connection")
    elif one.fault != other.fault:
        reasons.append("another code of GOAWAY")
    for stream in one.heads.keys() | other.heads.keys():
        left, right = one.heads.get(stream), other.heads.get(stream)
        if left is None or right is None:
            told, without = (left, other) if right is None else (right, one)
            if told == _MALFORMED or isinstance(told, ErrorKind):
                reasons.append("reset before anybody could refuse it")
            else:
                assert without.fault is not None, f"stream {stream}: {left} and {right}"
                reasons.append("the connection had ended before")
            continue
        assert left == right, f"stream {stream}: {left} and {right}"
        alike += isinstance(left, tuple)
        bodies = one.bodies[stream], other.bodies[stream]
        ends = one.ends.get(stream), other.ends.get(stream)
        if ends[0] is not None and ends[1] is not None:
            assert bodies[0] == bodies[1], f"stream {stream}: {bodies}"
            assert ends[0] == ends[1], f"stream {stream}: {ends}"
        elif ends != (None, None):
            cut = other if ends[1] is None else one
            assert stream in cut.resets or cut.fault is not None, f"stream {stream} never ends: {ends}"
            reasons.append("broken off before its end")
    return alike, reasons


def run(*, inputs: int, seed: int) -> Tally:
    """Plays `inputs` sequences made from `seed`. Raises AssertionError, or what an engine raised, with the sequence."""
    random = Random(seed)
    explained: Counter[str] = Counter()
    alike = 0
    started = time.perf_counter()
    settled_kib = 0
    for number in range(inputs):
        if number == max(1, inputs * _SETTLED_AT // 1000):
            gc.collect()
            settled_kib = _memory_kib()
        is_endpoint = number % 4 == 3
        frames = b"".join(FrameMaker(random, _ASKED if is_endpoint else ()).sequence())
        pieces = _cut(frames if is_endpoint else HELLO + frames, random)
        try:
            verdicts = (play(library, pieces, is_endpoint=is_endpoint) for library in (NGH2, H2))
            both, reasons = compare(*verdicts)
        except Exception as error:
            error.add_note(f"sequence {number} of seed {seed}: {[piece.hex() for piece in pieces]}")
            raise
        alike += both
        explained.update(reasons)
    grown = _memory_kib() - settled_kib if settled_kib else 0
    assert grown <= _GROWTH_KIB_MAX, f"memory grew by {grown} KiB"
    return Tally(inputs, alike, explained, grown, time.perf_counter() - started)


def _cut(data: bytes, random: Random) -> list[bytes]:
    """`data` in one to four pieces."""
    cuts = sorted(random.randint(0, len(data)) for _ in range(random.randint(0, 3)))
    return [data[begin:end] for begin, end in zip([0, *cuts], [*cuts, len(data)], strict=True)]


def _memory_kib() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inputs", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    tally = run(inputs=options.inputs, seed=options.seed)
    print(
        f"{tally.inputs} sequences in {tally.seconds:.0f} s (seed {options.seed}): {tally.alike} heads alike, "
        f"memory grew by {tally.grown_kib} KiB, nothing unexplained; explained: {dict(tally.explained.most_common())}"
    )


if __name__ == "__main__":
    main()
