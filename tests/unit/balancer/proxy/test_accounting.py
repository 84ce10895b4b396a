"""Closing an account counts the request under its labels and writes its line, and neither tells a secret."""

from __future__ import annotations

import asyncio
import time
from itertools import count, pairwise
from typing import Any

import pytest

from balancer.errors import ErrorKind
from balancer.http.messages import RequestHead
from balancer.http.origin import Origin
from balancer.http1.heads import RequestHeadReader
from balancer.logs.accesslines import AccessLogFormat, FailedAttempt
from balancer.logs.accesslog import AccessLog
from balancer.logs.tracing.spans import SpanContext
from balancer.matching.destinations import Destination, PathCount
from balancer.metrics.definitions import (
    DRY_RUN_COST,
    DRY_RUN_DECISIONS,
    ERRORS,
    REQUEST_DURATION,
    REQUESTS,
    RESPONSES,
    ZONE_BLIND_COST,
    ZONE_BYTES,
    ZONE_COST,
    ZONE_DECISIONS,
)
from balancer.metrics.recorder import Recorder, RouteLabels
from balancer.metrics.slots import MINIMUM_BYTES, OVERFLOW, SlotTable, is_overflow, read
from balancer.model.entry_points import HTTP
from balancer.model.settings import ProxySettings
from balancer.model.zones import Zone, ZoneFacts, ZonePolicy, ZonePolicyName, ZonePrices
from balancer.picking.backend import BackendRuntime
from balancer.proxy.account import Account
from balancer.proxy.accounting import Accounting
from balancer.zones.reasons import Reason
from tests import builders
from tests.matches import destination
from tests.unit.balancer.proxy.standing import Ledger

ZONE_A, ZONE_B = Zone("zone-a"), Zone("zone-b")


def request(*fields: bytes) -> RequestHead:
    head = b"\r\n".join((b"POST /a%20b?c=\xe9 HTTP/1.1", b"Host: Shop.test:80", *fields)) + b"\r\n\r\n"
    return RequestHeadReader(ProxySettings()).read(head)


def closed(*accounts: Account, from_zone: str = "zone-a") -> tuple[Ledger, list[dict[str, Any]]]:
    """The counts and the lines of accounts."""

    async def close() -> tuple[Ledger, list[dict[str, Any]]]:
        ledger = Ledger()
        try:
            accounting = Accounting(recorder=ledger.recorder, access_log=ledger.access_log)
            for account in accounts:
                accounting.close(account, from_zone)
            return ledger, ledger.log()
        finally:
            ledger.release()

    return asyncio.run(close())  # an access log belongs to a loop


def forwarded(*fields: bytes) -> Account:
    """The account of a request that an endpoint in zone-b answered at the second attempt."""
    runtime = BackendRuntime.fresh(
        builders.backend(of=[builders.endpoint("10.0.0.2", zone="zone-b")]),
        own_zone=builders.own_zone("zone-a"),
        random_below=lambda limit: 0,
    )
    account = Account(client="192.0.2.7", request=request(*fields), started=time.perf_counter())
    account.destination = destination(builders.route())
    account.pick = runtime.balancer().pick()
    account.request_id = b"abc"
    account.tried = ("10.0.0.1:80", "10.0.0.2:80")
    account.failed_attempts = (FailedAttempt(status=None, duration=0.25),)
    account.endpoint_seconds, account.endpoint_status = 0.5, 201
    account.status, account.request_bytes, account.response_bytes = 201, 7, 11
    return account


def test_a_forwarded_request_counts_under_its_route_and_zones() -> None:
    ledger, _ = closed(forwarded())
    assert ledger.metric(REQUESTS) == {("shop", "web", "cart", "zone-a", "zone-b", "remote", "2xx"): 1}
    assert ledger.metric(ZONE_DECISIONS) == {("shop", "cart", "off"): 1}
    assert ledger.metric(ZONE_BYTES) == {
        ("shop", "cart", "zone-a", "zone-b", "request"): 7,
        ("shop", "cart", "zone-a", "zone-b", "response"): 11,
    }
    assert list(ledger.metric(REQUEST_DURATION)) == [("shop", "web", "cart", "remote")]
    assert ledger.metric(ERRORS) == {}
    assert ledger.metric(RESPONSES) == {("shop", "web", "cart", "201", ""): 1}


def test_a_request_counts_under_the_path_that_matched_whatever_becomes_of_it() -> None:
    """The answers of one path: two over one pick, one of which is an error, and a refusal without a pick."""
    route = builders.route("/cart")
    to = Destination(route, route.main, PathCount("shop.test"))
    accounts = [forwarded(), forwarded(), forwarded(), forwarded()]
    pick = accounts[0].pick
    for account, status in zip(accounts, (200, 200, 502, 429), strict=True):
        account.destination = to
        account.pick = pick
        account.status = status
    accounts[-1].pick = None
    accounts[-1].endpoint_seconds = None
    ledger, _ = closed(*accounts)
    assert ledger.routes() == {("shop", "web", "cart", "shop.test", "/cart", "Prefix"): (3.0, 1.0)}


def test_a_path_without_room_in_the_table_asks_for_it_once() -> None:
    """All else that there is no room for asks with each request."""
    buffer = bytearray(MINIMUM_BYTES)
    recorder = Recorder(SlotTable(buffer))
    numbers = count()
    while not is_overflow(recorder.route_slot(RouteLabels("shop", "", "", "", f"/{next(numbers)}", "Exact"))):
        pass
    accounting = Accounting(
        recorder=recorder, access_log=AccessLog(-1, AccessLogFormat.OFF, recorder.access_log_dropped)
    )
    account = forwarded()
    refused = [refusals(buffer)]
    for _ in range(3):
        accounting.close(account, "zone-a")
        refused.append(refusals(buffer))
    first, second, third = (after - before for before, after in pairwise(refused))
    assert (second, third) == (first - 1, first - 1)


def refusals(buffer: bytearray) -> float:
    """How often a table had no room."""
    return next(entry.values[0] for entry in read(buffer) if entry.key == OVERFLOW)


def test_a_request_without_a_route_counts_under_no_path() -> None:
    ledger, _ = closed(Account(client="192.0.2.7", request=request(), started=time.perf_counter()))
    assert ledger.routes() == {}


def test_the_bytes_of_a_request_are_priced_both_ways_beside_the_zone_blind_average() -> None:
    runtime = BackendRuntime.fresh(
        builders.backend(of=builders.endpoints("ab")),
        own_zone=builders.own_zone("zone-a"),
        random_below=lambda limit: limit - 1,
        zones=ZoneFacts(prices=ZonePrices(pairs=((ZONE_A, ZONE_B, 0.01), (ZONE_B, ZONE_A, 0.05)))),
    )
    account = forwarded()
    account.pick = runtime.balancer().pick()
    assert account.pick is not None and account.pick.to_zone == "zone-b"
    account.request_bytes, account.response_bytes = 2 * 10**9, 3 * 10**9
    ledger, _ = closed(account)
    assert ledger.metric(ZONE_COST) == {("shop", "cart"): pytest.approx(0.17)}
    assert ledger.metric(ZONE_BLIND_COST) == {("shop", "cart"): pytest.approx(0.085)}


def test_a_pick_for_another_reason_counts_under_that_reason() -> None:
    first, second = forwarded(), forwarded()
    assert first.pick is not None
    second.destination, second.pick = first.destination, first.pick.for_reason(Reason.RETRY_OTHER_ZONE)
    ledger, _ = closed(first, second, first)
    assert ledger.metric(ZONE_DECISIONS) == {("shop", "cart", "off"): 2, ("shop", "cart", "retry_other_zone"): 1}


def test_a_request_that_a_strict_list_refused_counts_that_reason_once() -> None:
    account = Account(client="192.0.2.7", request=request(), started=time.perf_counter())
    account.destination = destination(builders.route())
    account.error, account.status = ErrorKind.NO_ENDPOINT, 503
    account.refusal = Reason.ORDERED_NONE
    ledger, (line,) = closed(account)
    assert ledger.metric(ZONE_DECISIONS) == {("shop", "cart", "ordered_none"): 1}
    assert (line["reason"], line["to_zone"], line["status"]) == ("ordered_none", "unknown", 503)
    assert ledger.metric(ZONE_COST) == {}


def test_a_dry_run_tells_what_would_have_been_in_counters_and_line() -> None:
    policy = ZonePolicy(ZonePolicyName.PREFER_ZONE, dry_run=True)
    runtime = BackendRuntime.fresh(
        builders.backend(of=builders.endpoints("ab"), zone_policy=policy),
        own_zone=builders.own_zone("zone-a"),
        random_below=lambda limit: limit - 1,
    )
    account = forwarded()
    account.pick = runtime.balancer().pick()
    account.response_bytes = 10**9
    ledger, (line,) = closed(account)
    assert ledger.metric(ZONE_DECISIONS) == {("shop", "cart", "off"): 1}
    assert ledger.metric(DRY_RUN_DECISIONS) == {("shop", "cart", "zone_local", "local"): 1}
    assert ledger.metric(ZONE_COST) == {("shop", "cart"): pytest.approx(0.02)}
    assert ledger.metric(DRY_RUN_COST) == {("shop", "cart"): 0.0}
    assert (line["reason"], line["dry_run_reason"]) == ("off", "zone_local")


def test_without_a_dry_run_nothing_is_said_of_it() -> None:
    ledger, (line,) = closed(forwarded())
    assert "dry_run_reason" not in line
    assert ledger.metric(DRY_RUN_DECISIONS) == {}


def test_a_forwarded_request_is_logged_with_all_that_is_known_of_it() -> None:
    _, (line,) = closed(forwarded(b"User-Agent: curl", b"Referer: http://x"))
    expected = {
        "client": "192.0.2.7",
        "method": "POST",
        "host": "Shop.test:80",
        "protocol": "HTTP/1.1",
        "status": 201,
        "bytes_in": 7,
        "bytes_out": 11,
        "endpoint_duration": 0.5,
        "namespace": "shop",
        "ingress": "web",
        "service": "cart",
        "service_port": "80",
        "endpoints": ["10.0.0.1:80", "10.0.0.2:80"],
        "from_zone": "zone-a",
        "to_zone": "zone-b",
        "locality": "remote",
        "reason": "off",
        "request_id": "abc",
        "endpoint_status": 201,
        "head_bytes": 85,
        "user_agent": "curl",
        "referer": "http://x",
    }
    assert {key: line.get(key) for key in expected} == expected
    assert line["path"] == "/a%20b?c=\xe9"
    assert line["duration"] >= 0
    assert "error" not in line


def test_secrets_are_not_logged() -> None:
    _, (line,) = closed(forwarded(b"Authorization: Bearer hush", b"Cookie: hush", b"X-Api-Key: hush"))
    assert "hush" not in str(line)


def test_a_request_without_a_route_has_empty_names_and_unknown_zones() -> None:
    account = Account(client="192.0.2.7", request=request(), started=time.perf_counter())
    account.status, account.error = 404, ErrorKind.NO_ROUTE
    ledger, (line,) = closed(account, from_zone="unknown")
    assert ledger.metric(REQUESTS) == {("", "", "", "unknown", "unknown", "unknown", "4xx"): 1}
    assert ledger.metric(ERRORS) == {("no_route",): 1}
    assert ledger.metric(RESPONSES) == {("", "", "", "404", "no_route"): 1}
    assert ledger.metric(ZONE_DECISIONS) == {}
    assert ledger.metric(ZONE_BYTES) == {}
    assert line["error"] == "no_route"
    assert (line["status"], line["namespace"], line["to_zone"], line["endpoints"]) == (404, "", "unknown", [])


def test_a_head_that_was_refused_is_counted() -> None:
    account = Account(client="192.0.2.7", request=None, started=time.perf_counter())
    account.status, account.error = 400, ErrorKind.BAD_REQUEST
    ledger, _ = closed(account)
    assert ledger.metric(REQUESTS) == {("", "", "", "zone-a", "unknown", "unknown", "4xx"): 1}
    assert ledger.metric(ERRORS) == {("bad_request",): 1}


TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"


def test_a_line_names_the_trace_of_the_client() -> None:
    _, (line,) = closed(forwarded(f"traceparent: 00-{TRACE}-{SPAN}-00".encode()))
    assert line["trace_id"] == TRACE
    assert "span_id" not in line


@pytest.mark.parametrize("field", [b"X-Other: 1", b"traceparent: nonsense"])
def test_a_line_names_no_trace_that_is_none(field: bytes) -> None:
    _, (line,) = closed(forwarded(field))
    assert not {"trace_id", "span_id"} & line.keys()


@pytest.mark.parametrize("sampled", [True, False])
def test_a_line_names_the_span_of_the_proxy(sampled: bool) -> None:
    account = forwarded(f"traceparent: 00-{'f' * 32}-{SPAN}-00".encode())
    account.span = SpanContext(TRACE, SPAN, "", sampled, operation="", origin=Origin(peer="", entry_point=HTTP))
    _, (line,) = closed(account)
    assert (line["trace_id"], line["span_id"]) == (TRACE, SPAN)
