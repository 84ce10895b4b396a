"""Reads and writes the field `traceparent` (W3C Trace Context, level 1, section 3.2). No I/O."""

from __future__ import annotations

import re
from typing import NamedTuple

from balancer.http.messages import Field, Fields, field_value

TRACEPARENT, TRACESTATE = b"traceparent", b"tracestate"

# Version 00 has exactly four parts. Later versions may have more, and version ff is invalid (section 3.2.2).
_FORM = re.compile(rb"((?!ff)[0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?")
_NO_TRACE, _NO_PARENT = "0" * 32, "0" * 16
_SAMPLED = 1


class TraceContext(NamedTuple):
    """What a request says about its trace. Ids are in lower-case hexadecimal; `parent_id` is the span of the sender."""

    trace_id: str
    parent_id: str
    sampled: bool


def trace_context_of(fields: Fields) -> TraceContext | None:
    """The context of a request; None if it has none, more than one, or one that is invalid."""
    value = field_value(fields, TRACEPARENT)
    if value is None or sum(name == TRACEPARENT for name, _ in fields) > 1:
        return None
    parts = _FORM.fullmatch(value)
    if parts is None or (parts[1] == b"00" and parts[5] is not None):
        return None
    trace_id, parent_id = parts[2].decode(), parts[3].decode()
    if trace_id == _NO_TRACE or parent_id == _NO_PARENT:
        return None
    return TraceContext(trace_id, parent_id, bool(int(parts[4], 16) & _SAMPLED))


def traceparent_field(trace_id: str, span_id: str, *, sampled: bool) -> Field:
    """The field that tells an endpoint its trace and its parent span."""
    return TRACEPARENT, f"00-{trace_id}-{span_id}-{int(sampled):02x}".encode()
