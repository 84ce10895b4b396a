"""Options about the access log: how each is read, and what becomes of them."""

from __future__ import annotations

import pytest

from balancer.model.settings import LogEscape, LogRules
from ingress.findings import Severity
from ingress.settings.configmap import read_configmap
from ingress.settings.table.access_log import line_text, skipped_targets
from ingress.settings.values import InvalidValue


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ({}, LogRules()),
        ({"disable-access-log": "true"}, LogRules(enabled=False, streams=False)),
        ({"disable-http-access-log": "true"}, LogRules(enabled=False)),
        ({"disable-stream-access-log": "true"}, LogRules(streams=False)),
        ({"enable-access-log-for-default-backend": "false"}, LogRules(unrouted=False)),
        ({"log-format-escape-json": "true", "log-format-escape-none": "true"}, LogRules(escape=LogEscape.JSON)),
        ({"log-format-escape-none": "true"}, LogRules(escape=LogEscape.NONE)),
        ({"skip-access-log-urls": "/a, /b,/a"}, LogRules(skipped=("/a", "/b"))),
    ],
)
def test_the_keys_make_one_rule(data: dict[str, str], expected: LogRules) -> None:
    settings, findings = read_configmap(data)
    assert settings.proxy.log == expected
    assert findings == ()


def test_a_format_is_one_line() -> None:
    assert line_text('  {"a": "$status",\n   "b": "$host"}\n') == '{"a": "$status", "b": "$host"}'


@pytest.mark.parametrize("text", ["x" * 8193, "$a " * 101, "a\x1b[0m", "a\u2028b"])
def test_a_format_is_bounded_and_printable(text: str) -> None:
    with pytest.raises(InvalidValue):
        line_text(text)


@pytest.mark.parametrize("text", [",".join(f"/{number}" for number in range(101)), "~(", "~*(?=a)", "~" + "a{999}" * 9])
def test_what_cannot_be_compared_is_refused(text: str) -> None:
    assert skipped_targets("~^/a, ~*b") == ("~^/a", "~*b")
    with pytest.raises(InvalidValue):
        skipped_targets(text)


def test_an_unknown_variable_is_said_and_the_rest_counts() -> None:
    settings, (finding,) = read_configmap({"log-format-upstream": "$status $geoip_city $http_cookie"})
    assert settings.proxy.log.format == "$status $geoip_city $http_cookie"
    assert (finding.reason, finding.severity) == ("InvalidValue", Severity.DEGRADED)
    assert "$geoip_city, $http_cookie" in finding.message


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("access-log-path", "/dev/stdout", False),
        ("access-log-path", "/var/log/nginx/access.log", False),
        ("http-access-log-path", "/tmp/log", True),
        ("disable-stream-access-log", "true", False),
    ],
)
def test_other_keys_say_where_the_log_goes(key: str, value: str, said: bool) -> None:
    assert bool(read_configmap({key: value})[1]) is said
