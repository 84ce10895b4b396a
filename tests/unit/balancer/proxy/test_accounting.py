"""Closing an account counts the request under its labels and writes its line, and neither tells a secret."""

from __future__ import annotations

from typing import Any

from balancer.accesslines import FailedAttempt
from balancer.backend import BackendRuntime
from balancer.errors import ErrorKind
from balancer.http1.heads import RequestHead, RequestHeadReader
from balancer.metrics.definitions import ERRORS, REQUEST_DURATION, REQUESTS, ZONE_BYTES, ZONE_DECISIONS
from balancer.model import ProxySettings
from balancer.proxy.accounting import Account, Accounting
from tests import builders
from tests.unit.balancer.proxy.standing import Ledger


def request(*fields: bytes) -> RequestHead:
    head = b"\r\n".join((b"POST /a%20b?c=\xe9 HTTP/1.1", b"Host: Shop.test:80", *fields)) + b"\r\n\r\n"
    return RequestHeadReader(ProxySettings()).read(head)


def closed(account: Account, *, from_zone: str = "zone-a") -> tuple[Ledger, list[dict[str, Any]]]:
    """The counts and the lines of one account."""
    ledger = Ledger()
    try:
        Accounting(recorder=ledger.recorder, access_log=ledger.access_log).close(account, from_zone=from_zone)
        return ledger, ledger.log()
    finally:
        ledger.release()


def forwarded(*fields: bytes) -> Account:
    """The account of a request that an endpoint in zone-b answered at the second attempt."""
    runtime = BackendRuntime.fresh(
        builders.backend(of=[builders.endpoint("10.0.0.2", zone="zone-b")]),
        own_zone=builders.own_zone("zone-a"),
        random_below=lambda limit: 0,
    )
    account = Account(client="192.0.2.7", request=request(*fields))
    account.route = builders.route()
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


def test_secrets_are_not_logged() -> None:
    _, (line,) = closed(forwarded(b"Authorization: Bearer hush", b"Cookie: hush", b"X-Api-Key: hush"))
    assert "hush" not in str(line)


def test_a_request_without_a_route_has_empty_names_and_unknown_zones() -> None:
    account = Account(client="192.0.2.7", request=request())
    account.status, account.error = 404, ErrorKind.NO_ROUTE
    ledger, (line,) = closed(account, from_zone="unknown")
    assert ledger.metric(REQUESTS) == {("", "", "", "unknown", "unknown", "unknown", "4xx"): 1}
    assert ledger.metric(ERRORS) == {("no_route",): 1}
    assert ledger.metric(ZONE_DECISIONS) == {}
    assert ledger.metric(ZONE_BYTES) == {}
    assert (line["status"], line["namespace"], line["to_zone"], line["endpoints"]) == (404, "", "unknown", [])


def test_a_head_that_was_refused_is_counted() -> None:
    account = Account(client="192.0.2.7", request=None)
    account.status, account.error = 400, ErrorKind.BAD_REQUEST
    ledger, _ = closed(account)
    assert ledger.metric(REQUESTS) == {("", "", "", "zone-a", "unknown", "unknown", "4xx"): 1}
    assert ledger.metric(ERRORS) == {("bad_request",): 1}
