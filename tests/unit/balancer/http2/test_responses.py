"""Responses of endpoints, and as clients get them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from balancer.errors import ErrorKind, Refusal
from balancer.http.edits import HeadEdit
from balancer.http.messages import HTTP_1_1, Fields, ResponseHead
from balancer.http1.fields import client_response_head
from balancer.http1.responses import ResponseHeadReader
from balancer.http2.responses import ResponseReader, client_fields, interim_fields

NO_EDIT = HeadEdit()


def response(
    *fields: tuple[bytes, bytes], status: bytes = b"200", method: bytes = b"GET", ends: bool = False
) -> ResponseHead:
    return ResponseReader().read(((b":status", status), *fields), method, ends)


@pytest.mark.parametrize(
    ("status", "method", "length", "ends", "body_bytes"),
    [
        (b"200", b"GET", None, False, None),
        (b"200", b"GET", b"5", False, 5),
        (b"200", b"GET", None, True, 0),
        (b"200", b"GET", b"0", False, 0),
        (b"200", b"HEAD", b"5", True, 0),
        (b"304", b"GET", b"5", True, 0),
        (b"204", b"GET", None, True, 0),
        (b"103", b"GET", None, False, 0),
    ],
)
def test_the_length_of_a_body(
    status: bytes, method: bytes, length: bytes | None, ends: bool, body_bytes: int | None
) -> None:
    lengths = () if length is None else ((b"content-length", length),)
    assert response(*lengths, status=status, method=method, ends=ends).body_bytes == body_bytes


@pytest.mark.parametrize(
    ("fields", "ends"),
    [
        ((), True),
        (((b"x-a", b"1"), (b":status", b"200")), True),
        (((b":status", b"2000"),), True),
        (((b":status", b"600"),), True),
        (((b":status", b"101"),), False),
        (((b":status", b"200"), (b":status", b"200")), True),
        (((b":status", b"200"), (b"connection", b"close")), True),
        (((b":status", b"200"), (b"Server", b"x")), True),
        (((b":status", b"200"), (b"content-length", b"5")), True),
        (((b":status", b"200"), (b"content-length", b"5"), (b"content-length", b"5")), False),
    ],
)
def test_a_response_that_is_malformed_or_ambiguous_is_refused(fields: Fields, ends: bool) -> None:
    with pytest.raises(Refusal) as refused:
        ResponseReader().read(fields, b"GET", ends)
    assert refused.value.kind is ErrorKind.INVALID_RESPONSE


def test_a_client_gets_the_status_the_fields_and_what_the_edit_adds() -> None:
    head = response((b"server", b"x"), (b"etag", b"y"), (b"content-length", b"5"))
    edit = HeadEdit(frozenset((b"server",)), ((b"X-Added", b"1"),))
    expected = ((b":status", b"200"), (b"etag", b"y"), (b"content-length", b"5"), (b"x-added", b"1"))
    assert client_fields(head, edit) == expected
    assert client_fields(head, edit) is client_fields(head, edit)
    assert client_fields(head, NO_EDIT) == (
        (b":status", b"200"),
        (b"server", b"x"),
        (b"etag", b"y"),
        (b"content-length", b"5"),
    )


def test_what_an_http1_endpoint_says_of_its_connection_ends_here() -> None:
    lines = (
        b"HTTP/1.1 426 X\r\nConnection: X-Hop, Upgrade\r\nX-Hop: 1\r\nUpgrade: a\r\nKeep-Alive: 5\r\nX-Kept: 1\r\n\r\n"
    )
    assert client_fields(ResponseHeadReader().read(lines, b"GET"), NO_EDIT) == ((b":status", b"426"), (b"x-kept", b"1"))


def test_lengths_that_announce_a_body_that_is_left_out_pass() -> None:
    head = ResponseHeadReader().read(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", b"HEAD")
    assert client_fields(head, NO_EDIT) == ((b":status", b"200"), (b"content-length", b"5"))
    assert client_fields(response((b"content-length", b"5"), method=b"HEAD", ends=True), NO_EDIT)[1:] == (
        (b"content-length", b"5"),
    )


def test_an_interim_response_says_nothing_of_the_software() -> None:
    head = response((b"server", b"x"), (b"link", b"y"), status=b"103")
    assert interim_fields(head) == ((b":status", b"103"), (b"link", b"y"))


def test_a_response_of_http2_goes_to_an_http1_client() -> None:
    head = response((b"etag", b"y"), (b"content-length", b"5"))
    written = client_response_head(head, HTTP_1_1, False, True, NO_EDIT)
    assert written == b"HTTP/1.1 200 OK\r\netag: y\r\nContent-Length: 5\r\n\r\n"
    assert client_response_head(head, HTTP_1_1, False, True, NO_EDIT) is written


RESPONSES = st.tuples(
    st.lists(st.tuples(st.sampled_from([b"etag", b"content-length"]), st.sampled_from([b"0", b"5", b"x"])), max_size=2),
    st.sampled_from([b"200", b"204", b"304", b"103"]),
    st.sampled_from([b"GET", b"HEAD"]),
    st.booleans(),
)


def facts(reader: ResponseReader, fields: Fields, method: bytes, ends: bool, edit: HeadEdit) -> object:
    try:
        head = reader.read(fields, method, ends)
    except Refusal as refusal:
        return type(refusal)
    return head.status, head.fields, head.body_bytes, client_fields(head, edit)


@given(st.lists(RESPONSES, max_size=10), st.data())
def test_nothing_of_one_response_reaches_another(
    responses: list[tuple[list[tuple[bytes, bytes]], bytes, bytes, bool]], data: st.DataObject
) -> None:
    edits = (NO_EDIT, HeadEdit(frozenset((b"etag",)), ((b"X-A", b"1"),)))
    remembering = ResponseReader()
    for fields, status, method, ends in [each for response in responses for each in (response, response)]:
        edit = data.draw(st.sampled_from(edits))
        whole = ((b":status", status), *fields)
        assert facts(remembering, whole, method, ends, edit) == facts(ResponseReader(), whole, method, ends, edit)


def test_trailers_are_remembered_and_those_that_may_not_go_on_end_here() -> None:
    reader = ResponseReader()
    for status in (b"0", b"0", b"14", b"0"):
        fields = ((b"grpc-status", status), (b"content-length", b"5"))
        assert reader.trailers(fields) == ((b"grpc-status", status),)
    assert reader.trailers(()) == ()


def test_malformed_trailers_are_refused_each_time() -> None:
    reader = ResponseReader()
    for _ in range(2):
        with pytest.raises(Refusal):
            reader.trailers(((b"grpc-status", b"0"), (b"connection", b"close")))
