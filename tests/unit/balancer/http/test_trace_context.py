"""The field `traceparent`: what is valid by W3C Trace Context, and that what is written can be read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from balancer.http.trace_context import TraceContext, trace_context_of, traceparent_field

TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
VALID = f"00-{TRACE}-{SPAN}-01"

IDS = st.tuples(st.integers(1, 2**128 - 1), st.integers(1, 2**64 - 1))


def read(*values: str) -> TraceContext | None:
    return trace_context_of(((b"host", b"a"), *((b"traceparent", value.encode()) for value in values)))


@pytest.mark.parametrize(
    ("text", "sampled"),
    [(VALID, True), (VALID[:-2] + "00", False), (VALID[:-2] + "03", True), (VALID[:-2] + "fe", False)],
)
def test_the_last_bit_of_the_flags_says_whether_the_sender_records(text: str, sampled: bool) -> None:
    assert read(text) == TraceContext(TRACE, SPAN, sampled)


@pytest.mark.parametrize(
    "text", ["cc" + VALID[2:], "01" + VALID[2:] + "-what-the-future-will-be", "cc" + VALID[2:] + "-"]
)
def test_a_later_version_is_read_as_far_as_it_is_known(text: str) -> None:
    assert read(text) == TraceContext(TRACE, SPAN, sampled=True)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "ff" + VALID[2:],
        VALID + "-more",
        VALID + "-",
        "cc" + VALID[2:] + ".what",
        VALID.upper(),
        VALID[:-1],
        VALID + "0",
        f"00-{'0' * 32}-{SPAN}-01",
        f"00-{TRACE}-{'0' * 16}-01",
        VALID.replace("-", "_"),
        f"00-{TRACE[:-1]}g-{SPAN}-01",
    ],
)
def test_what_is_invalid_is_no_context(text: str) -> None:
    assert read(text) is None


def test_no_field_and_two_fields_are_no_context() -> None:
    assert read() is None
    assert read(VALID, VALID) is None


@given(IDS, st.booleans())
def test_what_is_written_can_be_read(ids: tuple[int, int], sampled: bool) -> None:
    trace, span = f"{ids[0]:032x}", f"{ids[1]:016x}"
    assert trace_context_of((traceparent_field(trace, span, sampled=sampled),)) == TraceContext(trace, span, sampled)


@given(st.binary(max_size=80))
def test_no_bytes_of_a_client_raise(value: bytes) -> None:
    context = trace_context_of(((b"traceparent", value),))
    assert context is None or len(context.trace_id) == 32
