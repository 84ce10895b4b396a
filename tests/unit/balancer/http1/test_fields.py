"""Heads as they go on: what passes, what ends here, and what nobody but the proxy may say."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from balancer.http1.fields import (
    ForwardedFields,
    client_response_head,
    endpoint_request_head,
    field_value,
    interim_response,
    may_upgrade,
    must_chunk,
    switching_response,
)
from balancer.http1.framing import CHUNKED, UNTIL_CLOSE
from balancer.http1.heads import RequestHead, RequestHeadReader, ResponseHead
from balancer.http1.responses import ResponseHeadReader
from balancer.model import ProxySettings

PLAIN = ForwardedFields(peer="192.0.2.7", secure=False)


def request(*lines: bytes, line: bytes = b"GET /a HTTP/1.1") -> RequestHead:
    return RequestHeadReader(ProxySettings()).read(b"\r\n".join((line, b"Host: app.test", *lines)) + b"\r\n\r\n")


def response(*lines: bytes, status: bytes = b"200 OK", method: bytes = b"GET") -> ResponseHead:
    return ResponseHeadReader().read(b"\r\n".join((b"HTTP/1.1 " + status, *lines)) + b"\r\n\r\n", method)


def to_endpoint(
    head: RequestHead,
    *,
    forwarded: ForwardedFields = PLAIN,
    request_id: bytes | None = None,
    underscores: bool = False,
) -> list[bytes]:
    """The lines that go to the endpoint, without the line end of the last."""
    written = endpoint_request_head(head, forwarded=forwarded, request_id=request_id, underscores=underscores)
    assert written.endswith(b"\r\n\r\n")
    return written[:-4].split(b"\r\n")


def to_client(
    head: ResponseHead,
    *,
    client_minor: int = 1,
    chunked: bool = False,
    keep_alive: bool = True,
    hsts: bytes | None = None,
    set_cookie: bytes = b"",
) -> list[bytes]:
    """The lines that go to the client, without the line end of the last."""
    written = client_response_head(
        head, client_minor=client_minor, chunked=chunked, keep_alive=keep_alive, hsts=hsts, set_cookie=set_cookie
    )
    assert written.endswith(b"\r\n\r\n")
    return written[:-4].split(b"\r\n")


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
        b"Expect: something-else",
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


def test_connection_cannot_remove_the_framing() -> None:
    head = request(b"Connection: content-length", b"Content-Length: 3", line=b"POST / HTTP/1.1")
    assert b"Content-Length: 3" in to_endpoint(head)


@pytest.mark.parametrize(("secure", "scheme", "port"), [(False, b"http", b"80"), (True, b"https", b"443")])
def test_what_a_client_says_about_itself_is_replaced(secure: bool, scheme: bytes, port: bytes) -> None:
    spoofed = [
        b"X-Real-IP: 1.2.3.4",
        b"X-Forwarded-For: 1.2.3.4",
        b"X-Forwarded-Host: evil.test",
        b"X-Forwarded-Port: 1234",
        b"X-Forwarded-Proto: gopher",
        b"X-Forwarded-Scheme: gopher",
        b"X-Scheme: gopher",
    ]
    lines = to_endpoint(request(*spoofed), forwarded=ForwardedFields(peer="192.0.2.7", secure=secure))
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


def test_response_fields_pass_unchanged_in_order() -> None:
    lines = [b"Server: x", b"Set-Cookie: a", b"Date: now", b"Set-Cookie: b", b"X: caf\xe9"]
    assert to_client(response(*lines, b"Content-Length: 3")) == [b"HTTP/1.1 200 OK", *lines, b"Content-Length: 3"]


def test_hop_by_hop_response_fields_are_removed() -> None:
    lines = [b"Connection: close, X-Hop", b"X-Hop: 1", b"Keep-Alive: 1", b"Upgrade: h2c", b"Proxy-Connection: close"]
    assert to_client(response(*lines, b"Content-Length: 3")) == [b"HTTP/1.1 200 OK", b"Content-Length: 3"]


@pytest.mark.parametrize(
    ("head", "client_minor", "framing"),
    [
        (response(b"Content-Length: 3"), 1, [b"Content-Length: 3"]),
        (response(b"Content-Length: 0"), 1, [b"Content-Length: 0"]),
        (response(b"Transfer-Encoding: chunked"), 1, [b"Transfer-Encoding: chunked"]),
        (response(), 1, [b"Transfer-Encoding: chunked"]),
        (response(b"Transfer-Encoding: chunked"), 0, []),
        (response(), 0, []),
        (response(b"Content-Length: 3", method=b"HEAD"), 1, [b"Content-Length: 3"]),
        (response(b"Transfer-Encoding: chunked", method=b"HEAD"), 1, []),
        (response(status=b"204 No Content"), 1, []),
        (response(b"Content-Length: 3", status=b"304 Not Modified"), 1, [b"Content-Length: 3"]),
    ],
)
def test_the_framing_of_a_response_is_written_anew(head: ResponseHead, client_minor: int, framing: list[bytes]) -> None:
    lines = to_client(head, client_minor=client_minor, chunked=must_chunk(head.framing, client_minor=client_minor))
    assert [line for line in lines if line.lower().startswith((b"content-length", b"transfer-encoding"))] == framing


@pytest.mark.parametrize(
    ("client_minor", "keep_alive", "connection"),
    [(1, True, []), (1, False, [b"Connection: close"]), (0, True, [b"Connection: keep-alive"]),
     (0, False, [b"Connection: close"])],
)  # fmt: skip
def test_connection_is_said_when_it_is_not_understood(
    client_minor: int, keep_alive: bool, connection: list[bytes]
) -> None:
    lines = to_client(response(b"Content-Length: 0"), client_minor=client_minor, keep_alive=keep_alive)
    assert [line for line in lines if line.startswith(b"Connection")] == connection


def test_hsts_replaces_the_one_of_the_endpoint_and_otherwise_leaves_it() -> None:
    head = response(b"Strict-Transport-Security: max-age=1", b"Content-Length: 0")
    assert [line for line in to_client(head) if line.startswith(b"Strict")] == [b"Strict-Transport-Security: max-age=1"]
    ours = [line for line in to_client(head, hsts=b"max-age=2") if line.startswith(b"Strict")]
    assert ours == [b"Strict-Transport-Security: max-age=2"]


def test_an_interim_response_passes_with_its_fields_but_the_hop_by_hop_ones() -> None:
    head = response(b"Link: </a>", b"Connection: X-Hop", b"X-Hop: 1", b"Keep-Alive: 1", status=b"103 Early Hints")
    assert interim_response(head) == b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"


def test_a_field_is_found_by_its_lower_case_name_first_value_first() -> None:
    head = request(b"Accept: a", b"ACCEPT: b")
    assert field_value(head.fields, b"accept") == b"a"
    assert field_value(head.fields, b"absent") is None


@pytest.mark.parametrize(
    ("framing", "client_minor", "expected"),
    [(CHUNKED, 1, True), (UNTIL_CLOSE, 1, True), (CHUNKED, 0, False), (UNTIL_CLOSE, 0, False), (0, 1, False),
     (7, 1, False)],
)  # fmt: skip
def test_a_body_of_unknown_length_is_chunked_for_http_1_1(framing: int, client_minor: int, expected: bool) -> None:
    assert must_chunk(framing, client_minor=client_minor) is expected


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


def test_a_101_goes_on_with_its_protocol_and_end_to_end_fields() -> None:
    head = response(
        b"Upgrade: websocket", b"Connection: Upgrade", b"Keep-Alive: 1", b"Sec-WebSocket-Accept: x",
        status=b"101 Switching Protocols",
    )  # fmt: skip
    assert switching_response(head) == (
        b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
        b"Sec-WebSocket-Accept: x\r\n\r\n"
    )


def test_a_cookie_of_ours_stands_beside_those_of_the_endpoint() -> None:
    ours = b"Set-Cookie: route=a|b; HttpOnly\r\n"
    plain = response(b"Set-Cookie: a=1", b"Content-Length: 0")
    assert [line for line in to_client(plain, set_cookie=ours) if line.startswith(b"Set-Cookie")] == [
        b"Set-Cookie: a=1",
        ours[:-2],
    ]
    switching = response(b"Upgrade: websocket", b"Connection: Upgrade", status=b"101 Switching Protocols")
    assert switching_response(switching, ours).endswith(b"\r\nUpgrade: websocket\r\n" + ours + b"\r\n")


def test_a_426_says_which_protocol_is_required() -> None:
    head = response(b"Upgrade: websocket", b"Content-Length: 0", status=b"426 Upgrade Required")
    assert b"Upgrade: websocket" in to_client(head)


def test_a_host_of_the_route_replaces_the_one_of_the_client_but_is_told_as_forwarded() -> None:
    written = endpoint_request_head(request(), forwarded=PLAIN, request_id=None, underscores=False, host="other.test")
    assert written.startswith(b"GET /a HTTP/1.1\r\nHost: other.test\r\n")
    assert b"\r\nX-Forwarded-Host: app.test\r\n" in written


class Token(bytes):
    """A connection option that counts how often any is compared with something."""

    comparisons = 0

    def __eq__(self, other: object) -> bool:
        Token.comparisons += 1
        return super().__eq__(other)

    __hash__ = bytes.__hash__


MANY_OPTIONS = b"Connection: " + b"z," * 3500  # a line within the default limits; four of them are 14,000 options


@pytest.mark.parametrize(
    ("head", "write"),
    [
        pytest.param(
            request(*[MANY_OPTIONS] * 4, *(b"F%d: 1" % number for number in range(90))), to_endpoint, id="request"
        ),
        pytest.param(
            response(*[MANY_OPTIONS] * 4, *(b"F%d: 1" % number for number in range(2000))), to_client, id="response"
        ),
        pytest.param(
            response(*[MANY_OPTIONS] * 4, *(b"F%d: 1" % number for number in range(2000)), status=b"103 Early Hints"),
            lambda head: interim_response(head).split(b"\r\n"),
            id="interim response",
        ),
    ],
)
def test_many_connection_options_are_not_each_compared_with_each_field(
    head: RequestHead | ResponseHead, write: Callable[[RequestHead | ResponseHead], list[bytes]]
) -> None:
    head.connection_options = tuple(map(Token, head.connection_options))
    assert len(head.connection_options) >= 14_000
    Token.comparisons = 0
    assert b"f89" in names(write(head))
    assert Token.comparisons <= 2 * len(head.connection_options)
