"""Fields that are replaced: no line by such a name is left of what a client or the proxy says, and no other is lost."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from balancer.http.looping import LOOP_FIELDS
from balancer.http.messages import RequestHead
from balancer.http.streams import Outgoing
from balancer.http1.fields import endpoint_request_head
from balancer.http1.heads import RequestHeadReader
from balancer.model.settings import ProxySettings
from tests.messages import PLAIN

_ID = b"0123456789abcdef0123456789abcdef"
_RENAMED = (b"X-Forwarded-For: 192.0.2.9", b"X-Forwarded-Host: other.test")
_NAMES = st.sampled_from([b"X-Tenant", b"x-tenant", b"X-Tenant-Id", b"X-TEAM", b"Accept", b"A", b"X-Forwarded-For"])


def request(*lines: bytes) -> RequestHead:
    head = b"\r\n".join((b"GET /x-tenant: HTTP/1.1", b"Host: app.test", *lines))
    return RequestHeadReader(ProxySettings()).read(head + b"\r\n\r\n")


def lines_of(head: RequestHead, replaced: frozenset[bytes] = frozenset()) -> list[bytes]:
    written = endpoint_request_head(Outgoing(head, PLAIN, _ID, replaced=replaced))
    return written.removesuffix(b"\r\n\r\n").split(b"\r\n")


def name_of(line: bytes) -> bytes:
    return line.partition(b":")[0].lower()


OWN = [name_of(line) for line in lines_of(request(*_RENAMED))[1:]]


@pytest.mark.parametrize("name", [each for each in OWN if each not in LOOP_FIELDS], ids=bytes.decode)
def test_every_line_of_the_proxy_can_be_replaced(name: bytes) -> None:
    head = request(*_RENAMED)
    assert lines_of(head, frozenset((name,))) == [line for line in lines_of(head) if name_of(line) != name]


def test_what_keeps_requests_from_going_round_is_never_replaced() -> None:
    assert LOOP_FIELDS & set(OWN)
    assert lines_of(request(), LOOP_FIELDS) == lines_of(request())


@given(
    st.lists(st.tuples(_NAMES, st.sampled_from([b"1", b"x-tenant: 2", b":"])), max_size=8),
    st.frozensets(st.one_of(_NAMES.map(bytes.lower), st.sampled_from([b"x-real-ip", b"host", b"x-none"]))),
)
def test_lines_are_left_out_by_their_whole_name_alone(
    fields: list[tuple[bytes, bytes]], names: frozenset[bytes]
) -> None:
    head = request(*(b"%b: %b" % field for field in fields))
    first, *others = lines_of(head)
    assert lines_of(head, names) == [first, *(line for line in others if name_of(line) not in names)]
