"""Lines of ingress-nginx are read in its own format, in any other one, and as JSON."""

from __future__ import annotations

import pytest

from ingress.migration.rehearsal.lines import UPSTREAMINFO, UnknownFormat, epoch_seconds, line_reader
from tests.unit.ingress.migration.rehearsal.logged import line


def test_the_default_format() -> None:
    found = line_reader()(line("/a?b=c", 301, "shop-cart-80", "10.0.0.1:80, 10.0.0.2:80"))
    assert found is not None
    assert (found.method, found.target, found.status, found.client) == ("GET", "/a?b=c", 301, "203.0.113.7")
    assert (found.upstream, found.alternative, found.passed, found.address) == ("shop-cart-80", "", True, "10.0.0.2:80")
    assert (found.request_bytes, found.response_bytes, found.agent, found.referer) == (100, 512, "curl/8", "")
    assert found.host == ""


@pytest.mark.parametrize("upstream", ["", "-"])
def test_who_asked_nobody_has_no_upstream(upstream: str) -> None:
    found = line_reader()(line("/", 404, upstream, "-"))
    assert found is not None
    assert (found.upstream, found.passed, found.address) == ("", False, "")


def test_a_format_of_the_configmap() -> None:
    read = line_reader(
        '{"h": "$host", "r": "$request_uri", "s": $status, "m": "$request_method", "a": "${upstream_addr}"} x'
    )
    found = read('{"h": "A.test", "r": "/a\\"b", "s": 200, "m": "PUT", "a": "10.0.0.1:80"} x'.replace("{", "{", 1))
    assert found is None  # it begins as JSON does, and is none
    read = line_reader("$host $request_uri $status $request_method $upstream_addr")
    found = read("A.test /a 200 PUT 10.0.0.1:80")
    assert found is not None
    assert (found.host, found.target, found.method, found.address) == ("a.test", "/a", "PUT", "10.0.0.1:80")


def test_a_format_may_name_what_says_the_same() -> None:
    found = line_reader("$time_iso8601 $http_host $request_uri $status")("2026-11-26T10:00:00+00:00 A.test:8080 /a 200")
    assert found is not None
    assert (found.host, found.time) == ("a.test:8080", "2026-11-26T10:00:00+00:00")


@pytest.mark.parametrize(
    "text",
    [
        '{"host": "a.test", "request": "GET /a HTTP/1.1", "status": 200, "proxy_upstream_name": "x"}',
        '{"vhost": "a.test", "method": "GET", "path": "/a", "status": "200", "upstream_name": "x"}',
        '{"server_name": "A.TEST", "request_method": "GET", "uri": "/a", "response_code": 200, "upstream": "x"}',
    ],
)
def test_json_by_the_names_that_people_give(text: str) -> None:
    found = line_reader()(text)
    assert found is not None
    assert (found.host, found.method, found.target, found.status, found.upstream) == ("a.test", "GET", "/a", 200, "x")


@pytest.mark.parametrize("text", ["", "nonsense", "{", '{"status": 200}', '{"status": "x", "path": "/"}'])
def test_other_lines_are_no_requests(text: str) -> None:
    assert line_reader()(text) is None


@pytest.mark.parametrize("text", ["$host $request", "$status $host"])
def test_a_format_without_the_least_is_said(text: str) -> None:
    with pytest.raises(UnknownFormat):
        line_reader(text)


def test_times() -> None:
    assert epoch_seconds("26/Nov/2026:10:00:00 +0000") == epoch_seconds("2026-11-26T11:00:00+01:00")
    assert epoch_seconds("yesterday") is None
    assert "$req_id" in UPSTREAMINFO


@pytest.mark.parametrize(
    ("fields", "passed"),
    [
        ('"upstream_addr": "10.0.0.1:80"', True),
        ('"upstream_addr": ""', False),
        ('"upstream_status": "200"', True),
        ('"upstream_response_time": "-"', False),
        ('"bytes": 7', None),
    ],
)
def test_whether_an_endpoint_was_asked_is_what_the_log_says(fields: str, passed: bool | None) -> None:
    found = line_reader()(f'{{"host": "a.test", "path": "/a", "status": 200, {fields}}}')
    assert found is not None
    assert found.passed is passed


def test_a_format_without_endpoints_does_not_say_who_was_asked() -> None:
    found = line_reader("$host $request_uri $status")("a.test /a 200")
    assert found is not None
    assert found.passed is None
