"""The finished span of a request: name, times, attributes, and that no text of a client is long or secret."""

from __future__ import annotations

import msgspec
import pytest

from balancer.http.origin import Origin
from balancer.logs.accesslines import FIELD_CHARACTERS_MAX, AccessRecord
from balancer.logs.lineformats import Logged
from balancer.logs.tracing.spans import FinishedSpan, SpanContext, finished_span
from balancer.model.entry_points import HTTPS
from tests.questions import question_of

RECORD = AccessRecord(
    time=100.5,
    client="192.0.2.1",
    method="GET",
    host="shop.test",
    path="/cart/7?token=secret",
    protocol="HTTP/1.1",
    status=200,
    bytes_in=0,
    bytes_out=12,
    duration=0.25,
    endpoint_duration=0.2,
    namespace="shop",
    ingress="web",
    service="cart",
    endpoints=("10.0.0.1:80", "10.0.0.2:80"),
    from_zone="zone-a",
    to_zone="zone-b",
    locality="remote",
    reason="spill",
    request_id="abc",
)


def span(operation: str = "", **changes: object) -> FinishedSpan:
    context = SpanContext(
        "1" * 32, "2" * 16, "", sampled=True, operation=operation, origin=Origin(peer="", entry_point=HTTPS)
    )
    record = msgspec.structs.replace(RECORD, **changes)
    return finished_span(
        context, Logged(record, question_of("https://shop.test/cart/7").request, context.origin), "/cart"
    )


def test_name_times_and_attributes() -> None:
    made = span()
    said = dict(made.attributes)
    assert (made.name, made.started_ns, made.ended_ns) == ("GET /cart", 100_250_000_000, 100_500_000_000)
    assert said["url.path"] == "/cart/7"
    assert said["http.response.status_code"] == 200
    assert (said["url.scheme"], said["network.protocol.version"]) == ("https", "1.1")
    assert (said["zonal.from_zone"], said["zonal.to_zone"], said["zonal.locality"]) == ("zone-a", "zone-b", "remote")
    assert (said["zonal.endpoint"], said["zonal.attempts"]) == ("10.0.0.2:80", 2)
    assert "user_agent.original" not in said
    assert "error.type" not in said


def test_the_query_is_not_told() -> None:
    assert "secret" not in repr(span())


@pytest.mark.parametrize(
    ("status", "error", "failed", "told"),
    [
        (404, None, False, None),
        (500, None, True, "500"),
        (502, "reset", True, "reset"),
        (499, "client_left", False, "client_left"),
    ],
)
def test_only_failures_of_proxy_and_endpoint_are_failures(
    status: int, error: str | None, failed: bool, told: str | None
) -> None:
    made = span(status=status, error=error)
    assert (made.failed, dict(made.attributes).get("error.type")) == (failed, told)


def test_an_odd_method_is_no_name() -> None:
    made = span(method="PROPFIND")
    said = dict(made.attributes)
    assert made.name == "HTTP /cart"
    assert (said["http.request.method"], said["http.request.method_original"]) == ("_OTHER", "PROPFIND")


def test_an_operation_names_the_span() -> None:
    assert span("HTTP $request_method $service_name $uri").name == "HTTP GET cart /cart/7"


def test_long_texts_are_cut() -> None:
    made = span("$http_user_agent$request_uri", path="/" + "a" * 9000, user_agent="b" * 9000)
    texts = [value for _, value in made.attributes if isinstance(value, str)]
    assert max(map(len, [made.name, *texts])) <= FIELD_CHARACTERS_MAX
