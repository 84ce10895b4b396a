"""What a status cannot say about routes is a finding."""

from __future__ import annotations

from typing import Any

import pytest

from ingress.findings import Findings
from ingress.objects.kinds import KubernetesObject
from ingress.translation.gateway.route_findings import note_routes
from tests.unit.ingress.cluster import reasons
from tests.unit.ingress.translation.gateway.objects import gateway, http_route, listener, read_all

ALL = {"namespaces": {"from": "All"}}
TLS = {"certificateRefs": [{"name": "cert"}]}


def found(*objects: KubernetesObject) -> list[tuple[str, str]]:
    findings = Findings()
    note_routes(read_all(*objects).sums.noted, findings)
    return reasons(findings.frozen())


def redirect(**said: Any) -> dict[str, Any]:
    return {"filters": [{"type": "RequestRedirect", "requestRedirect": said}]}


def test_a_hostname_of_two_namespaces_is_told_to_the_younger_route() -> None:
    ours, theirs = (
        http_route("ours", hostnames=["a.test"]),
        http_route("theirs", namespace="shop", hostnames=["a.test"]),
    )
    rules = [{"matches": [{"path": {"value": "/x"}}]}]
    longer = http_route("theirs", namespace="shop", hostnames=["a.test"], rules=rules)
    assert found(gateway(listener(allowedRoutes=ALL)), ours, longer) == [("theirs", "HostnameShared")]
    assert ("theirs", "HostnameShared") in found(gateway(listener(allowedRoutes=ALL)), ours, theirs)
    other = http_route("theirs", namespace="shop", hostnames=["b.test"])
    assert found(gateway(listener(allowedRoutes=ALL)), ours, other) == []


def test_a_rule_that_others_shadow_for_every_name_gets_no_request() -> None:
    first, second = http_route("a", hostnames=["a.test", "b.test"]), http_route("b", hostnames=["a.test"])
    assert found(gateway(), first, second) == [("b", "Shadowed")]
    assert found(gateway(), second, http_route("c", hostnames=["a.test", "c.test"])) == []
    assert found(gateway(), http_route("d", rules=[{}, {}])) == [("d", "Shadowed")]


@pytest.mark.parametrize(
    ("rule", "loops"),
    [
        (redirect(scheme="https"), True),
        (redirect(scheme="https", port=443), True),
        (redirect(), True),
        (redirect(scheme="http"), False),
        (redirect(scheme="https", port=8443), False),
        (redirect(hostname="a.test"), True),
        (redirect(hostname="b.test"), False),
        (redirect(path={"type": "ReplaceFullPath", "replaceFullPath": "/"}), True),
        (redirect(path={"type": "ReplaceFullPath", "replaceFullPath": "/x"}), False),
        (redirect(path={"type": "ReplacePrefixMatch", "replacePrefixMatch": ""}), True),
        (redirect(path={"type": "ReplacePrefixMatch", "replacePrefixMatch": "/x"}), False),
    ],
)
def test_a_redirect_to_its_own_place_is_a_loop(rule: dict[str, Any], loops: bool) -> None:
    at = gateway(listener("https", 443, "HTTPS", tls=TLS))
    assert found(at, http_route(rules=[rule], hostnames=["a.test"])) == ([("route", "RedirectLoop")] if loops else [])


@pytest.mark.parametrize(
    "match",
    [
        {"path": {"type": "RegularExpression", "value": "/["}},
        {"path": {"value": "admin"}},
        {"headers": [{"name": "a", "type": "Odd", "value": "b"}]},
    ],
)
def test_who_takes_the_requests_of_a_rule_without_a_place_is_told(match: dict[str, Any]) -> None:
    unreadable, other = {"matches": [match]}, {"matches": [{"path": {"value": "/a"}}]}
    findings = Findings()
    note_routes(read_all(gateway(), http_route(rules=[other, unreadable])).sums.noted, findings)
    (finding,) = findings.frozen()
    assert finding.reason == "MatchUnreadable"
    assert finding.message.startswith("Rule 1 has a match that cannot be read")
    assert "goes to rule 0 or to those of other routes" in finding.message


def test_a_rule_that_keeps_its_place_is_left_out() -> None:
    kept = {"matches": [{"path": {"value": "/admin"}}], "timeouts": {"request": "soon"}}
    assert found(gateway(), http_route(rules=[kept, {}])) == []


def test_refused_routes_and_those_that_are_nowhere_attached_are_left_out() -> None:
    lost = http_route("lost", parentRefs=[{"name": "gw", "sectionName": "no"}])
    assert found(gateway(), lost, http_route("also", rules=[{"matches": [{"method": "BREW"}]}])) == []
