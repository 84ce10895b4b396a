"""An installation that runs the plain source, or a slow engine, is told to its operator."""

from __future__ import annotations

from balancer.runtime.build import COMPILED, PLAIN
from ingress.findings import Severity
from ingress.following.build_findings import REASON, SLOW_ENGINE, SLOW_TLS, findings_of_build


def test_an_installation_that_runs_the_plain_source_has_a_finding_that_harms_nobody() -> None:
    (finding,) = findings_of_build(PLAIN, is_checkout=False, shortfall="")
    assert (finding.reason, finding.severity) == (REASON, Severity.COSMETIC)
    assert "ZONAL_PURE" in finding.message


def test_a_compiled_installation_and_a_checkout_have_none() -> None:
    assert findings_of_build(COMPILED, is_checkout=False, shortfall="") == ()
    assert findings_of_build(PLAIN, is_checkout=True, shortfall="") == ()


def test_a_slow_engine_has_a_finding_that_says_why() -> None:
    (finding,) = findings_of_build(COMPILED, is_checkout=False, shortfall="ngh2 does not export nghttp2_strerror")
    assert (finding.reason, finding.severity) == (SLOW_ENGINE, Severity.COSMETIC)
    assert finding.message.startswith("ngh2 does not export nghttp2_strerror. ")


def test_both_may_be() -> None:
    both = findings_of_build(PLAIN, is_checkout=False, shortfall="No module named 'ngh2'")
    assert [each.reason for each in both] == [REASON, SLOW_ENGINE]


def test_slow_tls_has_a_finding_that_says_why() -> None:
    (finding,) = findings_of_build(
        COMPILED, is_checkout=False, shortfall="", shortfall_of_tls="ssl is a part of the interpreter"
    )
    assert (finding.reason, finding.severity) == (SLOW_TLS, Severity.COSMETIC)
    assert finding.message.startswith("ssl is a part of the interpreter. ")
