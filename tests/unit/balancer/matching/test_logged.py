"""Which requests have a line in the access log."""

from __future__ import annotations

import pytest

from balancer.logs.accesslines import AccessLogFormat
from balancer.matching.logged import LoggedRequests, logged_requests
from balancer.model.settings import LogEscape, LogRules
from tests import builders
from tests.questions import question_of


def takes(rules: LogRules, url: str = "http://a.test/x", *, routed: bool = True) -> bool:
    return LoggedRequests(rules).takes(question_of(url).request, builders.owner() if routed else None)


def test_by_default_there_are_no_rules() -> None:
    assert logged_requests(LogRules()) is None
    assert logged_requests(LogRules(unrouted=False)) is not None


def test_nothing_is_logged_where_the_log_is_off() -> None:
    assert not takes(LogRules(enabled=False))


def test_requests_that_no_ingress_serves_may_be_left_out() -> None:
    assert takes(LogRules(unrouted=False))
    assert not takes(LogRules(unrouted=False), routed=False)
    assert not LoggedRequests(LogRules(unrouted=False)).takes(None, None)
    assert LoggedRequests(LogRules(skipped=("/x",))).takes(None, None)


@pytest.mark.parametrize(
    ("skipped", "url", "taken"),
    [
        ("/healthz", "http://a.test/healthz", False),
        ("/healthz", "http://a.test/HealthZ", False),
        ("/healthz", "http://a.test/healthz?a=b", True),
        ("/healthz", "http://a.test/healthz/", True),
        ("/healthz?a=b", "http://a.test/healthz?a=b", False),
        ("~^/health", "http://a.test/healthz?a", False),
        ("~^/health", "http://a.test/Healthz", True),
        ("~*^/health", "http://a.test/Healthz", False),
        ("~ealth", "http://a.test/healthz", False),
    ],
)
def test_targets_are_compared_as_in_a_map_of_nginx(skipped: str, url: str, taken: bool) -> None:
    assert takes(LogRules(skipped=(skipped,)), url) is taken


def test_a_format_of_the_operator_is_for_every_process_and_an_escape_for_text() -> None:
    rules = LoggedRequests(LogRules(format="$status"))
    assert rules.format_for(AccessLogFormat.JSON) is rules.format_for(AccessLogFormat.UPSTREAMINFO) is not None
    escaped = LoggedRequests(LogRules(escape=LogEscape.JSON))
    assert escaped.format_for(AccessLogFormat.JSON) is None
    assert escaped.format_for(AccessLogFormat.UPSTREAMINFO) is not None


def test_streams_and_requests_are_left_out_apart() -> None:
    quiet = LoggedRequests(LogRules(streams=False))
    assert not quiet.takes_stream(builders.owner())
    assert quiet.takes(None, builders.owner())
    assert LoggedRequests(LogRules(enabled=False)).takes_stream(builders.owner())
    assert not LoggedRequests(LogRules(unrouted=False)).takes_stream(None)
