"""Hostile requests of HTTP/1.1 get no further over HTTP/2, and reach an HTTP/1.1 endpoint as the same request."""

from __future__ import annotations

from pathlib import Path

from tests.features.http2 import frames
from tests.features.http2.cases import Way as Cut
from tests.features.http2.cases import block
from tests.features.http2.converting import Converted, converted
from tests.features.http2.peers import Half
from tests.features.http2.playing import connected, new_address
from tests.features.http_cases.messages import Message
from tests.features.http_cases.playing import ask
from tests.features.http_cases.stage import Stage, staged

_SECONDS = 8.0
_ERRORS_FROM = 400
_CASES_LEAST = 70
# What says which connection a request came by, or is made anew for each.
_OF_ITS_OWN = frozenset(
    b"x-real-ip x-forwarded-for x-forwarded-port x-forwarded-proto x-forwarded-scheme x-scheme x-request-id".split()
)


async def test_what_http2_carries_is_what_http1_would_carry(tmp_path: Path) -> None:
    cases = converted()
    assert len(cases) >= _CASES_LEAST
    async with staged(tmp_path) as stage:
        problems = [problem for each in cases if (problem := await _problem(stage, each)) is not None]
    assert problems == []


async def _problem(stage: Stage, each: Converted) -> str | None:
    """What is wrong with a case, None if nothing is: HTTP/2 may be stricter, and is never laxer or different."""
    plain = await ask(stage, each.raw)
    address = new_address()
    half = await _ask_by_http2(stage, each, address)
    requests = _requests_of(stage, address)
    if any(request.target.startswith(b"/smuggled") for request in requests):
        return f"{each.case.id}: a request for /smuggled reached an endpoint"
    if not half.ended or half.status >= _ERRORS_FROM:
        return f"{each.case.id}: refused, and at an endpoint" if requests else None
    wanted = [_essence(request) for _, request in plain.requests]
    seen = [_essence(request) for request in requests]
    return None if seen == wanted else f"{each.case.id}: {seen} in place of {wanted}"


async def _ask_by_http2(stage: Stage, each: Converted, address: str) -> Half:
    tls = stage.trusting()
    tls.set_alpn_protocols(["h2"])
    peer = await connected(stage.zonal.https_port, address, tls)
    flags = frames.END_HEADERS | (0 if each.body else frames.END_STREAM)
    said = [frames.PREFACE, frames.settings([]), frames.frame(frames.HEADERS, flags, 1, block(each.fields))]
    if each.body:
        said.append(frames.frame(frames.DATA, frames.END_STREAM, 1, each.body))
    await peer.write_in(said, Cut.ONE_WRITE)
    await peer.until(lambda: peer.streams[1].is_over, _SECONDS)
    if peer.transport is not None:
        peer.transport.close()
    return peer.streams[1]


def _requests_of(stage: Stage, address: str) -> list[Message]:
    known = address.encode()
    found = [
        backend.requests(lambda request: request.value(b"x-real-ip") == known) for backend in stage.backends.values()
    ]
    return [request for each in found for _, request in each]


def _essence(request: Message) -> tuple[object, ...]:
    fields = [field for field in request.fields if field[0] not in _OF_ITS_OWN]
    return request.method, request.target, sorted(fields), bytes(request.body)
