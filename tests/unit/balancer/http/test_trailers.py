"""No trailer says what the head must not say."""

from __future__ import annotations

from typing import Any

import pytest

from balancer.http.messages import RequestHead
from balancer.http.origin import Origin
from balancer.http.passing import passing
from balancer.http.streams import Outgoing
from balancer.http.trailers import trailers_for_client, trailers_for_endpoint
from balancer.http1.heads import RequestHeadReader
from balancer.model.entry_points import HTTP
from balancer.model.settings import ProxySettings

ORIGIN = Origin(peer="192.0.2.9", entry_point=HTTP)


def announcing(*names: bytes) -> RequestHead:
    lines = b"".join(b"Trailer: %b\r\n" % name for name in names)
    head = b"POST / HTTP/1.1\r\nHost: app.test\r\n%bTransfer-Encoding: chunked\r\n\r\n" % lines
    return RequestHeadReader(ProxySettings()).read(head)


def passed(request: RequestHead, *names: bytes, **decided: Any) -> list[bytes]:
    outgoing = Outgoing(request, ORIGIN, **decided)
    return [name for name, _ in trailers_for_endpoint(tuple((name, b"1") for name in names), outgoing)]


def test_a_trailer_has_to_be_announced_or_one_of_grpc() -> None:
    assert passed(announcing(b"X-A, x-b", b"X-C"), b"X-a", b"X-B", b"x-c") == [b"X-a", b"X-B", b"x-c"]
    assert passed(announcing(), b"X-A", b"grpc-status", b"Grpc-Message") == [b"grpc-status", b"Grpc-Message"]


@pytest.mark.parametrize("name", [b"X-User", b"x-user", b"X_User", b"x_uSER"])
def test_what_was_decided_about_the_head_is_no_trailer(name: bytes) -> None:
    request = announcing(b"X-User, X_User, X-A")
    assert passed(request, name, b"X-A", removed=frozenset((b"x-user",))) == [b"X-A"]
    assert passed(request, name, b"X-A", replaced=frozenset((b"x-user",))) == [b"X-A"]
    assert passed(request, name, b"X-A", added=((b"X-User", b"alice"),)) == [b"X-A"]
    assert passed(request, b"grpc-user", removed=frozenset((b"grpc-user",))) == []


def test_an_announced_trailer_passes_as_a_field_of_the_head_would() -> None:
    names = (b"X-Forwarded-User", b"Authorization", b"X.A", b"X_A", b"Host")
    assert passed(announcing(b", ".join(names)), *names) == []
    assert passed(announcing(b"X_A"), b"X_A", passing=passing(True)) == [b"X_A"]


def test_what_an_edit_hides_is_no_trailer_of_a_response() -> None:
    trailers = ((b"Server", b"x"), (b"x_secret", b"1"), (b"grpc-status", b"0"), (b"Server-Timing", b"db"))
    assert trailers_for_client(trailers, frozenset((b"server", b"x-secret"))) == trailers[2:]
    assert trailers_for_client(trailers, frozenset()) == trailers
