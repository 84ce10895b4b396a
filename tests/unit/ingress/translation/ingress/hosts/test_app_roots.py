"""app-root redirects the path / of a host, whoever claims the path in the same namespace."""

from __future__ import annotations

import pytest

from balancer.model.redirects import AppRoot
from balancer.model.routes import Host, PathKind, Route
from ingress.findings import Finding, Severity
from ingress.objects.kinds import Ingress
from tests.unit.ingress.cluster import backend, ingress, nginx, path, rule, service, translated

APP = nginx(app_root="/app")


def host(*ingresses: Ingress) -> tuple[Host, tuple[Finding, ...]]:
    made = translated(*ingresses, service(), service(namespace="other"))
    (only,) = made.model.hosts
    return only, made.findings


def root(only: Host) -> Route:
    return next(each for each in only.routes if (each.path, each.kind) == ("/", PathKind.EXACT))


def others(only: Host) -> list[Route]:
    return [each for each in only.routes if each is not root(only)]


@pytest.mark.parametrize("kind", ["Prefix", "Exact"])
def test_the_root_alone_gets_the_redirect(kind: str) -> None:
    only, findings = host(ingress("web", rule("shop.test", path("/", kind), path("/app")), annotations=APP))
    assert findings == ()
    assert root(only).gates == (AppRoot("/app"),)
    assert all(each.gates == () for each in others(only))


def test_no_path_is_needed() -> None:
    only, findings = host(ingress("web", rule("shop.test", path("/app")), annotations=APP))
    assert findings == ()
    assert root(only).gates == (AppRoot("/app"),)
    assert root(only).owner.name == "web"


def test_a_default_backend_keeps_the_other_paths() -> None:
    only, _ = host(ingress("web", rule("shop.test", path("/app")), annotations=APP, default=backend()))
    assert root(only).gates == (AppRoot("/app"),)
    assert only.default is not None
    assert only.default.gates == ()


def test_the_root_of_another_ingress_keeps_its_own_gates() -> None:
    ranges = nginx(denylist_source_range="10.0.0.0/8")
    only, findings = host(
        ingress("web", rule("shop.test", path("/app")), annotations=APP),
        ingress("start", rule("shop.test", path("/")), annotations=ranges),
    )
    assert findings == ()
    assert root(only).gates[0] == AppRoot("/app")
    assert (root(only).owner.name, len(root(only).gates)) == ("start", 2)


def test_the_root_of_another_namespace_is_not_redirected() -> None:
    only, (finding,) = host(
        ingress("web", rule("shop.test", path("/app")), annotations=APP),
        ingress("start", rule("shop.test", path("/")), namespace="other"),
    )
    assert not any(each.gates for each in only.routes)
    assert (finding.name, finding.severity, finding.reason) == ("web", Severity.MISROUTED, "NotRedirected")


def test_of_several_the_one_with_the_longest_path_counts() -> None:
    only, _ = host(
        ingress("short", rule("shop.test", path("/a")), annotations=nginx(app_root="/a")),
        ingress("long", rule("shop.test", path("/long")), annotations=nginx(app_root="/long")),
    )
    assert root(only).gates == (AppRoot("/long"),)


def test_a_closed_ingress_redirects_nothing() -> None:
    said = {**APP, **nginx(force_ssl_redirect="perhaps")}
    only, _ = host(ingress("web", rule("shop.test", path("/app")), annotations=said))
    assert [each.path for each in only.routes] == ["/app"]


def test_in_regex_mode_the_redirect_is_tried_first_and_is_for_the_root_alone() -> None:
    said = {**APP, **nginx(use_regex="true")}
    only, findings = host(ingress("web", rule("shop.test", path("/"), path("/app.*")), annotations=said))
    assert findings == ()
    first, *rest = only.routes
    assert (first.expression, first.kind, first.gates) == ("^/$", PathKind.REGEX, (AppRoot("/app"),))
    assert [each.gates for each in rest] == [(), ()]


def test_in_regex_mode_another_namespace_keeps_its_root() -> None:
    said = {**APP, **nginx(use_regex="true")}
    only, findings = host(
        ingress("web", rule("shop.test", path("/app.*")), annotations=said),
        ingress("start", rule("shop.test", path("/")), namespace="other"),
    )
    assert not any(each.gates for each in only.routes)
    assert [finding.reason for finding in findings if finding.name == "web"] == ["NotRedirected"]


def test_a_longer_path_of_another_namespace_takes_no_app_root_away() -> None:
    only, findings = host(
        ingress("web", rule("shop.test", path("/app")), annotations=APP),
        ingress("start", rule("shop.test", path("/"))),
        ingress("long", rule("shop.test", path("/long/path")), namespace="young", annotations=nginx(app_root="/l")),
    )
    assert root(only).gates == (AppRoot("/app"),)
    assert [each.namespace for each in findings if each.reason == "NotRedirected"] == ["young"]
