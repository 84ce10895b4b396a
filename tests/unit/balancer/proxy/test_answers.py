"""What the proxy itself says: what ends a request has an answer, and no answer tells what went wrong inside."""

from __future__ import annotations

import json

import pytest

from balancer.errors import ErrorKind
from balancer.http.grpc import status_for
from balancer.matching.gates.verdicts import Reply
from balancer.proxy.answers import ANSWERS, Answer, Response, error_response, grpc_response, reply_response

DATE = b"Sun, 06 Nov 1994 08:49:37 GMT"


def written(answer: Answer, *, accept: bytes = b"*/*", head_only: bool = False) -> Response:
    return error_response(answer, accept=accept, head_only=head_only, date=DATE)


def parsed(response: Response) -> tuple[int, dict[bytes, bytes], bytes]:
    """Status, fields and body; the head says where the body ends."""
    assert response.head.fields == ()
    assert response.head.body_bytes == len(response.body)
    return response.head.status, dict(response.fields), response.body


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        (ErrorKind.BAD_REQUEST, 400),
        (ErrorKind.SOURCE_DENIED, 403),
        (ErrorKind.AUTH_UNAVAILABLE, 500),
        (ErrorKind.NO_ROUTE, 404),
        (ErrorKind.METHOD_NOT_ALLOWED, 405),
        (ErrorKind.REQUEST_TIMEOUT, 408),
        (ErrorKind.BODY_TOO_LARGE, 413),
        (ErrorKind.TARGET_TOO_LONG, 414),
        (ErrorKind.EXPECTATION_FAILED, 417),
        (ErrorKind.HEAD_TOO_LARGE, 431),
        (ErrorKind.CLIENT_LEFT, 499),
        (ErrorKind.CONNECT_REFUSED, 502),
        (ErrorKind.ENDPOINT_CLOSED, 502),
        (ErrorKind.INVALID_RESPONSE, 502),
        (ErrorKind.ENDPOINT_REFUSED, 502),
        (ErrorKind.NO_BACKEND, 503),
        (ErrorKind.BACKEND_INVALID, 500),
        (ErrorKind.PATH_CLOSED, 503),
        (ErrorKind.NO_ENDPOINT, 503),
        (ErrorKind.OVERLOADED, 503),
        (ErrorKind.CONNECT_TIMEOUT, 504),
        (ErrorKind.ENDPOINT_TIMEOUT, 504),
        (ErrorKind.CALL_TIMEOUT, 504),
    ],
)
def test_each_error_has_its_status(kind: ErrorKind, status: int) -> None:
    assert ANSWERS[kind].status == status


def test_every_error_that_may_end_a_request_is_answered() -> None:
    broken_off = {ErrorKind.INTERNAL, ErrorKind.UNREAD}
    with_answers_of_their_own = {ErrorKind.PASSED_OVER, ErrorKind.AUTH_DENIED, ErrorKind.HOOK_DENIED}
    assert set(ANSWERS) == set(ErrorKind) - broken_off - with_answers_of_their_own


def test_what_leaves_the_connection_in_doubt_closes_it() -> None:
    faults_of_the_client = {kind for kind, answer in ANSWERS.items() if 400 <= answer.status < 500}
    go_on = {
        ErrorKind.NO_ROUTE,
        ErrorKind.SOURCE_DENIED,
        ErrorKind.CLIENT_BLOCKED,
        ErrorKind.UNAUTHORIZED,
        ErrorKind.CERTIFICATE_REFUSED,
        ErrorKind.CERTIFICATE_DENIED,
    }
    assert {kind for kind in faults_of_the_client if not ANSWERS[kind].close} == go_on


@pytest.mark.parametrize("answer", [answer for answer in ANSWERS.values() if answer.status != 499])
def test_an_answer_is_a_whole_response(answer: Answer) -> None:
    status, fields, body = parsed(written(answer))
    assert status == answer.status
    assert body
    assert fields[b"Date"] == DATE
    assert fields[b"Content-Type"] == b"text/html"
    assert b"Connection" not in fields
    assert b"Server" not in fields
    assert str(answer.status).encode() in body


def test_head_is_answered_with_the_length_of_the_body_it_does_not_get() -> None:
    with_body, without = written(ANSWERS[ErrorKind.NO_ROUTE]), written(ANSWERS[ErrorKind.NO_ROUTE], head_only=True)
    assert without.body == b""
    assert without.head.body_bytes == 0
    assert without.fields == (*with_body.fields, (b"Content-Length", b"%d" % len(with_body.body)))


@pytest.mark.parametrize("accept", [b"application/json", b"text/plain, Application/JSON;q=0.9"])
def test_json_is_given_to_those_who_ask_for_it(accept: bytes) -> None:
    _, fields, body = parsed(written(ANSWERS[ErrorKind.NO_ENDPOINT], accept=accept))
    assert fields[b"Content-Type"] == b"application/json"
    assert json.loads(body) == {"status": 503, "error": "Service Unavailable"}


def test_405_names_what_is_allowed_and_503_when_to_come_back() -> None:
    assert b"GET" in parsed(written(ANSWERS[ErrorKind.METHOD_NOT_ALLOWED]))[1][b"Allow"]
    assert parsed(written(ANSWERS[ErrorKind.NO_ENDPOINT]))[1][b"Retry-After"] == b"1"


@pytest.mark.parametrize(
    ("status", "grpc_status"),
    [
        (400, 13),
        (401, 16),
        (403, 7),
        (404, 12),
        (413, 8),
        (429, 8),
        (500, 13),
        (502, 14),
        (503, 14),
        (504, 4),
        (418, 2),
    ],
)
def test_clients_of_grpc_are_told_in_a_head_that_is_the_whole_response(status: int, grpc_status: int) -> None:
    response = grpc_response(reply_response(Reply(status), head_only=False, date=DATE), status_for(status))
    fields = dict(response.fields)
    assert (response.head.status, response.body, response.head.body_bytes) == (200, b"", 0)
    assert len(fields) == len(response.fields)
    assert fields[b"Content-Type"] == b"application/grpc"
    assert fields[b"Grpc-Status"] == b"%d" % grpc_status
    assert fields[b"Grpc-Message"].isascii()
    assert fields[b"Date"] == DATE


REDIRECT = Reply(308, ((b"Location", b"https://a/"),))


def test_a_redirect_is_permanent_and_keeps_the_method() -> None:
    status, fields, body = parsed(reply_response(REDIRECT, head_only=False, date=DATE))
    assert status == 308
    assert fields[b"Location"] == b"https://a/"
    assert b"308 Permanent Redirect" in body


def test_a_reply_with_a_body_says_of_what_kind_it_is() -> None:
    reply = Reply(401, ((b"Content-Type", b"text/plain"), (b"WWW-Authenticate", b"Basic")), b"who?")
    status, fields, body = parsed(reply_response(reply, head_only=False, date=DATE))
    assert (status, body) == (401, b"who?")
    assert (fields[b"Content-Type"], fields[b"WWW-Authenticate"]) == (b"text/plain", b"Basic")
