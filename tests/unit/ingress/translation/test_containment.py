"""A mistake of ours costs the object that brings it to light, and no other."""

from __future__ import annotations

from typing import cast

import msgspec
import pytest

from ingress.findings import Findings, Severity, Subject
from ingress.objects.kinds import IngressRule, IngressSpec, Service, ServicePort
from ingress.translation.containment import contained
from tests.unit.ingress.cluster import (
    backend,
    endpoint_slice,
    ingress,
    ingress_class,
    path,
    rule,
    service,
    translated,
)

BROKEN_RULE = cast("IngressRule", None)
BROKEN_PORT = cast("ServicePort", None)


def broken_service() -> Service:
    whole = service("broken")
    return msgspec.structs.replace(whole, spec=msgspec.structs.replace(whole.spec, ports=(BROKEN_PORT,)))


def test_what_fails_is_a_finding_that_says_where_and_quotes_nothing() -> None:
    def fail() -> int:
        raise ValueError("a secret")

    findings = Findings()
    assert (
        contained(
            lambda: 7, findings.about(Subject("Ingress", "shop", "web")), effect="None.", severity=Severity.DEGRADED
        )
        == 7
    )
    assert (
        contained(fail, findings.about(Subject("Ingress", "shop", "web")), effect="None.", severity=Severity.DEGRADED)
        is None
    )
    (finding,) = findings.frozen()
    assert (finding.reason, finding.effect) == ("InternalError", "None.")
    assert "ValueError, test_containment.py line " in finding.message
    assert "secret" not in finding.message


@pytest.mark.parametrize(
    ("broken", "left"),
    [
        pytest.param(
            msgspec.structs.replace(ingress("odd"), spec=IngressSpec("zonal", rules=(BROKEN_RULE,))),
            {"shop.test": "shop/cart:80"},
            id="an Ingress",
        ),
        pytest.param(broken_service(), {"odd.test": None, "shop.test": "shop/cart:80"}, id="a Service"),
    ],
)
def test_the_others_are_served(broken: object, left: dict[str, str | None]) -> None:
    odd = ingress("odd", rule("odd.test", path("/", to=backend("broken"))))
    items = {(type(item), item.metadata.name): item for item in (odd, cast("Service", broken))}
    others = (ingress_class(), service(), endpoint_slice(), ingress("web", rule("shop.test")))
    result = translated(*others, *items.values())
    assert {host.name: host.routes[0].main.backend for host in result.model.hosts} == left
    assert "InternalError" in {finding.reason for finding in result.findings}
