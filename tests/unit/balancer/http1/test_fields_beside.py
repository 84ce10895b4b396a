"""Heads as they go on with fields beside their own, and heads that HTTP/1 did not read."""

from __future__ import annotations

from balancer.http.messages import Repeated, RequestHead, ResponseHead
from balancer.http.streams import Outgoing
from balancer.http1.fields import endpoint_request_head
from tests.messages import PLAIN
from tests.unit.balancer.http1.test_fields import request, response, to_client, to_endpoint


def test_fields_that_are_added_stand_in_one_head_only() -> None:
    asked, answered, ours = request(b"A: 1"), response(b"B: 2"), ((b"X-Ours", b"3"),)
    for added in (ours, ()):
        written = endpoint_request_head(Outgoing(asked, PLAIN, added=added))
        assert (b"\r\nX-Ours: 3\r\n" in written) is bool(added)
        assert (b"X-Ours: 3" in to_client(answered, added=added)) is bool(added)


def test_heads_that_another_version_has_read_are_written_too() -> None:
    fields = ((b"accept", b"*/*"), (b"x-request-id", b"7"))
    asked = RequestHead(
        b"GET", b"app.test", b"app.test", b"/a", b"/a", b"/a", fields, 0, False, b"", "HTTP/2.0", 40, Repeated(fields)
    )
    assert to_endpoint(asked, request_id=b"8")[-2:] == [b"accept: */*", b"x-request-id: 7"]
    answered = ResponseHead(200, ((b"etag", b"x"),), None, b"")
    assert to_client(answered, chunked=True) == [b"HTTP/1.1 200 OK", b"etag: x", b"Transfer-Encoding: chunked"]
