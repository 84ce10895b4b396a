"""What ingress-nginx does as well is no change, and the reason says why."""

from __future__ import annotations

import pytest

from ingress.findings import Finding, Severity
from ingress.migration.today import AS_TODAY, because, changing, same


def finding(reason: str, kind: str = "Service") -> Finding:
    return Finding(kind, "shop", "web", reason=reason, message="M.", effect="E.", severity=Severity.CLOSED)


@pytest.mark.parametrize("reason", AS_TODAY)
def test_a_reason_of_the_table_is_no_change(reason: str) -> None:
    assert "too" in because(finding(reason))
    assert changing([finding(reason)]) == ()
    assert same([finding(reason)]) == (finding(reason),)


def test_what_an_ingress_of_another_controller_wins_is_a_change() -> None:
    lost = Finding(
        "Ingress",
        "shop",
        "web",
        reason="Conflict",
        message="Taken by Ingress shop/mine: change one.",
        effect="",
        severity=Severity.MISROUTED,
    )
    assert because(lost)
    assert not because(lost, {"shop/mine"})


@pytest.mark.parametrize("other", [finding("EndpointRefused"), finding("Conflict", kind="HTTPRoute")])
def test_other_findings_are_changes(other: Finding) -> None:
    assert changing([other]) == (other,)
    assert same([other]) == ()


@pytest.mark.parametrize("reason", ["CanaryWithoutMain", "AuthUrlMissing"])
def test_what_an_annotation_does_for_nobody_is_no_change(reason: str) -> None:
    assert because(finding(reason, kind="Ingress"))


@pytest.mark.parametrize(
    ("message", "is_same"),
    [
        ('Annotation nginx.ingress.kubernetes.io/backend-protocol is "HTPS": use HTTP.', True),
        ('temporal-redirect is "-5x": use a URL with http or https.', True),
        ('Annotation nginx.ingress.kubernetes.io/proxy-read-timeout is "x": use seconds.', False),
    ],
)
def test_an_invalid_value_that_ingress_nginx_drops_as_well_is_no_change(message: str, is_same: bool) -> None:
    told = Finding("Ingress", "shop", "web", "InvalidValue", message, "No effect.", Severity.MISROUTED)
    assert bool(because(told)) is is_same
