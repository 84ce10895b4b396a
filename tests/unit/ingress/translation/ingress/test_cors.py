"""CORS of an Ingress: its gate, its edits, and what is said about origins that are none."""

from __future__ import annotations

import pytest

from balancer.model.edits import CorsFields
from balancer.model.gates import CorsPreflight, SourceRanges
from ingress.findings import Findings, Subject
from ingress.objects.kinds import Ingress
from ingress.settings.table.cors import CorsSettings, OriginList
from ingress.translation.ingress.cors import cors_rules
from tests.unit.ingress.cluster import backend, ingress, path, rule, service, translated

SUBJECT = Subject("Ingress", "shop", "web")


def test_without_cors_there_is_nothing() -> None:
    findings = Findings()
    assert cors_rules(CorsSettings(origins=OriginList((), ("x",))), findings.about(SUBJECT)) == ((), ())
    assert findings.frozen() == ()


def test_fields_come_in_the_order_of_ingress_nginx() -> None:
    settings = CorsSettings(True, methods="GET", headers="X-A", exposed="X-B", max_age_seconds=7)
    gates, (edit,) = cors_rules(settings, Findings().about(SUBJECT))
    assert gates == (CorsPreflight(("*",)),)
    assert edit == CorsFields(
        ("*",),
        (
            ("Access-Control-Allow-Credentials", "true"),
            ("Access-Control-Allow-Methods", "GET"),
            ("Access-Control-Allow-Headers", "X-A"),
            ("Access-Control-Expose-Headers", "X-B"),
            ("Access-Control-Max-Age", "7"),
        ),
    )


def test_what_is_off_or_empty_is_not_sent() -> None:
    _, (edit,) = cors_rules(CorsSettings(True, credentials=False), Findings().about(SUBJECT))
    assert isinstance(edit, CorsFields)
    names = [name for name, _ in edit.fields]
    assert "Access-Control-Allow-Credentials" not in names
    assert "Access-Control-Expose-Headers" not in names


def test_what_cannot_be_read_allows_nobody_and_is_said() -> None:
    findings = Findings()
    settings = CorsSettings(True, OriginList((), ("a", "b", "c", "d")), credentials=None)
    (gate,), (edit,) = cors_rules(settings, findings.about(SUBJECT))
    assert gate == CorsPreflight(())
    assert isinstance(edit, CorsFields)
    assert edit.origins == ()
    assert ("Access-Control-Allow-Credentials", "true") not in edit.fields
    origins, credentials = sorted(findings.frozen(), key=lambda finding: "credentials" in finding.message)
    assert origins.message.startswith('cors-allow-origin holds "a", "b", "c" and 1 more')
    assert credentials.reason == "InvalidValue"


@pytest.mark.parametrize("cors", [{}, {"enable-cors": "true"}, {"enable-cors": "true", "cors-max-age": "5"}])
def test_a_canary_has_the_cors_of_its_main_ingress_whatever_it_says(cors: dict[str, str]) -> None:
    def annotated(name: str, service_name: str, annotations: dict[str, str]) -> Ingress:
        ranges = {"whitelist-source-range": "10.0.0.0/8"}
        named = {f"nginx.ingress.kubernetes.io/{key}": text for key, text in (ranges | annotations).items()}
        return ingress(name, rule("shop.test", path(to=backend(service_name))), annotations=named)

    main = annotated("web", "cart", {"enable-cors": "true"})
    canary = annotated("trial", "next", {"canary": "true", "canary-weight": "50", **cors})
    made = translated(service("cart"), service("next"), main, canary)
    (route,) = made.model.hosts[0].routes
    assert [each.service.name for each in route.canaries] == ["next"]
    assert {type(gate) for gate in route.gates} == {CorsPreflight, SourceRanges}
    assert [type(rule) for rule in route.response_rules] == [CorsFields]
    assert made.findings == ()
