"""An installation that runs the plain source is told to its operator; a checkout is meant to run it."""

from __future__ import annotations

from balancer.runtime.build import COMPILED, PLAIN
from ingress.findings import Severity
from ingress.following.build_findings import REASON, findings_of_build


def test_an_installation_that_runs_the_plain_source_has_a_finding_that_harms_nobody() -> None:
    (finding,) = findings_of_build(PLAIN, is_checkout=False)
    assert (finding.reason, finding.severity) == (REASON, Severity.COSMETIC)
    assert "ZONAL_PURE" in finding.message


def test_a_compiled_installation_and_a_checkout_have_none() -> None:
    assert findings_of_build(COMPILED, is_checkout=False) == ()
    assert findings_of_build(PLAIN, is_checkout=True) == ()
