"""An endpoint that was never in trouble keeps nothing but its answers; one that was tells what happened."""

from __future__ import annotations

import pytest

from balancer.picking.ejections import Cause, Ejected, EjectionStep, State
from balancer.picking.endpoint_health import EndpointHealth, awaits_probe


def ejected(cause: Cause) -> EndpointHealth:
    """An endpoint that was ejected at 5 s until 15 s."""
    endpoint = EndpointHealth()
    trouble = endpoint.record()
    trouble.why = Ejected(cause)
    trouble.stepped_at = 5.0
    trouble.ejections = 1
    endpoint.ejected_until = 15.0
    return endpoint


def test_one_without_trouble_is_well_and_keeps_no_record_when_it_is_asked() -> None:
    endpoint = EndpointHealth()
    assert endpoint.is_well and endpoint.state is State.WELL
    assert endpoint.why is None and endpoint.step is None
    assert endpoint.failures_in_a_row == 0
    assert not endpoint.is_suspected(0.0) and not endpoint.is_doubted(0.0)
    assert not awaits_probe(endpoint, 1e9)
    assert endpoint.trouble is None and endpoint.met is None


def test_there_is_one_record() -> None:
    endpoint = EndpointHealth()
    assert endpoint.record() is endpoint.record() is endpoint.trouble


def test_failures_in_a_row_end_with_a_good_answer() -> None:
    endpoint = EndpointHealth()
    endpoint.record().failures = 3
    assert endpoint.failures_in_a_row == 3
    endpoint.answers += 1
    assert endpoint.failures_in_a_row == 0


@pytest.mark.parametrize("cause", list(Cause))
def test_an_ejection_is_told_to_other_workers_unless_all_of_them_know_it(cause: Cause) -> None:
    endpoint = ejected(cause)
    assert endpoint.state is State.EJECTED and not endpoint.is_well
    is_known = cause is Cause.REPLICAS
    assert endpoint.step == (None if is_known else EjectionStep(5.0, 15.0, cause, 1))
    assert endpoint.failures_in_a_row == (0 if is_known else 5)


def test_one_that_is_back_tells_when() -> None:
    endpoint = ejected(Cause.SILENCE)
    endpoint.ejected_until = None
    endpoint.record().why = None
    assert endpoint.step == EjectionStep(5.0)


def test_it_waits_for_a_probe_when_its_time_is_over_and_nobody_probes_it() -> None:
    endpoint = ejected(Cause.SHARE)
    assert [awaits_probe(endpoint, now) for now in (14.9, 15.0)] == [False, True]
    endpoint.record().probe_until = 25.0
    assert [awaits_probe(endpoint, now) for now in (24.9, 25.0)] == [False, True]
    endpoint.fails_checks = True
    assert endpoint.state is State.FAILS_CHECKS
    assert not awaits_probe(endpoint, 25.0)


def test_a_suspicion_ends() -> None:
    endpoint = EndpointHealth()
    endpoint.record().suspected_until = 10.0
    assert [endpoint.is_suspected(now) for now in (9.9, 10.0)] == [True, False]
