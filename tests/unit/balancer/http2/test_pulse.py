"""When an endpoint that is silent is asked whether it is there, and when it is left alone."""

from __future__ import annotations

from balancer.http2.pulse import Pulse
from balancer.runtime.absences import NEVER_ABSENT, Absences


def test_an_endpoint_is_asked_so_long_after_it_was_heard_last() -> None:
    pulse = Pulse()
    pulse.ping_after_seconds = 30.0
    pulse.heard(100.0)
    assert pulse.ping_at == 130.0


def test_whatever_comes_answers_a_ping() -> None:
    pulse = Pulse()
    pulse.is_asked = True
    pulse.heard(100.0)
    assert not pulse.is_asked


def test_an_endpoint_that_was_silent_under_a_request_that_is_given_up_may_be_gone() -> None:
    pulse = Pulse()
    pulse.silent_seconds = 1.0
    pulse.heard(100.0)
    assert not pulse.is_gone(began_at=99.0, now=100.9, absences=NEVER_ABSENT)
    assert pulse.is_gone(began_at=99.0, now=101.0, absences=NEVER_ABSENT)
    assert not pulse.is_gone(began_at=100.5, now=101.0, absences=NEVER_ABSENT)


def test_an_endpoint_is_not_gone_because_nobody_listened_to_it() -> None:
    pulse, absences = Pulse(), Absences()
    pulse.silent_seconds = 1.0
    pulse.heard(100.0)
    absences.beat(100.0, 0.0)
    assert not pulse.is_gone(began_at=99.0, now=103.0, absences=absences)
