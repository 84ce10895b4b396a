"""What each `forbid` text of the file rules out: the exact text and its one check.

A text that is not here fails its test. Checks are phrased as what must hold instead.
"""

from __future__ import annotations

from collections.abc import Mapping

from tests.features.http_cases.backends import PAGE
from tests.features.http_cases.checks import (
    Check,
    arrived,
    clean_request_is_served,
    connection_ended,
    cpu_at_most,
    cut_short,
    ended_within_deadlines,
    endpoint_released,
    every,
    forwarded_without,
    framed_by,
    grew_at_most,
    holds,
    message_lacks,
    no_whole_request_reached_an_endpoint,
    not_reused,
    not_status,
    nothing_reached_an_endpoint,
    served_by,
    stalled_at_most,
    target_is,
)
from tests.features.http_cases.outcomes import readings
from tests.features.http_cases.playing import Play

_MIB = 1024 * 1024
_HEAD_LIMIT_BYTES = 256 * 1024  # of one connection
_READ_BYTES = 2 * _MIB  # what the allocator and one read of the event loop may take besides
_BODY_BUFFER_BYTES = 4 * _MIB  # 256 KiB a direction, with what one read leaves behind of small objects
_STALL_SECONDS = 0.1


def _statuses(play: Play) -> list[int]:
    return [response.status for response in play.responses]


def _no_second(play: Play) -> str | None:
    """The bytes after the message were not taken for a request."""
    if len(play.requests) > 1 or play.stray or len(play.responses) > 1:
        return f"{len(play.requests)} requests, {len(play.responses)} responses, stray {play.stray[:40]!r}"
    return None


def _one_line_at_most(name: bytes) -> Check:
    return holds(f"one {name!r} at most", lambda play: all(len(each.values(name)) <= 1 for each in arrived(play)))


def _values(name: bytes, *allowed: bytes) -> Check:
    """Whatever arrived has only these values of `name`."""
    return holds(
        f"only {allowed} as {name!r}",
        lambda play: all(value in allowed for each in arrived(play) for value in each.values(name)),
    )


def _not_both(play: Play) -> str | None:
    both = any(each.values(b"content-length") and each.values(b"transfer-encoding") for each in arrived(play))
    return "both framings were forwarded" if both else None


def _no_text_in_answers(*texts: bytes) -> Check:
    return holds(
        f"none of {texts} in an answer",
        lambda play: all(text not in response.head + response.body for response in play.responses for text in texts),
    )


def _not_tunnelled(play: Play) -> str | None:
    return "a tunnel was opened" if 101 in _statuses(play) or play.received.tunnel is not None else None


def _no_resolved_admin(play: Play) -> str | None:
    for visit, request in play.requests:
        under = any(path == b"/admin" or path.startswith(b"/admin/") for path in readings(request.target))
        if visit.service == "svc-a" and under:
            return f"svc-a got {request.target!r}"
    return None


def _same_text(*texts: bytes) -> Check:
    """Whatever arrived holds each of `texts` as it is."""
    return holds(f"{texts} unchanged", lambda play: all(text in each.head for each in arrived(play) for text in texts))


def _no_stderr_flood(play: Play) -> str | None:
    return "standard error grew" if "Traceback" in play.stderr or play.stderr.count("\n") > 1 else None


def _never_longer_than(size: int) -> Check:
    return holds(
        f"no more than {size} bytes of body", lambda play: all(len(each.body) <= size for each in arrived(play))
    )


_NOTHING = nothing_reached_an_endpoint

FORBIDS: Mapping[str, Check] = {
    "any byte of this message reaches an upstream": _NOTHING,
    "either host reached": _NOTHING,
    "upstream contacted": _NOTHING,
    "connects to victim.test": _NOTHING,
    "accepted": every(_NOTHING, not_status(200)),
    "own control header honoured": served_by("svc-a"),
    "bytes after the parsed end of message 1 are executed as a second request on the upstream connection": _no_second,
    "second response sent": _no_second,
    "response of the embedded request": _no_second,
    "second answered": _no_second,
    # Framing of requests
    "two Content-Length lines forwarded": _one_line_at_most(b"content-length"),
    "list value forwarded": _values(b"content-length", b"5"),
    "value forwarded unchanged as 010": _values(b"content-length", b"10"),
    "octal reading (8)": _values(b"content-length", b"10"),
    "truncated body presented to upstream as complete": no_whole_request_reached_an_endpoint,
    "upstream connection returned to pool": not_reused,
    "upstream connection returned to the pool": not_reused,
    "upstream connection reused": lambda play: None if _statuses(play) == [200] else not_reused(play),
    "body stripped while Content-Length kept": holds(
        "the body as announced",
        lambda play: all(each.complete and len(each.body) == 55 for each in arrived(play)),
    ),
    "resident memory growth over 1 MiB per such connection": grew_at_most(_MIB),
    "value forwarded as received": _values(b"transfer-encoding", b"chunked"),
    "Content-Length and Transfer-Encoding both forwarded": _not_both,
    "both headers forwarded": _not_both,
    "forwarded un-normalised": _values(b"transfer-encoding", b"chunked"),
    "treated as unknown and body length 0": holds(
        "the body", lambda play: all(bytes(each.body) == b"hello" for each in arrived(play))
    ),
    "framing header removed but body bytes forwarded": every(_no_second, framed_by("chunked")),
    "Content-Length removed, body left on the wire": every(_no_second, framed_by("length")),
    "connection stays open": connection_ended,
    # Chunks and trailers
    "bytes after the faulty chunk reach the upstream": lambda play: (
        None if _statuses(play) == [200] else every(no_whole_request_reached_an_endpoint, _never_longer_than(10))(play)
    ),
    "size line forwarded as received": forwarded_without(b"5 \r\n"),
    "allocation proportional to size": grew_at_most(_READ_BYTES),
    "extension forwarded": forwarded_without(b"ext=value"),
    "memory growth over limit": grew_at_most(_READ_BYTES),
    "unbounded read": every(connection_ended, grew_at_most(_READ_BYTES)),
    "CPU over 100x the client cost": lambda play: cpu_at_most(max(0.5, 100 * play.own_cpu_seconds))(play),
    "rejected": not_status(*range(400, 600)),
    "GET line taken as trailer and forwarded": every(
        no_whole_request_reached_an_endpoint, forwarded_without(b"smuggled")
    ),
    "zero chunk synthesised to the upstream": no_whole_request_reached_an_endpoint,
    "event loop blocked over 100 ms": stalled_at_most(_STALL_SECONDS),
    "memory growth over the body buffer": grew_at_most(_BODY_BUFFER_BYTES),
    "-THIS forwarded": forwarded_without(b"-THIS"),
    "merged into headers": message_lacks(b"x-checksum", b"x-t", b"set-cookie"),
    "routing changes": served_by("svc-a"),
    "memory growth over head limit": grew_at_most(_READ_BYTES),
    # Lines and fields; the strict reader takes no LF, CR, NUL or control byte that went on, and such bytes are stray
    "LF forwarded": holds("no stray bytes", lambda play: not play.stray and not play.received.rubbish),
    "control bytes forwarded": _NOTHING,
    "500 from the header writer": not_status(500),
    "fold forwarded": holds("no stray bytes", lambda play: not play.stray),
    "X-After lost or head truncated": _NOTHING,
    "some bytes silently dropped or re-encoded": _same_text(b"caf\xe9 \xff"),
    "double encoding": _same_text(b"\xe2\x82\xac"),
    "head ended at CR": every(_NOTHING, _no_second),
    "reordered or merged with a comma": holds(
        "both values in order",
        lambda play: all(each.values(b"content-type") == [b"text/plain", b"text/html"] for each in arrived(play)),
    ),
    "order of X-M changed": holds(
        "1 before 2", lambda play: all(each.values(b"x-m") == [b"1", b"2"] for each in arrived(play))
    ),
    "tab forwarded": holds("no stray bytes", lambda play: not play.stray),
    "treated as GET": holds("FOOBAR", lambda play: all(each.method == b"FOOBAR" for each in arrived(play))),
    "payload echoed in the error body": _no_text_in_answers(b"\x16", b"\xfc\x03\x03"),
    "error log flood": _no_stderr_flood,
    # Targets and hosts
    "route by one name, forward the other": lambda play: (
        None
        if all(
            (visit.service == "svc-b") == (request.value(b"host") == b"victim.test") for visit, request in play.requests
        )
        else "routed by one name, forwarded with the other"
    ),
    "mixed": holds(
        "one authority",
        lambda play: all(each.value(b"host") == each.value(b"x-forwarded-host") for each in arrived(play)),
    ),
    "X-Forwarded-Proto: https emitted": _values(b"x-forwarded-proto", b"http"),
    "query lost": target_is(b"/?a=b"),
    "victim.test taken as authority": served_by("svc-a"),
    "tunnel opened": _not_tunnelled,
    "tunnel": _not_tunnelled,
    "tunnel opened on non-101": _not_tunnelled,
    "raw bytes tunnelled to the upstream": every(_not_tunnelled, holds("no stray", lambda play: not play.stray)),
    "h2c forwarded": forwarded_without(b"h2c"),
    "connection kept after rejection": connection_ended,
    "route and upstream see different paths": forwarded_without(b"#"),
    "raw bytes forwarded to some upstreams only": forwarded_without(b"\xc3\xa9"),
    "decoded CRLF on the wire, in a redirect Location, or in logs": lambda play: (
        "a decoded CRLF"
        if any(each.values(b"x-evil") for each in (*arrived(play), *play.responses))
        or any("\r" in str(value) or "\n" in str(value) for line in play.access for value in line.values())
        else None
    ),
    "tenant route chosen": _NOTHING,
    "404 only because of the colon": not_status(404),
    "routed without the policy of app.test": served_by("svc-a"),
    "policy or route of another rule": served_by("svc-a"),
    "normalised to ASCII look-alike": _NOTHING,
    "svc-a receives a target that RFC 3986 5.2.4 resolves under /admin without auth": _no_resolved_admin,
    "treated as dot": every(served_by("svc-a"), target_is(b"/public/%c0%ae%c0%ae/admin")),
    # Hop-by-hop and forwarded fields
    "X-Forwarded-For missing upstream": holds(
        "the peer in X-Forwarded-For",
        lambda play: all(each.values(b"x-forwarded-for") == [play.address.encode()] for each in arrived(play)),
    ),
    "any missing": holds(
        "all four",
        lambda play: all(
            each.values(name)
            for each in arrived(play)
            for name in (b"x-forwarded-proto", b"x-forwarded-host", b"x-forwarded-port", b"x-real-ip")
        ),
    ),
    "request without Host upstream": holds("a Host", lambda play: all(each.values(b"host") for each in arrived(play))),
    # There is no auth sub-request yet: only that the endpoint sees both or neither can be told.
    "auth sub-request sees a different set than the upstream": holds(
        "both or neither",
        lambda play: all(bool(each.values(b"authorization")) == bool(each.values(b"cookie")) for each in arrived(play)),
    ),
    "TE: gzip or q-values forwarded": _values(b"te", b"trailers"),
    "X-Foo forwarded": message_lacks(b"x-foo"),
    "left open": connection_ended,
    "super-linear CPU": cpu_at_most(0.5),
    "Proxy forwarded": message_lacks(b"proxy"),
    "endless loop when an upstream points back": holds("one request", lambda play: len(play.requests) <= 1),
    "forwarded unchanged": forwarded_without(b"Max-Forwards: 5"),
    "echoes cookies or proxy-added headers": _no_text_in_answers(b"s=1", b"X-Forwarded", b"X-Real"),
    "127.0.0.1 reaches upstream, IP allow-list, rate limit or log key": lambda play: (
        None
        if all(b"127.0.0.1" not in (each.value(b"x-forwarded-for") or b"") for each in arrived(play))
        and all(each.value(b"x-real-ip") == play.address.encode() for each in arrived(play))
        and all(line["client"] == play.address for line in play.access)
        and play.access
        else "127.0.0.1 was believed"
    ),
    "first line kept": forwarded_without(b"X-Forwarded-For: 1.1.1.1"),
    "alias forwarded": forwarded_without(b"127.0.0.1"),
    "alias forwarded to PHP/CGI style upstream": forwarded_without(b"127.0.0.1"),
    "client value survives": forwarded_without(b"host=victim.test"),
    "client value survives to auth-url sub-request": forwarded_without(b"/admin"),
    "any survives": every(forwarded_without(b"SUCCESS"), forwarded_without(b"CN=admin")),
    "leftmost value trusted": holds(
        "the peer as X-Real-IP",
        lambda play: all(each.value(b"x-real-ip") == play.address.encode() for each in arrived(play)),
    ),
    "proxy follows Location": holds("one request, to svc-a", lambda play: len(play.requests) == 1),
    # Expect
    "no 100 within 1 s": holds("100 before the body", lambda play: play.interim_before_body),
    "100 sent": holds("no interim answer", lambda play: not play.interims),
    "hang": every(holds("an answer", lambda play: bool(play.responses)), ended_within_deadlines),
    "responses shifted": holds(
        "each answer to its request",
        lambda play: [each.value(b"x-target") for each in play.responses] == [b"/", b"/second"],
    ),
    "fd leak": endpoint_released,
    "frame decoded and re-encoded; size cap 4 MiB breaks messages": holds(
        "the bytes sent", lambda play: all(visit.reader.tunnel == play.received.tunnel for visit in play.visits)
    ),
    # Limits
    "414": not_status(414),
    "400 without explanation": not_status(400),
    "memory per connection over 256 KiB": grew_at_most(_HEAD_LIMIT_BYTES + _READ_BYTES),
    "no limit because each fragment is small": every(connection_ended, _NOTHING),
    "memory grows with queue": grew_at_most(_BODY_BUFFER_BYTES),
    "whole body buffered": grew_at_most(_BODY_BUFFER_BYTES),
    "decompressed": _never_longer_than(16 * _MIB),
    "parsed into objects on the data path": cpu_at_most(0.5),
    # Connections
    "order changed": holds(
        "the order of the requests",
        lambda play: [each.value(b"x-target") for each in play.responses] == [b"/sleep/2", b"/sleep/0", b"/sleep/1"],
    ),
    "Transfer-Encoding sent to HTTP/1.0": holds(
        "no coding", lambda play: all(not each.values(b"transfer-encoding") for each in play.responses)
    ),
    "body bytes": holds("no body", lambda play: not play.received.rubbish and len(play.responses) == 1),
    "first response lost": holds(
        "the first answer", lambda play: bool(play.responses) and bytes(play.responses[0].body) == PAGE
    ),
    "upstream work continues for its full time": endpoint_released,
    "400 on the second": not_status(400),
    "RST without notice": connection_ended,
    # Slow clients
    "open at 120 s": ended_within_deadlines,
    "timer restarted by every byte": ended_within_deadlines,
    "upstream held for hours": endpoint_released,
    "response buffered in memory": grew_at_most(_BODY_BUFFER_BYTES),
    "drain waits for ever": ended_within_deadlines,
    "fd kept for hours": every(ended_within_deadlines, endpoint_released),
    "log line split or terminal escape written": holds(
        "no escape in the log", lambda play: "\x1b" not in play.access_text
    ),
    # Responses
    "two forwarded": _one_line_at_most(b"content-length"),
    "header forwarded": forwarded_without(b"Transfer-Encoding: foo"),
    "coding dropped": not_status(200),
    "response completed normally": cut_short,
    "last chunk synthesised": cut_short,
    "completed normally": cut_short,
    "surplus forwarded": forwarded_without(b"-BUT-NOT"),
    "second response served to the next client": every(not_reused, clean_request_is_served),
    "stale bytes delivered as the answer to the next request": every(not_reused, clean_request_is_served),
    "client gets the 408": every(not_status(408), clean_request_is_served),
    "body forwarded": forwarded_without(b"hello"),
    "size lines forwarded": holds("no stray bytes", lambda play: not play.received.rubbish),
    "endless CPU or memory": every(cpu_at_most(2.0), grew_at_most(_BODY_BUFFER_BYTES)),
    "forwarded": holds("refused", lambda play: not arrived(play)),
    "502": not_status(502),
    "CR forwarded": holds("no rubbish", lambda play: not play.received.rubbish),
    "bytes relayed": _no_text_in_answers(b"SSH"),
    "relayed as 200": not_status(200),
    "NUL forwarded": _no_text_in_answers(b"\x00"),
    "forwarded as is": forwarded_without(b"X-A :"),
    "RSS growth > 1 MiB": grew_at_most(_MIB),
    "memory": grew_at_most(_MIB),
    "joined with a comma": forwarded_without(b"a=1, b=2"),
    "sid=victim sent on another client's request": lambda play: (
        "a cookie of another client"
        if play.clean is None or any(b"sid=" in request.head for _, request in play.clean.requests)
        else None
    ),
    "decoded with Content-Encoding left on": holds(
        "the compressed bytes", lambda play: all(each.body.startswith(b"\x1f\x8b") for each in arrived(play))
    ),
    "bytes lost": _same_text(b"caf\xe9", b'"\xe9.txt"'),
    "aiohttp Server/Date added beside": every(_one_line_at_most(b"server"), _one_line_at_most(b"date")),
    "timer restarted by each byte": ended_within_deadlines,
}
