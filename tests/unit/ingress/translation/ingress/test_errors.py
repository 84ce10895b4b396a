"""What an Ingress says about errors, beside what the ConfigMap says."""

from __future__ import annotations

import pytest

from ingress.findings import Findings, Severity, Subject
from ingress.settings.table.errors import ErrorSettings, StatusList
from ingress.settings.table.option import Overrides
from ingress.translation.claims import StandInClaim
from ingress.translation.denying import Denied
from ingress.translation.ingress.errors import stand_in_claim

CLUSTER = ErrorSettings(StatusList((500,)), leaves_endpoints=True)
REPORT = Findings().about(Subject("Ingress", "shop", "web"))


def claimed(cluster: ErrorSettings = CLUSTER, **own: object) -> StandInClaim:
    return stand_in_claim(Overrides({ErrorSettings: own}), cluster, REPORT)


def test_the_list_of_the_configmap_has_the_pages_of_the_cluster() -> None:
    assert claimed(service="err") == StandInClaim("err", (500,), statuses_are_own=False, intercepts=False)
    assert claimed(ErrorSettings()) == StandInClaim()


def test_an_own_list_replaces_it() -> None:
    own = claimed(pages=StatusList((404,)), leaves_endpoints=False)
    assert own == StandInClaim("", (404,), statuses_are_own=True, intercepts=True)


def test_an_empty_list_is_as_if_there_were_none() -> None:
    assert claimed(pages=StatusList()).statuses == (500,)


def test_a_list_with_something_else_denies() -> None:
    findings = Findings()
    own = Overrides({ErrorSettings: {"pages": StatusList((404,), ("abc",))}})
    with pytest.raises(Denied):
        stand_in_claim(own, CLUSTER, findings.about(Subject("Ingress", "shop", "web")))
    (finding,) = findings.frozen()
    assert (finding.reason, finding.severity) == ("ClosedByAnnotation", Severity.CLOSED)
