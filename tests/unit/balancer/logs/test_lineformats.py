"""Lines in a format of the operator: variables, escapes, and that a line stays one line and shows no secret."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from balancer.http.origin import Origin
from balancer.logs.accesslines import AccessLogFormat, FailedAttempt, line_format
from balancer.logs.lineformats import DEFAULT_FORMAT, Logged, compile_format, unknown_variables, variables_in
from balancer.model.entry_points import HTTP, HTTPS
from balancer.model.settings import LogEscape
from tests.questions import question_of
from tests.unit.balancer.logs.test_accesslines import ORDINARY

PAGE = Path(__file__).parents[4] / "docs" / "access-log.md"
FIELDS = ("Authorization: Basic c2VjcmV0", "Cookie: s=secret", 'X-Quote: a "b" \\\\c', "Accept: text/css")


def line(text: str, escape: LogEscape = LogEscape.DEFAULT, *fields: str, secure: bool = False, **changes: Any) -> str:
    request = question_of("http://shop.example.com/items?page=2&q=", fields or FIELDS).request
    logged = Logged(
        msgspec.structs.replace(ORDINARY, **changes),
        request,
        Origin(peer="10.1.2.3", entry_point=HTTPS if secure else HTTP),
    )
    written = compile_format(text, escape).line(logged).decode()
    assert written.endswith("\n")
    return written[:-1]


def test_the_default_format_is_that_of_the_process() -> None:
    text = line_format(AccessLogFormat.UPSTREAMINFO)
    assert text is not None
    changes: dict[str, Any] = {
        "user_agent": None,
        "endpoints": ("10.0.0.1:80", "10.0.0.2:80"),
        "failed_attempts": (FailedAttempt(None, 0.5),),
        "error": "endpoint_closed",
    }
    process = text(msgspec.structs.replace(ORDINARY, **changes)).decode()[:-1]
    assert line("", **changes) == process
    assert line(DEFAULT_FORMAT, **changes) == process


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("$request_method ${request_uri}x", "GET /items?page=2x"),
        ("$uri|$args|$is_args|$arg_page|$arg_q|$arg_none", "/items|page=2|?|2|-|-"),
        ("$scheme $server_port $https", "http 80 -"),
        ("$host $best_http_host $http_host", "shop.example.com shop.example.com shop.example.com"),
        ("$namespace/$ingress_name/$service_name", "shop/shop-ingress/catalog"),
        ("$status $body_bytes_sent $request_time", "200 4096 0.012"),
        ("$upstream_addr $upstream_response_time", "10.0.3.4:8080 0.011"),
        ("$http_accept $http_missing", "text/css -"),
        ("$time_iso8601 $msec", "2024-08-01T00:00:00+00:00 1722470400.123"),
        ("100% $ { } é", "100% $ { } é"),
    ],
)
def test_variables(text: str, expected: str) -> None:
    assert line(text) == expected


def test_https_is_told() -> None:
    assert line("$scheme $server_port $https", secure=True) == "https 443 on"


@pytest.mark.parametrize(
    "name", ["http_authorization", "http_cookie", "http_proxy_authorization", "cookie_s", "remote_user"]
)
@pytest.mark.parametrize("escape", LogEscape)
def test_no_variable_shows_a_secret(name: str, escape: LogEscape) -> None:
    assert line(f"${name}", escape) in {"-", ""}


def test_values_are_escaped_as_the_format_wants() -> None:
    assert line("$http_x_quote|$http_none") == "a \\x22b\\x22 \\x5C\\x5Cc|-"
    assert line("$http_x_quote|$http_none", LogEscape.JSON) == 'a \\"b\\" \\\\\\\\c|'
    assert line("$http_x_quote|$http_none", LogEscape.NONE) == 'a "b" \\\\c|'


@given(st.text(max_size=40), st.sampled_from(LogEscape))
def test_a_line_stays_one_line(value: str, escape: LogEscape) -> None:
    written = line("[$http_referer$request_uri]", escape, path=value, user_agent=value)
    assert not re.search(r"[\x00-\x1f\x7f]", written)


@given(st.binary(max_size=40))
def test_a_value_in_json_is_the_text_that_came(value: bytes) -> None:
    written = line('{"path": "$request_uri"}', LogEscape.JSON, path=value.decode("latin-1"))
    try:
        meant = value.decode()
    except UnicodeDecodeError:
        meant = value.decode("latin-1")
    assert json.loads(written) == {"path": meant}


def test_a_value_is_cut() -> None:
    assert len(line("$request_uri", LogEscape.NONE, path="x" * 9999)) == 2048


def test_a_refused_head_has_a_line() -> None:
    record = msgspec.structs.replace(ORDINARY, method="", path="")
    logged = Logged(record, None, Origin(peer="10.1.2.3", entry_point=HTTP))
    format = compile_format('$status "$request" $http_accept $host $uri', LogEscape.DEFAULT)
    assert format.line(logged) == b'200 "-" - - -\n'


def test_unknown_variables_are_named_once() -> None:
    assert unknown_variables("$status $geoip_city ${http_cookie} $geoip_city $http_x_a $arg_b") == (
        "geoip_city",
        "http_cookie",
    )
    assert unknown_variables(DEFAULT_FORMAT) == ()
    assert variables_in("$a ${b} $$ $") == 2


def test_the_page_names_the_variables() -> None:
    section = PAGE.read_text(encoding="utf-8").partition("## `log-format-upstream`")[2]
    named = set(re.findall(r"`\$([a-z_0-9]+)`", section))
    assert unknown_variables(" ".join(f"${name}" for name in named)) == ()
    assert {"status", "request_time", "upstream_addr", "req_id"} <= named
