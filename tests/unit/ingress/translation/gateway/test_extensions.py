"""ExtensionRef filters: hooks of the operator by name, and what cannot be resolved."""

from __future__ import annotations

from typing import Any

import pytest

from balancer.model.hooks import HookCode, HookPhase
from ingress.objects.gateway_routes import HttpRoute
from ingress.settings.hooks import RegisteredHook
from ingress.translation.gateway.extensions import GROUP, KIND, Extensions, read_extensions
from tests.unit.ingress.translation.gateway.objects import read

HOOK = RegisteredHook(HookCode("stamp", "abc"), (HookPhase("request", 0.05),), schema='{"type": "object"}')


def extension(name: str = "stamp", group: str = GROUP, kind: str = KIND) -> dict[str, Any]:
    return {"type": "ExtensionRef", "extensionRef": {"group": group, "kind": kind, "name": name}}


def extensions(*rules: list[dict[str, Any]], settings: str = "") -> Extensions:
    route = read("HTTPRoute", "route", rules=[{"filters": filters} for filters in rules])
    assert isinstance(route, HttpRoute)
    said = {"zonal-ingress.io/hook-stamp": settings} if settings else {}
    return read_extensions(route.spec.rules, said, (HOOK,))


def test_a_hook_is_asked_by_the_rules_that_name_it() -> None:
    found = extensions([], [extension()], settings='{"colour": "red"}')
    assert found.problems == {}
    assert [(number, [each.name for each in rules]) for number, rules in found.hooks.items()] == [(1, ["stamp"])]
    assert found.hooks[1][0].settings == '{"colour": "red"}'


def test_a_hook_that_is_named_twice_is_asked_once() -> None:
    assert len(extensions([extension(), extension()]).hooks[0]) == 1


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        (extension("none"), "InvalidFilter"),
        (extension(kind="Filter"), "InvalidKind"),
        (extension(group="example.net"), "InvalidKind"),
        ({"type": "ExtensionRef"}, "InvalidFilter"),
    ],
)
def test_what_is_not_known_is_a_problem_of_its_rule(said: dict[str, Any], reason: str) -> None:
    found = extensions([extension(), said], [])
    assert found.hooks == {}
    assert [(number, each.reason) for number, each in found.problems.items()] == [(0, reason)]


def test_settings_that_do_not_fit_are_a_problem() -> None:
    assert extensions([extension()], settings="[]").problems[0].reason == "InvalidFilter"


def test_filters_of_backends_are_resolved_for_each_backend() -> None:
    backends = [{"name": "a", "filters": [extension()]}, {"name": "b"}, {"name": "c", "filters": [extension("none")]}]
    route = read("HTTPRoute", "route", rules=[{}, {"backendRefs": backends}])
    assert isinstance(route, HttpRoute)
    found = read_extensions(route.spec.rules, {}, (HOOK,))
    assert [*found.backend_hooks] == [(1, 0)]
    assert [(place, each.reason) for place, each in found.backend_problems.items()] == [((1, 2), "InvalidFilter")]
    assert not found.hooks and not found.problems
