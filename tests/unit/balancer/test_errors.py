"""Errors say whose fault they are and how far a request had come."""

from __future__ import annotations

import re

from balancer.errors import AttemptError, ErrorKind, Refusal, Sent


def test_kinds_are_fit_for_metric_labels() -> None:
    assert all(re.fullmatch(r"[a-z]+(_[a-z]+)*", kind.value) for kind in ErrorKind)
    assert len({kind.value for kind in ErrorKind}) == len(ErrorKind)


def test_a_refusal_carries_its_kind_and_a_reason_of_ours() -> None:
    refusal = Refusal(ErrorKind.BAD_REQUEST, "a bare CR")
    assert refusal.kind is ErrorKind.BAD_REQUEST
    assert str(refusal) == "a bare CR"


def test_an_attempt_error_has_answered_nothing_unless_it_says_so() -> None:
    assert AttemptError(ErrorKind.ENDPOINT_CLOSED, Sent.HEAD) == (ErrorKind.ENDPOINT_CLOSED, Sent.HEAD, False)
