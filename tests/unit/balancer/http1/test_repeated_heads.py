"""A request head that repeats the last one, or its request line, means what it would mean on a fresh connection."""

from __future__ import annotations

import pytest

from balancer.http.memos import Memo
from balancer.http.messages import RequestHead
from balancer.http.origin import Origin
from balancer.http.passing import passing
from balancer.http.streams import Outgoing
from balancer.http1.fields import endpoint_request_head
from balancer.http1.heads import RequestHeadReader
from balancer.model.entry_points import HTTP
from balancer.model.settings import ProxySettings
from balancer.runtime.build import COMPILED, build

SETTINGS = ProxySettings()
LINES = b" HTTP/1.1\r\nHost: app.test\r\nAccept: */*\r\n\r\n"


def said(head: RequestHead) -> list[object]:
    return [getattr(head, name) for name in head.__struct_fields__ if name != "repeated"]


def test_the_same_bytes_are_the_same_head_again() -> None:
    reader = RequestHeadReader(SETTINGS)
    first = reader.read(b"GET /%61" + LINES)
    assert reader.recognise(b"GET /%61" + LINES) is first
    other = reader.recognise(b"GET /b" + LINES)
    assert other is not None
    assert other is not first
    assert reader.recognise(b"GET /b" + LINES) is other


@pytest.mark.parametrize("line", [b"GET /a?b", b"POST /%61//b/../c?d"])
def test_the_same_request_line_before_other_fields_means_the_same(line: bytes) -> None:
    reader = RequestHeadReader(SETTINGS)
    for lines in (LINES, LINES.replace(b"*", b"text"), LINES.replace(b"app", b"shop")):
        assert said(reader.read(line + lines)) == said(RequestHeadReader(SETTINGS).read(line + lines))


def test_lines_without_a_request_line_are_not_recognised() -> None:
    reader = RequestHeadReader(SETTINGS)
    reader.read(b"GET /" + LINES)
    assert reader.recognise(LINES.removeprefix(b" HTTP/1.1")) is None


HOST, AGENT, COOKIE = b"Host: app.test", b"User-Agent: x", b"Cookie: a=1"
ACCEPT = b"Accept: " + b", ".join([b"*/*"] * 80)  # with it, lines are enough to be compared in every build


def whole(*lines: bytes, line: bytes = b"GET /a HTTP/1.1") -> bytes:
    return b"".join(text + b"\r\n" for text in (line, *lines)) + b"\r\n"


@pytest.mark.parametrize(
    "other",
    [
        whole(HOST, AGENT, b"Cookie: a=2", ACCEPT),
        whole(HOST, AGENT, b"Cookie: a=2", ACCEPT, line=b"POST /b?c HTTP/1.1"),
        whole(HOST, AGENT, ACCEPT),
        whole(HOST, AGENT, COOKIE, b"Dnt: 1", ACCEPT),
        whole(b"Host: shop.test", AGENT, COOKIE, ACCEPT),
        whole(HOST, AGENT, COOKIE, b"Connection: close", ACCEPT),
        whole(HOST, AGENT, b"Content-Length: 3", ACCEPT),
        whole(HOST, AGENT, b"X-Request-ID: 1", ACCEPT),
    ],
)
def test_a_head_with_other_lines_is_recognised_and_means_what_it_would_mean_alone(other: bytes) -> None:
    reader, fresh = RequestHeadReader(SETTINGS), RequestHeadReader(SETTINGS)
    reader.read(whole(HOST, AGENT, COOKIE, ACCEPT))
    recognised, alone = reader.recognise(other), fresh.read(other)
    assert recognised is not None
    assert said(recognised) == said(alone)
    assert recognised.repeated.request_id == alone.repeated.request_id
    assert recognised.repeated.connection_options == alone.repeated.connection_options
    assert reader.keep_alive == fresh.keep_alive


@pytest.mark.parametrize(
    "other",
    [
        whole(HOST, AGENT, b"Cookie: a\n=2", ACCEPT),
        whole(HOST, AGENT, b" folded", ACCEPT),
        whole(HOST, AGENT, b"", ACCEPT),
        whole(HOST, AGENT, b"no field", ACCEPT),
        whole(HOST, HOST, COOKIE, ACCEPT),
        whole(HOST, AGENT, b"Cookie: a=2", ACCEPT) + b"body",
        whole(HOST, AGENT, b"Cookie: a=2", ACCEPT)[:-1],
        whole(HOST, AGENT, b"Cookie: a=2", ACCEPT, line=b"GET /\0 HTTP/1.1"),
        whole(HOST, AGENT, b"Cookie: a=2", ACCEPT, line=b""),
        whole(HOST, *(b"X: 1" for _ in range(SETTINGS.head_lines_max)), ACCEPT),
    ],
)
def test_what_is_no_head_is_not_recognised(other: bytes) -> None:
    reader = RequestHeadReader(SETTINGS)
    reader.read(whole(HOST, AGENT, COOKIE, ACCEPT))
    assert reader.recognise(other) is None


def test_few_lines_are_read_again_where_comparing_them_takes_longer() -> None:
    reader = RequestHeadReader(SETTINGS)
    reader.read(whole(HOST, AGENT))
    recognised = reader.recognise(whole(HOST, COOKIE))
    assert (recognised is not None) is (build() == COMPILED)


FORWARDED = b"X-Forwarded-Proto: https"
MANY = (HOST, AGENT, COOKIE, b"Under_score: 1", ACCEPT, FORWARDED, b"Referer: /", b"Connection: keep-alive")


def onward(request: RequestHead, *, trusts: bool = False) -> bytes:
    origin = Origin(peer="192.0.2.1", entry_point=HTTP)
    return endpoint_request_head(Outgoing(request, origin, passing=passing(trusts=trusts)))


def test_many_heads_with_other_values_mean_what_each_would_mean_alone() -> None:
    reader = RequestHeadReader(SETTINGS)
    known = reader.read(whole(*MANY))
    for number in range(60):
        changing = [place for place in range(1, 7) if number % (place + 1) == 0]
        lines = [b"%b%b" % (text, b"x" * (number % 7)) if at in changing else text for at, text in enumerate(MANY)]
        head = whole(*lines, line=b"GET /a/%d HTTP/1.1" % (number // 3))
        recognised, alone = reader.recognise(head), RequestHeadReader(SETTINGS).read(head)
        assert recognised is not None
        assert said(recognised) == said(alone)
        assert onward(recognised) == onward(alone)
        # What an endpoint gets from a trusted proxy is kept with the fields until another client has the same.
        assert onward(recognised, trusts=True) == onward(alone, trusts=True)
    assert known.fields[:2] == ((b"user-agent", b"x"), (b"cookie", b"a=1"))


def number_field(value: bytes, *, behind: bytes = b"Dnt: 1") -> bytes:
    return whole(HOST, b"Under_score: 1", ACCEPT, b"X-Number: " + value, behind)


def test_one_line_that_always_differs_is_read_each_time_as_alone() -> None:
    reader = RequestHeadReader(SETTINGS)
    known = reader.read(number_field(b"1"))
    known.repeated.logged = Note()
    values = (b"2", b"30", b"30 ", b"", b"\t4\x80", b"5", b"60" * 20, b"7")
    for value in values:
        for head in (number_field(value), number_field(value).replace(b"/a", b"/" + value[:1].strip())):
            recognised, alone = reader.recognise(head), RequestHeadReader(SETTINGS).read(head)
            assert recognised is not None
            assert said(recognised) == said(alone)
            assert onward(recognised) == onward(alone)
            assert recognised.repeated.logged is not None
            assert reader.keep_alive
    assert known.fields[2] == (b"x-number", b"1")


@pytest.mark.parametrize(
    "head",
    [
        number_field(b"3\0"),
        number_field(b"3\r"),
        number_field(b"3\nX: 1"),
        number_field(b"3\r\n X: 1"),
        number_field(b"3").replace(b"X-Number:", b"X-Number :"),
        number_field(b"3").replace(b"X-Number:", b"X-Number"),
        number_field(b"3")[:-2],
        number_field(b"3", behind=b"Dnt: 1\0"),
        number_field(b"3").replace(b" HTTP/1.1", b" HTTP/1.1 "),
    ],
)
def test_a_head_that_is_none_is_not_recognised_where_one_line_always_differs(head: bytes) -> None:
    reader = RequestHeadReader(SETTINGS)
    reader.read(number_field(b"1"))
    assert reader.recognise(number_field(b"2")) is not None
    assert reader.recognise(head) is None


@pytest.mark.parametrize(
    "head",
    [
        number_field(b"3\r\nX-Other: 1"),
        number_field(b"3\r\nContent-Length: 4"),
        number_field(b"3").replace(b"X-Number", b"X-numbeR"),
        number_field(b"3").replace(b"X-Number", b"X-Number-Two"),
        number_field(b"3").replace(b"X-Number", b"Referer"),
        number_field(b"3", behind=b"Dnt: 2"),
        number_field(b"3").replace(b"app.test", b"shop.test"),
        whole(HOST, b"Under_score: 1", ACCEPT, b"Dnt: 1"),
        number_field(b"x" * 4096),
    ],
)
def test_where_one_line_always_differed_another_difference_means_what_it_means_alone(head: bytes) -> None:
    reader = RequestHeadReader(SETTINGS)
    reader.read(number_field(b"1"))
    for other in (number_field(b"2"), head, number_field(b"4"), number_field(b"5"), head):
        recognised, alone = reader.recognise(other), RequestHeadReader(SETTINGS).read(other)
        assert recognised is not None
        assert said(recognised) == said(alone)
        assert onward(recognised) == onward(alone)


def test_fields_that_connection_names_end_here_in_heads_with_other_values() -> None:
    reader, hop, options = RequestHeadReader(SETTINGS), b"X-Hop: 1", b"Connection: keep-alive, x-hop"
    assert b"X-Hop" not in onward(reader.read(whole(HOST, hop, options, ACCEPT)))
    other = reader.recognise(whole(HOST, hop, options, b"Accept: text/html"))
    assert other is not None
    assert b"text/html" in onward(other)
    assert b"X-Hop" not in onward(other)


class Note(Memo):
    """What the access log keeps."""

    __slots__ = ()


@pytest.mark.parametrize(
    ("other", "is_kept"),
    [
        (whole(HOST, AGENT, b"Cookie: a=2", ACCEPT), True),
        (whole(HOST, b"User-Agent: y", COOKIE, ACCEPT), False),
        (whole(HOST, AGENT, b"Referer: y", ACCEPT), False),
        (whole(HOST, AGENT, b"X-Request-ID: 1", ACCEPT), False),
        (whole(HOST, COOKIE, ACCEPT), False),
        (whole(b"Host: shop.test", AGENT, COOKIE, ACCEPT), False),
    ],
)
def test_the_note_of_the_access_log_stays_where_it_says_the_same(other: bytes, is_kept: bool) -> None:
    reader = RequestHeadReader(SETTINGS)
    reader.read(whole(HOST, AGENT, COOKIE, ACCEPT)).repeated.logged = Note()
    recognised = reader.recognise(other)
    assert recognised is not None
    assert (recognised.repeated.logged is not None) is is_kept
