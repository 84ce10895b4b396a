"""Copies never go into this pod or its cloud unless the operator allows local endpoints."""

from __future__ import annotations

import pytest

from balancer.model.mirroring import Mirroring
from balancer.model.routes import Owner, PathKind
from ingress.findings import Findings, Severity, Subject
from ingress.translation.claims import Claim
from ingress.translation.mirrors import permitted_mirroring


def permitted(target: str | None, *, allow_local: bool = False) -> tuple[Mirroring | None, list[Severity]]:
    mirroring = Mirroring(target, "m.test") if target is not None else None
    owner = Owner("Ingress", "shop", "web")
    claim = Claim(owner, "shop.test", "/", PathKind.PREFIX, (), mirroring=mirroring)
    findings = Findings()
    report = findings.about(Subject("Ingress", "shop", "web"))
    return permitted_mirroring(claim, report, allow_local=allow_local), [each.severity for each in findings.frozen()]


@pytest.mark.parametrize(
    "target",
    ["http://127.0.0.1:80/", "http://[::1]/x", "http://169.254.169.254/latest", "http://2130706433/", "http://127.1/"],
)
def test_a_local_address_is_refused_with_a_finding(target: str) -> None:
    assert permitted(target) == (None, [Severity.DEGRADED])
    assert permitted(target, allow_local=True) == (Mirroring(target, "m.test", allow_local=True, tenant="shop"), [])


def test_a_name_is_looked_up_when_a_copy_leaves() -> None:
    assert permitted("http://m.test/") == (Mirroring("http://m.test/", "m.test", tenant="shop"), [])


def test_without_a_target_nothing_is_copied() -> None:
    assert permitted(None) == (None, [])
    assert permitted(None, allow_local=True) == (None, [])
