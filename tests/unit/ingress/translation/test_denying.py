"""What denies an Ingress closes all of its paths, and says so."""

from __future__ import annotations

import pytest

from ingress.findings import Findings, Severity, Subject
from ingress.translation.denying import CLOSED, Denied, deny


def test_a_denial_is_a_finding_that_closes_every_path() -> None:
    findings = Findings()
    with pytest.raises(Denied):
        deny(findings.about(Subject("Ingress", "shop", "web")), "It is so: change it.", reason="SignInDenied")
    (finding,) = findings.frozen()
    assert (finding.reason, finding.message) == ("SignInDenied", "It is so: change it.")
    assert (finding.severity, finding.effect) == (Severity.CLOSED, CLOSED)
