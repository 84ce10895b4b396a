"""Every path of a host has what the snippets of its levels say."""

from __future__ import annotations

from balancer.errors import ErrorKind
from balancer.model.gates import SourceRanges
from balancer.model.redirects import NameRedirect
from balancer.model.routes import Host
from balancer.model.scripts import FieldChange, HostScript, OrderedEdits
from ingress.findings import Severity
from ingress.translation.assembly import Translation
from tests.unit.ingress.cluster import config_map, ingress, nginx, path, rule, service, translated

ALLOWED = {"allow-snippet-annotations": "true", "annotations-risk-level": "Critical"}
DENIED = SourceRanges(denied=("10.0.0.1/32",))


def hosts_of(translation: Translation) -> dict[str, Host]:
    return {host.name: host for host in translation.model.hosts}


def test_the_oldest_snippet_of_a_host_holds_for_the_paths_of_all() -> None:
    first = ingress("a", rule("a.test", path("/a")), annotations=nginx(server_snippet="deny 10.0.0.1;"))
    said = nginx(server_snippet="deny 10.0.0.2;")
    second = ingress("b", rule("a.test", path("/b")), created="2025-01-01T00:00:00Z", annotations=said)
    made = translated(first, second, service(), config_map(**ALLOWED))
    host = hosts_of(made)["a.test"]
    assert [DENIED in route.gates for route in host.routes] == [True, True]
    conflict = next(finding for finding in made.findings if finding.reason == "Conflict")
    assert (conflict.name, conflict.severity) == ("b", Severity.DEGRADED)


def test_a_snippet_of_another_tenant_than_the_first_on_a_host_holds_for_its_own_paths_alone() -> None:
    first = ingress("a", rule("a.test", path("/a")))
    lost = ingress(
        "b",
        rule("a.test", path("/a")),
        namespace="other",
        created="2026-01-01T00:00:00Z",
        annotations=nginx(server_snippet="deny 10.0.0.1;"),
    )
    younger = ingress(
        "c",
        rule("a.test", path("/c")),
        namespace="third",
        created="2026-02-01T00:00:00Z",
        annotations=nginx(server_snippet="deny 10.0.0.1;"),
    )
    made = translated(first, lost, younger, service(), service(namespace="third"), config_map(**ALLOWED))
    host = hosts_of(made)["a.test"]
    assert {route.path: DENIED in route.gates for route in host.routes} == {"/a": False, "/c": True}
    assert host.default is None
    assert {each.name for each in made.findings if "of another namespace has host" in each.message} == {"b", "c"}
    own = ingress("o", rule("a.test", path("/o")), annotations=nginx(server_snippet="deny 10.0.0.1;"))
    made = translated(first, own, younger, service(), service(namespace="third"), config_map(**ALLOWED))
    assert all(DENIED in route.gates for route in hosts_of(made)["a.test"].routes)


def test_requests_that_no_path_matches_are_judged_too() -> None:
    web = ingress("a", rule("a.test", path("/a")), annotations=nginx(server_snippet="return 403;"))
    host = hosts_of(translated(web, service(), config_map(**ALLOWED)))["a.test"]
    assert host.default is not None
    assert host.default.main.error is ErrorKind.NO_ROUTE
    assert [type(gate) for gate in host.default.gates] == [HostScript]


def test_without_snippets_a_host_stays_as_it_is() -> None:
    web = ingress("a", rule("a.test", path("/a")))
    assert hosts_of(translated(web, service(), config_map(**ALLOWED)))["a.test"].default is None


def test_a_name_that_only_redirects_has_no_snippets() -> None:
    said = nginx(from_to_www_redirect="true", server_snippet="deny 10.0.0.1;")
    twin = hosts_of(translated(ingress("a", rule("a.test"), annotations=said), service(), config_map(**ALLOWED)))[
        "www.a.test"
    ]
    assert twin.default is not None
    assert [type(gate) for gate in twin.default.gates] == [NameRedirect]


def test_expressions_and_defaults_have_them_too() -> None:
    said = nginx(use_regex="true", configuration_snippet="more_set_headers 'X-A: 1';")
    web = ingress("a", rule("a.test", path("/a.*", "ImplementationSpecific")), annotations=said)
    host = hosts_of(translated(web, service(), config_map(**ALLOWED)))["a.test"]
    assert host.routes[0].response_rules == (OrderedEdits(changes=(FieldChange("X-A", "1"),)),)


def test_a_snippet_that_does_not_fit_closes_the_path_alone() -> None:
    said = nginx(configuration_snippet="deny all;", whitelist_source_range="10.0.0.0/8")
    web = ingress("a", rule("a.test", path("/a")), annotations=said)
    other = ingress("b", rule("a.test", path("/b")))
    made = translated(web, other, service(), config_map(**ALLOWED))
    assert [route.closed for route in hosts_of(made)["a.test"].routes] == [True, False]
    assert any("A snippet does not fit" in finding.message for finding in made.findings)
