"""Which hooks an Ingress asks: from its annotations to gates of its routes, or to closed paths."""

from __future__ import annotations

from collections.abc import Mapping

from balancer.model.hooks import HookCode, HookPhase, HookRule
from balancer.model.routes import Route
from ingress.findings import Finding
from ingress.objects.converting import decode
from ingress.settings.context import TranslationContext
from ingress.settings.hooks import RegisteredHook
from ingress.sources.events import Upserted
from ingress.sources.inventory import Inventory
from ingress.translation.assembly import translate
from tests.integration.manifests import ingress, ingress_class, path, rule, service

OWN = "zonal-ingress.io/"
HOOKS = tuple(RegisteredHook(HookCode(name, "d1"), (HookPhase("request", 0.02),)) for name in ("stamp", "tenant"))


def read(said: Mapping[str, str], hooks: tuple[RegisteredHook, ...] = HOOKS) -> tuple[Route, tuple[Finding, ...]]:
    """The route of an Ingress with these annotations, and what was wrong with it."""
    inventory = Inventory()
    for document in (ingress_class(), service("web"), ingress("a", rule("a.test", path("/", "web")), annotations=said)):
        item = decode(document)
        assert item is not None
        inventory.apply(Upserted(item))
    made = translate(inventory, TranslationContext(hooks=hooks))
    assert made.model.hooks == tuple(hook.code for hook in hooks)
    (host,) = made.model.hosts
    told = tuple(finding for finding in made.findings if finding.kind == "Ingress")
    return host.routes[0], tuple(each for each in told if "Hook" in each.reason or "Annotation" in each.reason)


def asked(route: Route) -> list[str]:
    return [gate.name for gate in route.gates if isinstance(gate, HookRule)]


def test_hooks_are_asked_in_their_order() -> None:
    route, findings = read({OWN + "hooks": "tenant, stamp"})
    assert (asked(route), route.closed, findings) == (["tenant", "stamp"], False, ())


def test_an_ingress_without_hooks_asks_none() -> None:
    route, findings = read({})
    assert (asked(route), route.closed, findings) == ([], False, ())


def test_an_unknown_hook_closes_the_path() -> None:
    route, findings = read({OWN + "hooks": "tenant"}, ())
    assert route.closed
    assert [finding.reason for finding in findings] == ["HookUnknown"]


def test_settings_that_do_not_fit_close_the_path() -> None:
    route, findings = read({OWN + "hooks": "tenant", OWN + "hook-tenant": "{}"})
    assert route.closed
    assert [finding.reason for finding in findings] == ["HookSettingsInvalid"]


def test_settings_of_a_hook_that_is_not_asked_are_told() -> None:
    route, findings = read({OWN + "hooks": "tenant", OWN + "hook-stamp": "{}"})
    assert (asked(route), route.closed) == (["tenant"], False)
    assert [finding.reason for finding in findings] == ["UnknownAnnotation"]


def test_a_list_that_names_no_hooks_closes_the_path() -> None:
    route, findings = read({OWN + "hooks": "No Hook"})
    assert route.closed
    assert [finding.reason for finding in findings] == ["ClosedByAnnotation"]
