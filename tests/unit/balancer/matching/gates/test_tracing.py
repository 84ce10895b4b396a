"""The place of a request in a trace: continued or begun anew, recorded or not, and told to the endpoint."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from balancer.http.origin import Origin
from balancer.http.trace_context import TraceContext, trace_context_of
from balancer.logs.tracing.spans import SpanContext
from balancer.matching.gates.tracing import TracingGate, is_sampled
from balancer.matching.gates.verdicts import Asked, Go, Verdict
from balancer.model.entry_points import HTTP
from balancer.model.tracing import Sampler, Sampling, Tracing
from tests.questions import question_of

TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
USUAL = Tracing()
VALID = f"traceparent: 00-{TRACE}-{SPAN}-01"


def never(_: Verdict) -> None:
    raise AssertionError("nobody waits for a trace")


def passed(*fields: str, rule: Tracing = USUAL, bits: int = 7) -> tuple[Go, SpanContext]:
    asked = Asked(question_of("http://shop.test/", fields).request, Origin(peer="", entry_point=HTTP), secure=False)
    go = TracingGate(rule, lambda _: bits).judge(asked, never)
    assert go.span is not None
    return go, go.span


def test_the_trace_of_the_client_is_continued() -> None:
    go, span = passed(VALID, "tracestate: vendor=1")
    assert (span.trace_id, span.parent_id, span.span_id, span.sampled) == (TRACE, SPAN, f"{7:016x}", True)
    assert trace_context_of(go.added) == TraceContext(TRACE, f"{7:016x}", sampled=True)
    assert go.removed == {b"traceparent"}


@pytest.mark.parametrize("field", ["x-other: 1", "traceparent: no", VALID.replace("00-", "ff-", 1)])
def test_a_trace_begins_here_where_the_client_has_no_valid_one(field: str) -> None:
    go, span = passed(field, "tracestate: vendor=1")
    assert (span.trace_id, span.parent_id) == (f"{7:032x}", "")
    assert go.removed == {b"traceparent", b"tracestate"}


def test_a_client_that_is_not_trusted_begins_no_trace() -> None:
    _, span = passed(VALID, rule=Tracing(trusts_client=False))
    assert (span.trace_id, span.parent_id) == (f"{7:032x}", "")


@given(st.integers(0, 2**64 - 1), st.sampled_from(Sampler), st.floats(0, 1), st.booleans())
def test_whatever_chance_gives_the_endpoint_reads_a_valid_context(
    bits: int, sampler: Sampler, ratio: float, follows: bool
) -> None:
    go, span = passed(rule=Tracing(sampling=Sampling(sampler, ratio, follows)), bits=bits)
    assert trace_context_of(go.added) == TraceContext(span.trace_id, span.span_id, span.sampled)


@pytest.mark.parametrize("sampled", [True, False])
@pytest.mark.parametrize("sampler", Sampler)
def test_the_sender_decides_where_its_decision_is_followed(sampled: bool, sampler: Sampler) -> None:
    parent = TraceContext(TRACE, SPAN, sampled)
    assert is_sampled(Sampling(sampler, 0.0), TRACE, parent) is sampled
    own = is_sampled(Sampling(sampler, 0.0, follows_parent=False), TRACE, parent)
    assert own is (sampler is Sampler.ALWAYS_ON)


@given(st.integers(1, 2**128 - 1), st.floats(0, 1), st.floats(0, 1))
def test_a_larger_ratio_records_at_least_the_same_traces(number: int, one: float, other: float) -> None:
    trace_id, (less, more) = f"{number:032x}", sorted((one, other))
    assert is_sampled(Sampling(Sampler.RATIO, less), trace_id, None) <= is_sampled(
        Sampling(Sampler.RATIO, more), trace_id, None
    )
    assert is_sampled(Sampling(Sampler.RATIO, 1.0), trace_id, None)
    assert not is_sampled(Sampling(Sampler.RATIO, 0.0), trace_id, None)


def test_a_ratio_is_met() -> None:
    step = 2**64 // 1024
    recorded = sum(is_sampled(Sampling(Sampler.RATIO, 0.25), f"{at * step:032x}", None) for at in range(1024))
    assert recorded == 256
