"""The JSON line of an ordinary request says the same as the line of its record, whatever clients send."""

from __future__ import annotations

import json
import time
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from balancer.http.messages import HTTP_1_1, HTTP_2_0, Fields, Repeated, RequestHead
from balancer.http.origin import Origin
from balancer.logs.accesslines import FIELD_CHARACTERS_MAX, AccessLogFormat, FailedAttempt, JsonLine, line_format
from balancer.logs.tracing.spans import SpanContext
from balancer.model.entry_points import HTTP
from balancer.picking.backend import BackendRuntime
from balancer.picking.members import Foretold
from balancer.proxy.account import Account
from balancer.proxy.lines import ordinary_line, record_of
from tests import builders
from tests.matches import destination

BYTES = st.binary(max_size=40)
UNDER_A_SECOND, SIZES = st.floats(0, 0.999999), st.integers(0, 2**60)
TRACE = (b"traceparent", b"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00")


def head(target: bytes = b"/", fields: Fields = (), protocol: str = HTTP_1_1) -> RequestHead:
    return RequestHead(
        method=b"GET",
        authority=b"shop.test",
        host_name=b"shop.test",
        path=b"/",
        target=target,
        raw_target=target,
        fields=fields,
        body_bytes=0,
        expects_continue=False,
        upgrade=b"",
        protocol=protocol,
        head_bytes=85,
        repeated=Repeated(fields),
    )


def account_of(request: RequestHead, client: str = "192.0.2.7") -> Account:
    """The account of a request that the only endpoint has answered."""
    runtime = BackendRuntime.fresh(
        builders.backend(of=[builders.endpoint("10.0.0.2", zone="zone-b")]),
        own_zone=builders.own_zone("zone-a"),
        random_below=lambda _: 0,
    )
    account = Account(client, request, time.perf_counter())
    account.destination, account.pick = destination(builders.route()), runtime.balancer().pick()
    account.request_id, account.tried = request.repeated.request_id or b"0" * 32, ("10.0.0.2:80",)
    account.endpoint_seconds, account.endpoint_status, account.status = 0.25, 200, 200
    return account


def ordinary(account: Account, seconds: float = 0.5) -> list[tuple[str, Any]]:
    """The fields of the ordinary line, in order."""
    assert account.pick is not None
    note = account.pick.note
    note.from_zone, note.status = "zone-a", account.status
    note.way, note.names = "", ""
    first = fields_of(ordinary_line(JsonLine(), account, seconds))
    composed = fields_of(ordinary_line(JsonLine(), account, seconds))
    noted = fields_of(ordinary_line(JsonLine(), account, seconds))
    assert first == composed == noted
    return noted


def recorded(account: Account, seconds: float = 0.5) -> list[tuple[str, Any]]:
    """The fields of the line of the record, in order."""
    line_of = line_format(AccessLogFormat.JSON)
    assert line_of is not None
    return fields_of(line_of(record_of(account, "zone-a", seconds)))


def of_the_head(line: bytes) -> tuple[bytes, bytes]:
    """The parts of a line that follow from the head alone."""
    return line[line.index(b'"client"') : line.index(b',"bytes_in"')], line[line.rindex(b',"head_bytes"') :]


def fields_of(line: bytes) -> list[tuple[str, Any]]:
    assert line.endswith(b"\n") and line.count(b"\n") == 1
    pairs: list[tuple[str, Any]] = json.loads(line, object_pairs_hook=list)
    return [("time", "then"), *pairs[1:]]


@given(
    BYTES,
    st.tuples(BYTES, BYTES, BYTES),
    st.text(max_size=20).filter(str.isprintable),
    st.sampled_from([HTTP_1_1, HTTP_2_0]),
)
def test_the_ordinary_line_says_what_the_record_says(
    target: bytes, values: tuple[bytes, bytes, bytes], client: str, protocol: str
) -> None:
    fields = (*zip((b"user-agent", b"referer", b"x-request-id"), values, strict=True), TRACE)
    account = account_of(head(target, fields, protocol), client)
    assert ordinary(account) == recorded(account)


@pytest.mark.large
@pytest.mark.parametrize("place", range(4))
def test_every_octet_is_written_with_the_bytes_of_the_record(place: int) -> None:
    line_of = line_format(AccessLogFormat.JSON)
    assert line_of is not None
    for octet in range(256):
        texts = [b"plain"] * 4
        texts[place] = b"a%bb" % bytes([octet])
        fields = ((b"user-agent", texts[1]), (b"referer", texts[2]), (b"user-agent", b"a second one"))
        account = account_of(head(b"/" + texts[0], fields), texts[3].decode("latin-1"))
        ordinary(account)  # notes what the line needs
        line, record = ordinary_line(JsonLine(), account, 0.5), line_of(record_of(account, "zone-a", 0.5))
        assert of_the_head(line) == of_the_head(record)


@given(UNDER_A_SECOND, UNDER_A_SECOND, SIZES, SIZES, st.integers(200, 599))
def test_numbers_are_those_of_the_record(
    seconds: float, endpoint_seconds: float, sent: int, received: int, status: int
) -> None:
    account = account_of(head())
    account.endpoint_seconds, account.endpoint_status, account.status = endpoint_seconds, status, status
    account.request_bytes, account.response_bytes = sent, received
    assert ordinary(account, seconds) == recorded(account, seconds)


def test_what_is_remembered_with_the_fields_is_of_no_other_request() -> None:
    first, fields = head(b"/first"), Repeated(())
    first = msgspec.structs.replace(first, repeated=fields)
    second = msgspec.structs.replace(first, raw_target=b"/second")
    third = msgspec.structs.replace(second, method=b"PUT", head_bytes=90)
    fourth = msgspec.structs.replace(third, protocol=HTTP_2_0, head_bytes=91)
    here, there = "192.0.2.1", "192.0.2.2"
    for request, client in ((first, here), (second, here), (third, here), (fourth, here), (fourth, there)):
        account = account_of(request, client)
        assert ordinary(account) == recorded(account)


@given(st.integers(0, 999), st.booleans())
def test_a_call_of_grpc_has_its_status_last(status: int, is_traced: bool) -> None:
    account = account_of(head(fields=(TRACE,) if is_traced else ()))
    account.grpc_status = status
    assert ordinary(account) == recorded(account)


def test_a_route_without_a_port_has_none_in_its_line() -> None:
    account = account_of(head())
    account.destination = destination(builders.route(to=None))
    assert ordinary(account) == recorded(account)
    account.destination = destination(builders.route(to="shop/cart:http"))
    assert ("service_port", "http") in ordinary(account)


def is_ordinary(account: Account, seconds: float = 0.5) -> bool:
    assert account.pick is not None
    account.pick.note.status = 200
    return ordinary_line(JsonLine(), account, seconds) != b""


@pytest.mark.parametrize("characters", [1000, 2047, 2048, 5000])
def test_a_line_that_may_hold_too_long_a_field_is_that_of_the_record(characters: int) -> None:
    account = account_of(head())
    assert ordinary(account) == recorded(account)
    assert account.request is not None
    account.request = msgspec.structs.replace(account.request, raw_target=b"/" + b"x" * characters)
    assert is_ordinary(account) is (characters < 2000)
    assert ordinary(account) == recorded(account)


def test_a_line_is_ordinary_up_to_the_most_bytes() -> None:
    account = account_of(head())
    ordinary(account)
    sizes = []
    for characters in range(1000, FIELD_CHARACTERS_MAX):
        account.request = head(b"/" + b"x" * characters)
        sizes.append(len(ordinary_line(JsonLine(), account, 0.5)))
    written = sizes.index(0)
    assert sizes[:written] == list(range(sizes[0], FIELD_CHARACTERS_MAX + 1))
    assert not any(sizes[written:])


@pytest.mark.parametrize(("seconds", "endpoint_seconds"), [(1.0, 0.5), (2.0, 2.0), (0.5, 0.9999996)])
def test_a_slow_request_is_not_ordinary(seconds: float, endpoint_seconds: float) -> None:
    account = account_of(head())
    account.endpoint_seconds = endpoint_seconds
    assert not is_ordinary(account, seconds)


def with_a_failed_attempt(account: Account) -> None:
    account.failed_attempts = (FailedAttempt(status=502, duration=0.1),)


def with_a_span(account: Account) -> None:
    account.span = SpanContext("f" * 32, "f" * 16, "", True, operation="", origin=Origin(peer="", entry_point=HTTP))


def in_a_dry_run(account: Account) -> None:
    assert account.pick is not None
    account.pick = account.pick.foretelling(Foretold(account.pick.reason, account.pick.tariff, account.pick.locality))


def without_an_answer(account: Account) -> None:
    account.endpoint_status = None


@pytest.mark.parametrize(
    "change",
    [
        with_a_failed_attempt,
        with_a_span,
        without_an_answer,
        in_a_dry_run,
    ],
)
def test_what_has_rare_fields_is_not_ordinary(change: Any) -> None:
    account = account_of(head())
    assert is_ordinary(account)
    change(account)
    assert not is_ordinary(account)
