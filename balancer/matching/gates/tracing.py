"""Gives each request of a route its place in a trace, of which the endpoint is told. No I/O.

Never refuses. Source: W3C Trace Context, level 1, section 3; OpenTelemetry specification, "Sampling".
"""

from __future__ import annotations

from collections.abc import Callable

from balancer.http.trace_context import TRACEPARENT, TRACESTATE, TraceContext, trace_context_of, traceparent_field
from balancer.logs.tracing.spans import SpanContext
from balancer.matching.gates.leading import is_led
from balancer.matching.gates.verdicts import PASSED, About, Asked, Go, Resume
from balancer.model.tracing import Sampler, Sampling, Tracing

RandomBits = Callable[[int], int]
"""Returns a random number of so many bits."""

_TRACE_BITS, _SPAN_BITS = 128, 64
_RATIO_DIGITS, _RATIO_WHOLE = 16, 1 << 64  # a sampler of a ratio looks at the last digits of a trace id
_CONTINUED, _RESTARTED = frozenset({TRACEPARENT}), frozenset({TRACEPARENT, TRACESTATE})


class TracingGate:
    """Lets every request pass, with its place in a trace.

    A trace that the client began is continued, or begun anew where the client is not trusted or its `traceparent` is
    invalid. A `tracestate` belongs to the trace, so it goes on only with the trace.
    """

    __slots__ = ("_random_bits", "_rule")

    def __init__(self, rule: Tracing, random_bits: RandomBits) -> None:
        self._rule = rule
        self._random_bits = random_bits

    def describe(self) -> About:
        """Nothing, because no request is answered here."""
        return About()

    def judge(self, asked: Asked, resume: Resume) -> Go:
        """Never refuses and never waits."""
        if is_led(asked.request):
            return PASSED  # the request has its place already
        rule = self._rule
        parent = trace_context_of(asked.request.fields) if rule.trusts_client else None
        trace_id = parent.trace_id if parent is not None else f"{self._random_bits(_TRACE_BITS) or 1:032x}"
        span_id = f"{self._random_bits(_SPAN_BITS) or 1:016x}"
        sampled = is_sampled(rule.sampling, trace_id, parent)
        parent_id = parent.parent_id if parent is not None else ""
        return Go(
            added=(traceparent_field(trace_id, span_id, sampled=sampled),),
            removed=_CONTINUED if parent is not None else _RESTARTED,
            span=SpanContext(trace_id, span_id, parent_id, sampled, rule.operation, asked.origin),
        )


def is_sampled(sampling: Sampling, trace_id: str, parent: TraceContext | None) -> bool:
    """Whether a trace is recorded. Every proxy with the same ratio decides alike about the same trace."""
    if parent is not None and sampling.follows_parent:
        return parent.sampled
    match sampling.sampler:
        case Sampler.ALWAYS_ON:
            return True
        case Sampler.ALWAYS_OFF:
            return False
        case Sampler.RATIO:
            return int(trace_id[-_RATIO_DIGITS:], 16) < round(sampling.ratio * _RATIO_WHOLE)
