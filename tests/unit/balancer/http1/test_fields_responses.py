"""What of a response goes on to the client, and what is written in its place."""

from __future__ import annotations

import pytest

from balancer.http.messages import HTTP_1_0, HTTP_1_1, ResponseHead
from balancer.http1.fields import (
    interim_response,
    must_chunk,
    switching_response,
)
from tests.unit.balancer.http1.test_fields import edit, names, response, to_client


def test_response_fields_pass_unchanged_in_order() -> None:
    lines = [b"X-Powered-By: x", b"Set-Cookie: a", b"Date: now", b"Set-Cookie: b", b"X: caf\xe9"]
    assert to_client(response(*lines, b"Content-Length: 3")) == [b"HTTP/1.1 200 OK", *lines, b"Content-Length: 3"]


def test_hop_by_hop_response_fields_are_removed() -> None:
    lines = [b"Connection: close, X-Hop", b"X-Hop: 1", b"Keep-Alive: 1", b"Upgrade: h2c", b"Proxy-Connection: close"]
    assert to_client(response(*lines, b"Content-Length: 3")) == [b"HTTP/1.1 200 OK", b"Content-Length: 3"]


@pytest.mark.parametrize(
    ("head", "protocol", "framing"),
    [
        (response(b"Content-Length: 3"), HTTP_1_1, [b"Content-Length: 3"]),
        (response(b"Content-Length: 0"), HTTP_1_1, [b"Content-Length: 0"]),
        (response(b"Transfer-Encoding: chunked"), HTTP_1_1, [b"Transfer-Encoding: chunked"]),
        (response(), HTTP_1_1, [b"Transfer-Encoding: chunked"]),
        (response(b"Transfer-Encoding: chunked"), HTTP_1_0, []),
        (response(), HTTP_1_0, []),
        (response(b"Content-Length: 3", method=b"HEAD"), HTTP_1_1, [b"Content-Length: 3"]),
        (response(b"Transfer-Encoding: chunked", method=b"HEAD"), HTTP_1_1, []),
        (response(status=b"204 No Content"), HTTP_1_1, []),
        (response(b"Content-Length: 3", status=b"304 Not Modified"), HTTP_1_1, [b"Content-Length: 3"]),
    ],
)
def test_the_framing_of_a_response_is_written_anew(head: ResponseHead, protocol: str, framing: list[bytes]) -> None:
    lines = to_client(head, protocol=protocol, chunked=must_chunk(head.body_bytes, protocol=protocol))
    assert [line for line in lines if line.lower().startswith((b"content-length", b"transfer-encoding"))] == framing


@pytest.mark.parametrize(
    ("protocol", "keep_alive", "connection"),
    [(HTTP_1_1, True, []), (HTTP_1_1, False, [b"Connection: close"]), (HTTP_1_0, True, [b"Connection: keep-alive"]),
     (HTTP_1_0, False, [b"Connection: close"])],
)  # fmt: skip
def test_connection_is_said_when_it_is_not_understood(protocol: str, keep_alive: bool, connection: list[bytes]) -> None:
    lines = to_client(response(b"Content-Length: 0"), protocol=protocol, keep_alive=keep_alive)
    assert [line for line in lines if line.startswith(b"Connection")] == connection


def test_hsts_replaces_the_one_of_the_endpoint_and_otherwise_leaves_it() -> None:
    head = response(b"Strict-Transport-Security: max-age=1", b"Content-Length: 0")
    assert [line for line in to_client(head) if line.startswith(b"Strict")] == [b"Strict-Transport-Security: max-age=1"]
    ours = [line for line in to_client(head, hsts=b"max-age=2") if line.startswith(b"Strict")]
    assert ours == [b"Strict-Transport-Security: max-age=2"]


@pytest.mark.parametrize("keeps", [False, True])
def test_the_server_field_of_an_endpoint_ends_here_unless_it_is_wanted(keeps: bool) -> None:
    final = response(b"SERVER: gunicorn/20.0", b"Content-Length: 0")
    for keep_now in (keeps, not keeps):  # a head is remembered with what it depends on
        assert (b"server" in names(to_client(final, keeps_server=keep_now))) is keep_now
    switching = response(b"Upgrade: websocket", b"Connection: Upgrade", b"Server: x", status=b"101 Switching Protocols")
    assert (b"\r\nServer: x\r\n" in switching_response(switching, edit(keeps_server=keeps))) is keeps
    assert b"Server" not in interim_response(response(b"Server: x", status=b"103 Early Hints"))


def test_an_interim_response_passes_with_its_fields_but_the_hop_by_hop_ones() -> None:
    head = response(b"Link: </a>", b"Connection: X-Hop", b"X-Hop: 1", b"Keep-Alive: 1", status=b"103 Early Hints")
    assert interim_response(head) == b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"


@pytest.mark.parametrize(
    ("body_bytes", "protocol", "expected"),
    [(None, HTTP_1_1, True), (None, HTTP_1_0, False), (0, HTTP_1_1, False), (7, HTTP_1_1, False)],
)
def test_a_body_of_unknown_length_is_chunked_for_http_1_1(
    body_bytes: int | None, protocol: str, expected: bool
) -> None:
    assert must_chunk(body_bytes, protocol=protocol) is expected


def test_a_101_goes_on_with_its_protocol_and_end_to_end_fields() -> None:
    head = response(
        b"Upgrade: websocket", b"Connection: Upgrade", b"Keep-Alive: 1", b"Sec-WebSocket-Accept: x",
        status=b"101 Switching Protocols",
    )  # fmt: skip
    assert switching_response(head, edit()) == (
        b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
        b"Sec-WebSocket-Accept: x\r\n\r\n"
    )


def test_a_cookie_of_ours_stands_beside_those_of_the_endpoint() -> None:
    ours = ((b"Set-Cookie", b"route=a|b; HttpOnly"),)
    plain = response(b"Set-Cookie: a=1", b"Content-Length: 0")
    assert [line for line in to_client(plain, added=ours) if line.startswith(b"Set-Cookie")] == [
        b"Set-Cookie: a=1",
        b"Set-Cookie: route=a|b; HttpOnly",
    ]
    switching = response(b"Upgrade: websocket", b"Connection: Upgrade", status=b"101 Switching Protocols")
    assert switching_response(switching, edit(added=ours)).endswith(
        b"\r\nUpgrade: websocket\r\nSet-Cookie: route=a|b; HttpOnly\r\n\r\n"
    )


def test_a_426_says_which_protocol_is_required() -> None:
    head = response(b"Upgrade: websocket", b"Content-Length: 0", status=b"426 Upgrade Required")
    assert b"Upgrade: websocket" in to_client(head)
