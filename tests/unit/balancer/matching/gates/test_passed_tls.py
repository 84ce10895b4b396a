"""Requests over TLS for a host that passes through are sent back; those in the clear go on."""

from __future__ import annotations

import pytest

from balancer.errors import ErrorKind
from balancer.http.origin import Origin
from balancer.matching.gates.passed_tls import PassedTlsGate
from balancer.matching.gates.verdicts import Asked, Deny, Go
from balancer.model.entry_points import HTTP, HTTPS
from tests.questions import question_of


@pytest.mark.parametrize(("secure", "verdict"), [(True, Deny(ErrorKind.MISDIRECTED)), (False, Go())])
def test_tls_that_ended_here_is_misdirected(secure: bool, verdict: Deny | Go) -> None:
    request = question_of("http://vault.test/a").request
    gate = PassedTlsGate()
    asked = Asked(request, Origin(peer="", entry_point=HTTPS if secure else HTTP), secure)
    assert gate.judge(asked, lambda _: None) == verdict
    assert gate.describe().is_foreseen
