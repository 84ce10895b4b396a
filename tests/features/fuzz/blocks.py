"""Compares what is remembered of header blocks with what is read anew, block by block.

`python -m tests.features.fuzz.blocks --inputs 1000000 --seed 1`. Blocks of one connection, which repeat and change as
those of browsers do, go through nghttp2 and the readers of one connection. The other side is `hpack`, and readers that
have read nothing before.
"""

from __future__ import annotations

import argparse
import time
from random import Random
from typing import NamedTuple

from hpack import Decoder, Encoder

from balancer.errors import Refusal
from balancer.http.edits import HeadEdit
from balancer.http.messages import HTTP_1_1, Fields, RequestHead, ResponseHead
from balancer.http.origin import Origin
from balancer.http.passing import passing
from balancer.http.streams import Outgoing
from balancer.http1.fields import client_response_head, endpoint_request_head
from balancer.http2.engine import SERVER
from balancer.http2.engines import make_engine
from balancer.http2.events import HEAD, EngineLimits
from balancer.http2.onward import endpoint_request_fields
from balancer.http2.requests import RequestReader
from balancer.http2.responses import ResponseReader, client_fields
from balancer.model.entry_points import HTTPS
from tests.features.fuzz.framing import HELLO, frame

_A_CONNECTION = 250  # blocks
_HEADERS, _END = 1, 0x5
_OK = ((b":status", b"204"),)
_NAMES = (
    b"accept",
    b"cookie",
    b"x-request-id",
    b"user-agent",
    b"te",
    b"expect",
    b"x_a",
    b"forwarded",
    b"x-forwarded-for",
)
_VALUES = (b"1", b"trailers", b"100-continue", b"a=b", b"", b"z" * 200)
_ONLY = {b"te": b"trailers", b"expect": b"100-continue"}  # what else these say is refused
_PATHS = (b"/", b"/a", b"/b?c", b"//", b"/./", b"*", b"/%41", b"/\xe9")
_EDITS = (HeadEdit(), HeadEdit(frozenset((b"cookie",)), ((b"X-A", b"1"),)))


class Tally(NamedTuple):
    """`recognised` requests shared what the one before had worked out."""

    inputs: int
    accepted: int
    recognised: int
    seconds: float


def run(*, inputs: int, seed: int) -> Tally:
    """Checks `inputs` blocks made from `seed`. Raises AssertionError with the first that differs."""
    random = Random(seed)
    accepted = recognised = 0
    started = time.perf_counter()
    for begin in range(0, inputs, _A_CONNECTION):
        connection = _Connection(random)
        for _ in range(min(_A_CONNECTION, inputs - begin)):
            connection.check()
        accepted += connection.accepted
        recognised += connection.recognised
    return Tally(inputs, accepted, recognised, time.perf_counter() - started)


class _Connection:
    def __init__(self, random: Random) -> None:
        self._random = random
        self._engine = make_engine(SERVER, EngineLimits())
        self._engine.receive(HELLO, 0.0)
        self._encoder, self._decoder = Encoder(), Decoder()
        self._requests, self._responses = _request_reader(), ResponseReader()
        self._origin = Origin(peer="192.0.2.1", entry_point=HTTPS)
        self._stream = 1
        self._fields: list[tuple[bytes, bytes]] = []
        self._known: object = None
        self.accepted = self.recognised = 0

    def check(self) -> None:
        """Makes a block, often like the last, and compares all that is made of it."""
        fields = self._next_fields()
        block = self._encoder.encode(fields, huffman=self._random.random() < 0.5)
        events = self._engine.receive(frame(_HEADERS, _END, self._stream, block), float(self._stream))
        assert events == [(HEAD, self._stream, fields, True)], f"{events} of {fields}"
        decoded = tuple((bytes(name), bytes(value)) for name, value in self._decoder.decode(block, raw=True))
        assert decoded == fields, f"{decoded} of {fields}"
        self._engine.respond(self._stream, _OK, True)
        self._engine.take_bytes()
        self._engine.take_events()
        self._stream += 2
        self._check_request(events[0][2])
        self._check_response(events[0][2])

    def _next_fields(self) -> Fields:
        random = self._random
        chance = random.random()
        if chance < 0.1 or not self._fields:
            self._fields = [self._field(random.choice(_NAMES)) for _ in range(random.randint(0, 6))]
        elif chance < 0.2 and self._fields:
            at = random.randrange(len(self._fields))
            self._fields[at] = self._field(self._fields[at][0])
        host = b"app.test" if random.random() < 0.97 else b"b.test"
        path = random.choice(_PATHS if random.random() < 0.3 else _PATHS[:3])
        pseudo = [(b":method", b"GET"), (b":scheme", b"https"), (b":authority", host), (b":path", path)]
        if random.random() < 0.05:
            random.shuffle(pseudo)
        if path == b"*":
            pseudo = [(name, b"OPTIONS" if name == b":method" else value) for name, value in pseudo]
        return (*pseudo, *self._fields)

    def _field(self, name: bytes) -> tuple[bytes, bytes]:
        return name, _ONLY.get(name) or self._random.choice(_VALUES)

    def _check_request(self, fields: Fields) -> None:
        remembered, anew = _read(self._requests, fields), _read(_request_reader(), fields)
        if not isinstance(remembered, RequestHead) or not isinstance(anew, RequestHead):
            assert remembered == anew, f"{remembered} and {anew} of {fields}"
            return
        self.accepted += 1
        self.recognised += remembered.repeated is self._known
        self._known = remembered.repeated
        random = self._random
        underscores, removed = random.random() < 0.5, frozenset((b"cookie",) if random.random() < 0.2 else ())
        written = []
        for head, origin in ((remembered, self._origin), (anew, Origin(peer="192.0.2.1", entry_point=HTTPS))):
            going = Outgoing(head, origin, b"id", None, passing(underscores), removed=removed)
            written.append((_facts(head), endpoint_request_fields(going, True), endpoint_request_head(going)))
        assert written[0] == written[1], f"{written} of {fields}"

    def _check_response(self, fields: Fields) -> None:
        """The same fields as those of a response."""
        random = self._random
        method = random.choice((b"GET", b"GET", b"HEAD"))
        rest = tuple(field for field in fields if field[0][:1] != b":")
        whole = ((b":status", random.choice((b"200", b"200", b"304"))), *rest)
        edit = random.choice(_EDITS)
        written = []
        for reader in (self._responses, ResponseReader()):
            head: ResponseHead = reader.read(whole, method, True)
            in_lines = client_response_head(head, HTTP_1_1, False, True, edit)
            written.append((head.status, head.fields, head.body_bytes, client_fields(head, edit), in_lines))
        assert written[0] == written[1], f"{written} of {whole}"


def _request_reader() -> RequestReader:
    return RequestReader(field_bytes=8192, fields_max=128, list_bytes=65_536)


def _read(reader: RequestReader, fields: Fields) -> object:
    try:
        return reader.read(fields, True)
    except Refusal as refusal:
        return type(refusal), refusal.kind


def _facts(head: RequestHead) -> object:
    return (
        head.method,
        head.authority,
        head.host_name,
        head.path,
        head.target,
        head.raw_target,
        head.fields,
        head.body_bytes,
        head.expects_continue,
        head.head_bytes,
        head.repeated.request_id,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inputs", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    tally = run(inputs=options.inputs, seed=options.seed)
    print(
        f"{tally.inputs} header blocks in {tally.seconds:.0f} s (seed {options.seed}): {tally.accepted} accepted, "
        f"{tally.recognised} recognised, equal fields"
    )


if __name__ == "__main__":
    main()
