"""Heads as they go on: what passes, what ends here, and what nobody but the proxy may say."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest

from balancer.errors import ErrorKind, Refusal
from balancer.http.edits import HeadEdit
from balancer.http.looping import PASSES_MOST
from balancer.http.messages import HTTP_1_1, Fields, RequestHead, ResponseHead, may_upgrade
from balancer.http.origin import Origin
from balancer.http.passing import passing
from balancer.http.streams import Outgoing
from balancer.http1.fields import (
    client_response_head,
    endpoint_request_head,
    interim_response,
    lines_of,
)
from balancer.http1.heads import Http1Response, RequestHeadReader
from balancer.http1.responses import ResponseHeadReader
from balancer.http2.onward import endpoint_request_fields
from balancer.model.entry_points import HTTP, HTTPS
from balancer.model.settings import ProxySettings
from tests.messages import PLAIN


def request(*lines: bytes, line: bytes = b"GET /a HTTP/1.1") -> RequestHead:
    return RequestHeadReader(ProxySettings()).read(b"\r\n".join((line, b"Host: app.test", *lines)) + b"\r\n\r\n")


def response(*lines: bytes, status: bytes = b"200 OK", method: bytes = b"GET") -> Http1Response:
    return ResponseHeadReader().read(b"\r\n".join((b"HTTP/1.1 " + status, *lines)) + b"\r\n\r\n", method)


def to_endpoint(
    head: RequestHead,
    *,
    origin: Origin = PLAIN,
    request_id: bytes | None = None,
    underscores: bool = False,
) -> list[bytes]:
    """The lines that go to the endpoint, without the line end of the last."""
    written = endpoint_request_head(Outgoing(head, origin, request_id, None, passing(underscores)))
    assert written.endswith(b"\r\n\r\n")
    return written[:-4].split(b"\r\n")


def to_client(
    head: ResponseHead,
    *,
    protocol: str = HTTP_1_1,
    chunked: bool = False,
    keep_alive: bool = True,
    hsts: bytes | None = None,
    keeps_server: bool = False,
    added: Fields = (),
) -> list[bytes]:
    """The lines that go to the client, without the line end of the last."""
    written = client_response_head(head, protocol, chunked, keep_alive, edit(hsts, keeps_server, added))
    assert written.endswith(b"\r\n\r\n")
    return written[:-4].split(b"\r\n")


def edit(hsts: bytes | None = None, keeps_server: bool = False, added: Fields = ()) -> HeadEdit:
    """What `balancer/live.py` makes of these settings, and fields of one response."""
    removed = frozenset(() if keeps_server else (b"server",))
    if hsts is None:
        return HeadEdit(removed, added)
    return HeadEdit(removed | {b"strict-transport-security"}, ((b"Strict-Transport-Security", hsts), *added))


def names(lines: list[bytes]) -> list[bytes]:
    return [line.partition(b":")[0].lower() for line in lines[1:]]


def test_end_to_end_fields_pass_unchanged_in_order_whatever_their_bytes() -> None:
    lines = [b"X-M: 1", b"x-n: caf\xe9 \xff", b"X-M: 2", b"Cookie: a=b", b"Empty:"]
    passed = [
        line for line in to_endpoint(request(*lines)) if line.lower().startswith((b"x-m", b"x-n", b"cook", b"empt"))
    ]
    assert passed == [b"X-M: 1", b"x-n: caf\xe9 \xff", b"X-M: 2", b"Cookie: a=b", b"Empty: "]


def test_the_request_line_and_host_come_first() -> None:
    assert to_endpoint(request())[:2] == [b"GET /a HTTP/1.1", b"Host: app.test"]


@pytest.mark.parametrize(
    "line",
    [
        b"Keep-Alive: timeout=5",
        b"Proxy-Connection: keep-alive",
        b"TE: trailers",
        b"Connection: keep-alive",
        b"Upgrade: h2c",
        b"HTTP2-Settings: AAMAAABk",
        b"Proxy: http://evil",
        b"Forwarded: for=1.2.3.4",
        b"X-Original-Forwarded-For: 1.2.3.4",
        b"ssl-client-verify: SUCCESS",
    ],
)
def test_hop_by_hop_fields_and_fields_that_only_the_proxy_may_say_are_removed(line: bytes) -> None:
    assert line.partition(b":")[0].lower() not in names(to_endpoint(request(line)))


def test_fields_named_by_connection_are_removed() -> None:
    lines = to_endpoint(request(b"Connection: close, X-Hop", b"X-Hop: 1", b"X-Hop: 2", b"X-Kept: 1"))
    assert b"x-hop" not in names(lines)
    assert b"x-kept" in names(lines)


@pytest.mark.parametrize(
    "name",
    [b"Host", b"Authorization", b"Cookie", b"X-Request-ID", b"X-Forwarded-For", b"X-Forwarded-Proto", b"X-Real-IP"],
)
def test_connection_cannot_remove_end_to_end_fields(name: bytes) -> None:
    lines = [b"Connection: " + name] + ([] if name == b"Host" else [name + b": 1"])
    assert name.lower() in names(to_endpoint(request(*lines), request_id=b"id"))


def test_nothing_removes_how_often_a_request_has_passed_through_zonal() -> None:
    head, loop = request(b"Connection: CDN-Loop", b"CDN-Loop: zonal, other.example"), frozenset((b"cdn-loop", b"x-a"))
    outgoing = Outgoing(head, PLAIN)
    assert endpoint_request_head(outgoing).count(b"CDN-Loop: zonal") == 2
    outgoing.removed = outgoing.replaced = loop
    assert endpoint_request_head(outgoing).count(b"CDN-Loop: zonal") == 2
    assert dict(endpoint_request_fields(outgoing, False))[b"cdn-loop"] == b"zonal, other.example"


def test_nothing_removes_the_marks_of_copies_and_of_requests_to_auth_services() -> None:
    marks = frozenset((b"x-zonal-copy", b"x-zonal-auth-depth"))
    outgoing = Outgoing(request(b"X-Zonal-Copy: 1", b"X-Zonal-Auth-Depth: 2"), PLAIN)
    outgoing.replaced = marks
    assert b"X-Zonal-Copy: 1\r\nX-Zonal-Auth-Depth: 2\r\n" in endpoint_request_head(outgoing)
    assert marks <= dict(endpoint_request_fields(outgoing, False)).keys()


def test_a_request_that_has_passed_too_often_is_refused_and_a_response_is_not() -> None:
    lines = [b"CDN-Loop: zonal"] * PASSES_MOST
    assert request(*lines[1:]).fields == ((b"cdn-loop", b"zonal"),) * (PASSES_MOST - 1)
    with pytest.raises(Refusal) as refused:
        request(*lines)
    assert refused.value.kind is ErrorKind.LOOP
    assert response(*lines).status == 200


def test_connection_cannot_remove_the_framing() -> None:
    head = request(b"Connection: content-length", b"Content-Length: 3", line=b"POST / HTTP/1.1")
    assert b"Content-Length: 3" in to_endpoint(head)


@pytest.mark.parametrize(
    ("secure", "announced", "scheme", "port"),
    [
        (False, None, b"http", b"80"),
        (True, None, b"https", b"443"),
        (False, 443, b"https", b"443"),
        (False, 80, b"http", b"80"),
        (False, 1234, b"http", b"1234"),
        (True, 8443, b"https", b"8443"),
    ],
)
def test_what_a_client_says_about_itself_is_replaced(
    secure: bool, announced: int | None, scheme: bytes, port: bytes
) -> None:
    spoofed = [
        b"X-Real-IP: 1.2.3.4",
        b"X-Forwarded-For: 1.2.3.4",
        b"X-Forwarded-Host: evil.test",
        b"X-Forwarded-Port: 1234",
        b"X-Forwarded-Proto: gopher",
        b"X-Forwarded-Scheme: gopher",
        b"X-Scheme: gopher",
    ]
    origin = Origin(peer="192.0.2.7", entry_point=HTTPS if secure else HTTP, port=announced)
    assert origin.https is (scheme == b"https")
    lines = to_endpoint(request(*spoofed), origin=origin)
    assert sorted(line for line in lines if line.startswith(b"X-") and b"Original" not in line) == [
        b"X-Forwarded-For: 192.0.2.7",
        b"X-Forwarded-Host: app.test",
        b"X-Forwarded-Port: " + port,
        b"X-Forwarded-Proto: " + scheme,
        b"X-Forwarded-Scheme: " + scheme,
        b"X-Real-IP: 192.0.2.7",
        b"X-Scheme: " + scheme,
    ]
    assert b"X-Original-Forwarded-For: 1.2.3.4" in lines
    assert b"X-Original-Forwarded-Host: evil.test" in lines


def test_names_with_underscores_are_dropped_unless_they_are_wanted() -> None:
    head = request(b"X_A: 1")
    assert b"x_a" not in names(to_endpoint(head))
    assert b"X_A: 1" in to_endpoint(head, underscores=True)


@pytest.mark.parametrize("name", [b"X_Forwarded_For", b"x-forwarded_proto", b"X_Real_IP", b"SSL_Client-Verify"])
def test_underscores_are_no_way_around_what_only_the_proxy_may_say(name: bytes) -> None:
    # CGI, WSGI and their kin read X_Forwarded_For and X-Forwarded-For as one variable
    assert name.lower() not in names(to_endpoint(request(name + b": 1.2.3.4"), underscores=True))


def test_a_request_id_is_kept_or_made() -> None:
    assert b"X-Request-ID: made" in to_endpoint(request(), request_id=b"made")
    kept = to_endpoint(request(b"X-Request-Id: theirs"), request_id=b"made")
    assert [line for line in kept if line.lower().startswith(b"x-request-id")] == [b"X-Request-Id: theirs"]
    assert b"x-request-id" not in names(to_endpoint(request()))


@pytest.mark.parametrize(
    ("method", "fields", "framing"),
    [
        (b"GET", [], []),
        (b"DELETE", [], []),
        (b"POST", [], [b"Content-Length: 0"]),
        (b"PUT", [b"Content-Length: 0"], [b"Content-Length: 0"]),
        (b"GET", [b"content-length: 010"], [b"Content-Length: 10"]),
        (b"POST", [b"transfer-encoding: CHUNKED"], [b"Transfer-Encoding: chunked"]),
    ],
)
def test_the_framing_of_a_request_is_written_anew(method: bytes, fields: list[bytes], framing: list[bytes]) -> None:
    lines = to_endpoint(request(*fields, line=method + b" / HTTP/1.1"))
    assert [line for line in lines if line.lower().startswith((b"content-length", b"transfer-encoding"))] == framing


def test_an_expectation_passes_once() -> None:
    head = request(b"Expect: 100-continue", b"Content-Length: 1", line=b"POST / HTTP/1.1")
    assert names(to_endpoint(head)).count(b"expect") == 1


def test_a_request_without_a_host_goes_on_with_an_empty_one() -> None:
    head = RequestHeadReader(ProxySettings()).read(b"GET / HTTP/1.0\r\n\r\n")
    assert to_endpoint(head)[:2] == [b"GET / HTTP/1.1", b"Host: "]


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        (request(b"Connection: Upgrade", b"Upgrade: WebSocket"), True),
        (request(b"Connection: Upgrade", b"Upgrade: h2c"), False),
        (request(b"Connection: Upgrade", b"Upgrade: other"), False),
        (request(b"Connection: Upgrade", b"Upgrade: websocket, h2c"), False),
        (request(b"Connection: Upgrade", b"Upgrade: websocket", b"Upgrade: h2c"), False),
        (request(b"Connection: Upgrade", b"Upgrade: websocket", b"Content-Length: 5"), False),
        (request(b"Connection: Upgrade", b"Upgrade: websocket", b"Transfer-Encoding: chunked"), False),
        (request(b"Connection: Upgrade", b"Upgrade: websocket", line=b"GET / HTTP/1.0"), False),
        (request(b"Upgrade: websocket"), False),
    ],
)
def test_only_one_listed_protocol_on_a_bodiless_http_1_1_request_may_become_a_tunnel(
    head: RequestHead, expected: bool
) -> None:
    assert may_upgrade(head, ("websocket", "h2c")) is expected


def test_an_upgrade_that_is_still_named_is_offered_and_no_other_connection_option() -> None:
    lines = to_endpoint(request(b"Connection: Upgrade, X-Hop", b"X-Hop: 1", b"Upgrade: websocket"))
    assert [line for line in lines if line.lower().startswith((b"connection", b"upgrade", b"x-hop"))] == [
        b"Connection: Upgrade",
        b"Upgrade: websocket",
    ]


def test_a_host_of_the_route_replaces_the_one_of_the_client_but_is_told_as_forwarded() -> None:
    written = endpoint_request_head(Outgoing(request(), PLAIN, host=b"other.test"))
    assert written.startswith(b"GET /a HTTP/1.1\r\nHost: other.test\r\n")
    assert b"\r\nX-Forwarded-Host: app.test\r\n" in written


class Token(bytes):
    """A connection option that counts how many were made and how often any is compared with something."""

    made = 0
    comparisons = 0

    def __eq__(self, other: object) -> bool:
        Token.comparisons += 1
        return super().__eq__(other)

    __hash__ = bytes.__hash__


MANY_OPTIONS = b"Connection: " + b"z," * 3500  # a line within the default limits; four of them are 14,000 options
MANY = 14_000


def request_with_many_options() -> list[bytes]:
    head = request(*[MANY_OPTIONS] * 4, *(b"F%d: 1" % number for number in range(90)))
    lines_of(head).connection_options = counted(lines_of(head).connection_options)
    return to_endpoint(head)


def response_with_many_options(status: bytes) -> Http1Response:
    head = response(*[MANY_OPTIONS] * 4, *(b"F%d: 1" % number for number in range(2000)), status=status)
    return msgspec.structs.replace(head, connection_options=counted(head.connection_options))


def counted(options: tuple[bytes, ...]) -> tuple[bytes, ...]:
    assert len(options) >= MANY
    Token.made, Token.comparisons = len(options), 0
    return tuple(map(Token, options))


@pytest.mark.parametrize(
    "write",
    [
        pytest.param(request_with_many_options, id="request"),
        pytest.param(lambda: to_client(response_with_many_options(b"200 OK")), id="response"),
        pytest.param(
            lambda: interim_response(response_with_many_options(b"103 Early Hints")).split(b"\r\n"),
            id="interim response",
        ),
    ],
)
def test_many_connection_options_are_not_each_compared_with_each_field(write: Callable[[], list[bytes]]) -> None:
    assert b"f89" in names(write())
    assert 0 < Token.comparisons <= 2 * Token.made
