"""Checks framing and head parsing against what must hold for any input at all.

`python -m tests.features.fuzz.heads --inputs 1000000 --seed 1` runs as many and says how long it took; the first input
that breaks a rule is printed. Nothing here opens a socket.
"""

from __future__ import annotations

import argparse
import time
from contextlib import suppress
from random import Random
from typing import NamedTuple

import msgspec

from balancer.errors import ErrorKind, Refusal
from balancer.http.edits import HeadEdit
from balancer.http.messages import HTTP_1_1, RequestHead, may_upgrade
from balancer.http.origin import Origin
from balancer.http.passing import passing
from balancer.http.streams import Outgoing
from balancer.http.target import matchable_path
from balancer.http1.chunked import ChunkedDecoder
from balancer.http1.collecting import HeadCollector
from balancer.http1.fields import (
    client_response_head,
    endpoint_request_head,
    interim_response,
    must_chunk,
)
from balancer.http1.framing import CHUNKED
from balancer.http1.heads import Http1Response, RequestHeadReader
from balancer.http1.responses import ResponseHeadReader
from balancer.model.entry_points import HTTP
from balancer.model.settings import ProxySettings
from tests.features.fuzz.mutating import Mutator

_SETTINGS = ProxySettings()
_ROOMY = msgspec.structs.replace(_SETTINGS, head_line_bytes=1 << 20, head_lines_max=1000)  # for what we wrote ourselves
_RESPONSE_LIMIT = 64 * 1024
_ORIGIN = Origin(peer="192.0.2.1", entry_point=HTTP)
_UPGRADES = ("websocket",)
_OURS = frozenset(
    b"x-real-ip x-forwarded-for x-forwarded-port x-forwarded-proto x-forwarded-scheme x-scheme x-forwarded-host "
    b"cdn-loop".split()
)
_RENAMED = {b"x-forwarded-for": b"x-original-forwarded-for", b"x-forwarded-host": b"x-original-forwarded-host"}
_COUNTED = b"max-forwards"  # counts down at each reading of an OPTIONS, so also at ours
_FRAMING_FIELDS = (b"content-length", b"transfer-encoding")


class Tally(NamedTuple):
    """How many heads came of the inputs: a run in which none is accepted would show nothing."""

    inputs: int
    accepted: int
    refused: int
    seconds: float


def run(*, inputs: int, seed: int) -> Tally:
    """Check `inputs` inputs made from `seed`. Raises AssertionError, or whatever the code raised, with the input."""
    random = Random(seed)
    mutators = (Mutator(random, "request"), Mutator(random, "response"))
    accepted = refused = 0
    started = time.perf_counter()
    for number in range(inputs):
        is_response = number % 4 == 3
        data = mutators[is_response].next()
        try:
            heads, end = (check_responses if is_response else check_requests)(data, random)
        except Exception as error:
            error.add_note(f"input {number} of seed {seed}: {data!r}")
            raise
        accepted += heads
        refused += end is not None
    return Tally(inputs, accepted, refused, time.perf_counter() - started)


def check_requests(data: bytes, random: Random) -> tuple[int, Refusal | None]:
    """Read `data` as a client's stream: how many heads were accepted, and the refusal at its end, if any."""
    collector = HeadCollector(line_limit=_SETTINGS.head_line_bytes, head_limit=_SETTINGS.head_bytes)
    reader = RequestHeadReader(_SETTINGS)
    collector.add(data)
    accepted = 0
    try:
        while (head := collector.take_head()) is not None:
            request = reader.read(head, collector.take_lines())
            accepted += 1
            _check_request(head, request)
            rest = collector.take_rest()
            collector.add(_after_chunks(rest, random) if request.body_bytes is None else rest[request.body_bytes :])
    except Refusal as refusal:
        assert refusal.kind is not ErrorKind.INTERNAL
        return accepted, refusal
    return accepted, None


def check_responses(data: bytes, random: Random) -> tuple[int, Refusal | None]:
    """Read `data` as an endpoint's answer, interim ones and the final one: as `check_requests`."""
    collector = HeadCollector(line_limit=_RESPONSE_LIMIT, head_limit=_RESPONSE_LIMIT)
    reader = ResponseHeadReader()
    method = random.choice((b"GET", b"GET", b"POST", b"HEAD"))
    collector.add(data)
    accepted = 0
    try:
        while (head := collector.take_head()) is not None:
            response = reader.read(head, method, collector.take_lines())
            accepted += 1
            _check_response(head, response, method)
            if response.status >= 200:
                if response.framing == CHUNKED:
                    _after_chunks(collector.take_rest(), random)
                return accepted, None
    except Refusal as refusal:
        return accepted, refusal
    return accepted, None


def _check_request(head: bytes, request: RequestHead) -> None:
    framing = CHUNKED if request.body_bytes is None else request.body_bytes
    assert framing == _framing_lines(head, otherwise=0), "two readings of the framing"
    assert len([name for name, _ in _lines(head) if name == b"host"]) <= 1, "two hosts"
    _check_path(request)
    if request.upgrade and not may_upgrade(request, _UPGRADES):
        request = msgspec.structs.replace(request, upgrade=b"")
    written = endpoint_request_head(Outgoing(request, _ORIGIN, passing=passing(True)))
    try:
        again = RequestHeadReader(_ROOMY).read(_only_head(written))
    except Refusal as refusal:
        if not request.authority:  # HTTP/1.0 without Host goes on with an empty one, which no client may send
            assert refusal.kind is ErrorKind.BAD_REQUEST, refusal
            return
        # An OPTIONS that has used up its hops is for the next one to answer, as its last Max-Forwards says.
        assert request.method == b"OPTIONS", refusal
        assert refusal.kind is ErrorKind.METHOD_NOT_ALLOWED, refusal
        return
    for name in ("method", "target", "path", "authority", "host_name", "body_bytes", "upgrade", "expects_continue"):
        if name != "path" or request.target != b"*":
            assert getattr(again, name) == getattr(request, name), f"{name} is read differently by the endpoint"
    said = {(_RENAMED.get(name, name), value) for name, value in request.fields}
    got = {(name, value) for name, value in again.fields if name not in _OURS and name != _COUNTED}
    assert got <= said, "a field from nowhere"


def _check_path(request: RequestHead) -> None:
    segments = request.path.split(b"/")
    assert segments[0] == b""
    assert b"" not in segments[1:-1], "an empty segment"
    assert not {b".", b".."} & set(segments), "a dot segment"
    assert b"\x00" not in request.path
    with suppress(Refusal):
        matchable_path(request.raw_target)  # whatever form it has: no other exception may leave it


def _check_response(head: bytes, response: Http1Response, method: bytes) -> None:
    if response.status < 200:
        again = ResponseHeadReader().read(_only_head(interim_response(response)), method)
        assert (again.status, again.reason) == (response.status, response.reason)
        return
    bodiless = method == b"HEAD" or response.status in (204, 304)
    if not bodiless:
        assert response.framing == _framing_lines(head, otherwise=response.framing), "two readings of the framing"
    chunked = must_chunk(response.body_bytes, protocol=HTTP_1_1)
    written = client_response_head(response, HTTP_1_1, chunked, True, HeadEdit())
    again = ResponseHeadReader().read(_only_head(written), method)
    assert again.framing == (CHUNKED if chunked else response.framing), "the client reads another framing"
    assert (again.status, again.reason) == (response.status, response.reason)
    assert set(again.fields) <= set(response.fields), "a field from nowhere"


def _framing_lines(head: bytes, *, otherwise: int) -> int:
    """The framing as a careless reader sees it; it must be one only."""
    said = [(name, value) for name, value in _lines(head) if name in _FRAMING_FIELDS]
    if not said:
        return otherwise
    ((name, value),) = said
    if name == b"transfer-encoding":
        assert value.lower() == b"chunked"
        return CHUNKED
    return int(value)


def _lines(head: bytes) -> list[tuple[bytes, bytes]]:
    """Names and values as a reader sees them who splits lines at LF and names at the colon, forgiving spaces."""
    lines = (line.partition(b":") for line in head.split(b"\n")[1:])
    return [(name.strip().lower(), value.strip()) for name, _, value in lines]


def _only_head(written: bytes) -> bytes:
    """`written` taken as a head, which it must be to its last byte."""
    collector = HeadCollector(line_limit=1 << 20, head_limit=1 << 20)
    collector.add(written)
    head = collector.take_head()
    assert head == written, "what was written is not exactly one head"
    return head


def _after_chunks(data: bytes, random: Random) -> bytes:
    """What follows a chunked body, which must be the same for every cut."""
    cut = random.randint(0, len(data))
    whole, pieces = _decoded((data,)), _decoded((data[:cut], data[cut:]))
    assert whole == pieces, f"cut at {cut}: {whole} became {pieces}"
    if whole is None:
        raise Refusal(ErrorKind.BAD_REQUEST, "a malformed chunked body")
    return whole[2]


def _decoded(pieces: tuple[bytes, ...]) -> tuple[bytes, object, bytes] | None:
    """Data, trailers and the rest; None if the body is refused."""
    decoder = ChunkedDecoder(ErrorKind.BAD_REQUEST)
    data, rest = b"", b""
    try:
        for piece in pieces:
            if decoder.done:
                rest += piece
                continue
            found, rest = decoder.feed(piece)
            data += b"".join(found)
    except Refusal:
        return None
    return data, decoder.trailers if decoder.done else None, rest


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inputs", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    tally = run(inputs=options.inputs, seed=options.seed)
    print(
        f"{tally.inputs} inputs in {tally.seconds:.0f} s (seed {options.seed}): "
        f"{tally.accepted} heads accepted, {tally.refused} inputs refused, no rule broken"
    )


if __name__ == "__main__":
    main()
