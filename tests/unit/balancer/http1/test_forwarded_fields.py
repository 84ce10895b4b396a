"""The head of an endpoint's request where a trusted proxy has said who the client is."""

from __future__ import annotations

from balancer.http.messages import RequestHead
from balancer.http.origin import Origin
from balancer.http.streams import Outgoing
from balancer.http1.fields import endpoint_request_head
from balancer.model.entry_points import HTTP
from tests.messages import PLAIN, request_head


def to_endpoint(head: RequestHead, origin: Origin) -> list[bytes]:
    return endpoint_request_head(Outgoing(head, origin)).split(b"\r\n")


def test_what_a_trusted_proxy_said_is_passed_on() -> None:
    origin = Origin(peer="1.2.3.4", entry_point=HTTP, port=1234)
    origin.scheme, origin.host, origin.forwarded_for = b"myproto", b"other.test:81", b"1.2.3.4, 10.0.0.1"
    fields = (
        (b"x-forwarded-for", b"1.2.3.4"),
        (b"x-forwarded-host", b"other.test:81, evil.test"),
        (b"x-a", b"1"),
    )
    head = request_head(fields=fields)
    lines = to_endpoint(head, origin)
    assert lines[1] == b"Host: other.test:81"
    assert sorted(line for line in lines if line.lower().startswith(b"x-")) == [
        b"X-Forwarded-For: 1.2.3.4, 10.0.0.1",
        b"X-Forwarded-Host: other.test:81",
        b"X-Forwarded-Port: 1234",
        b"X-Forwarded-Proto: myproto",
        b"X-Forwarded-Scheme: myproto",
        b"X-Original-Forwarded-For: 1.2.3.4",
        b"X-Original-Forwarded-Host: other.test:81, evil.test",
        b"X-Real-IP: 1.2.3.4",
        b"X-Scheme: myproto",
        b"x-a: 1",
    ]
    assert b"X-Forwarded-Host: a" in to_endpoint(head, PLAIN)  # nothing of it is kept with the fields
