"""What a play shows, in the words of the file, and everything that is wrong with it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.features.http2.cases import octets
from tests.features.http2.endpoints import Received
from tests.features.http2.frames import CODE_NAMES
from tests.features.http2.playing import Play

_CLEAN_SECONDS = 2.0
_FLOOD_BYTES = 48 * 1024 * 1024
_OTHER_TENANT = "victim"
_ERRORS_FROM = 400
_LOOPBACK = b"127.0.0.1"


def problems_of(play: Play) -> list[str]:
    """Everything that is wrong, as sentences; none: the case passes."""
    return [f"{play.engine}, {play.way.value}: {problem}" for problem in _problems(play)]


def _problems(play: Play) -> Iterator[str]:
    case, seen = play.case, outcomes(play)
    passed = [each for each in seen if any(_accepts(accepted, each) for accepted in play.accept)]
    if not passed:
        yield f"{seen} in place of {play.accept}"
    elif any(each.startswith("served") for each in passed):
        yield from _wrong_in_service(play)
    for stream in case.also:
        if not (play.streams[stream].ended and play.streams[stream].status < _ERRORS_FROM):
            yield f"stream {stream} was not served"
    if case.endpoint_most is not None and len(play.requests) > case.endpoint_most:
        yield f"{len(play.requests)} requests at the endpoint"
    if case.most_streams is not None and play.most_streams > case.most_streams:
        yield f"{play.most_streams} streams at a time at the endpoint"
    for note in case.endpoint_notes:
        if not set(note.split("|")) & set(play.notes):
            yield f"the endpoint saw no {note}, but {play.notes}"
    yield from _broken_rules(play)


def outcomes(play: Play) -> list[str]:
    """All that can be said of how a play ended, in the words of `accept`, with codes and statuses."""
    half, seen = play.half, []
    if half.ended:
        if (status := dict(half.trailers or half.head).get(b"grpc-status", b"0")) != b"0":
            seen.append(f"grpc:{status.decode()}")
        seen.append(f"{'status' if half.status >= _ERRORS_FROM else 'served'}:{half.status}")
    elif half.reset is not None:
        seen.append(f"rst:{_name(half.reset)}")
    elif half.head:
        seen.append("unfinished")
    if play.goaway is not None and play.goaway[1]:
        seen.append(f"conn:{_name(play.goaway[1])}")
    elif play.is_lost:
        seen.append("close")
    elif play.is_alive and not half.heads and half.reset is None:
        seen.append("ignored")
    return seen


def _name(code: int) -> str:
    return CODE_NAMES.get(code, str(code))


def _accepts(accepted: str, seen: str) -> bool:
    """Whether an outcome is one of an accepted kind, and of its codes if it names any."""
    kind, _, wanted = accepted.partition(":")
    seen_kind, _, detail = seen.partition(":")
    return kind == seen_kind and (not wanted or detail in wanted.split("|"))


def _broken_rules(play: Play) -> Iterator[str]:
    """The rules for every case."""
    if play.unexpected:
        yield f"the proxy sent {play.unexpected[0]}"
    for request in play.requests:
        if request.target.startswith(b"/smuggled"):
            yield "a request for /smuggled reached an endpoint"
        if request.service == _OTHER_TENANT:
            yield "the other tenant was asked"
        if len(request.values(b"host")) != 1 and play.case.side != "endpoint":
            yield f"Host {request.values(b'host')}"
        if len(request.values(b"content-length") + request.values(b"transfer-encoding")) > 1:
            yield "two framings at the endpoint"
    if None in play.clean_seconds or max(seconds or 0 for seconds in play.clean_seconds) > _CLEAN_SECONDS:
        yield f"clean requests took {play.clean_seconds}"
    if play.case.flood is not None and play.growth_bytes > _FLOOD_BYTES:
        yield f"memory grew by {play.growth_bytes} bytes"


def _wrong_in_service(play: Play) -> Iterator[str]:
    see = play.case.see
    half, requests = play.half, play.requests
    if "count" in see and len(requests) != see["count"]:
        yield f"{len(requests)} requests in place of {see['count']}"
    if "answer" in see and bytes(half.body) != octets(see["answer"]):
        yield f"the answer {bytes(half.body[:100])!r}"
    if "answer_bytes" in see and len(half.body) != see["answer_bytes"]:
        yield f"an answer of {len(half.body)} bytes"
    if half.first_data_bytes > see.get("first_data_at_most", half.first_data_bytes):
        yield f"{half.first_data_bytes} bytes in the first DATA"
    if missing := [field for field in _pairs(see.get("trailers", ())) if field not in half.trailers]:
        yield f"trailers {half.trailers} without {missing}"
    if present := [name for name in see.get("client_not", ()) if half.value(name.encode()) is not None]:
        yield f"the client got {present}"
    if see and not requests:
        yield "no request at an endpoint"
    elif requests:
        yield from _wrong_request(see, requests[-1])
        for wanted, request in zip(see.get("each", ()), requests, strict=False):
            yield from _missing(wanted, request)


def _wrong_request(see: dict[str, Any], request: Received) -> Iterator[str]:
    facts = {"target": request.target, "method": request.method, "authority": request.host, "body": request.body}
    for fact, value in facts.items():
        if fact in see and octets(see[fact]) != value:
            yield f"{fact} {value[:100]!r}"
    yield from _missing(see.get("has", ()), request)
    if present := [name for name in see.get("not", ()) if request.values(name.encode())]:
        yield f"the endpoint got {present}"


def _missing(wanted: Any, request: Received) -> Iterator[str]:
    for name, expected in _pairs(wanted):
        seen = [request.host] if name == b"host" else request.values(name)
        # Each play has an address of its own, where the file speaks of one.
        value = b", ".join(request.values(b"x-real-ip")) if expected == _LOOPBACK else expected
        if value not in seen:
            yield f"{name!r} is {seen} in place of {value!r}"


def _pairs(fields: Any) -> list[tuple[bytes, bytes]]:
    return [(octets(name), octets(value)) for name, value in fields]
