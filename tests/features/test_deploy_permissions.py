"""The roles allow exactly the calls that zonal makes, and each optional permission can be left out alone."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator

import pytest

from ingress.objects.converting import record_of
from ingress.objects.kinds import OPTIONAL_KINDS
from ingress.objects.metadata import Reported
from ingress.sources.kubernetes.resources import RESOURCES
from tests.features.deploying.permissions import Grant, grants, unbound
from tests.features.deploying.rendering import CHOICES, MANIFESTS, chart, documents, manifests

_READ = ("list", "watch")
_ROUTES = ("networking.k8s.io/ingresses", "services", "discovery.k8s.io/endpointslices")
_CLASSES = "networking.k8s.io/ingressclasses"
_LEASES = "coordination.k8s.io/leases"


def _each(
    role: str, namespace: str, resources: Iterable[str], verbs: tuple[str, ...], *, names: tuple[str, ...] = ()
) -> Iterator[Grant]:
    return (Grant(role, namespace, *both, names) for both in itertools.product(resources, verbs))


def _core(*namespaces: str, settings: tuple[str, ...] = ("zonal",)) -> Iterator[Grant]:
    """What zonal cannot do without, in the namespaces that it watches; none are all of them."""
    yield from _each("zonal", "", (_CLASSES,), _READ)
    for namespace in namespaces or ("",):
        yield from _each("zonal", namespace, _ROUTES, _READ)
    yield from _each("zonal-settings", "zonal", ("configmaps",), _READ, names=settings)


def _nodes() -> Iterator[Grant]:
    return _each("zonal-nodes", "", ("nodes",), ("get", *_READ))


def _writing(*namespaces: str) -> Iterator[Grant]:
    """Status, Events and the Lease that decides who writes them."""
    for namespace in namespaces or ("",):
        yield Grant("zonal-status", namespace, "networking.k8s.io/ingresses/status", "patch")
        yield Grant("zonal-events", namespace, "events.k8s.io/events", "create")
    yield Grant("zonal-leader", "zonal", _LEASES, "create")
    yield from _each("zonal-leader", "zonal", (_LEASES,), ("get", "update"), names=("zonal-leader",))


def _fleet() -> Iterator[Grant]:
    """Leases by which replicas believe each other."""
    return _each("zonal-fleet", "zonal", (_LEASES,), ("create", "list"))


def _secrets(namespace: str, *names: str) -> Iterator[Grant]:
    return _each("zonal-secrets", namespace, ("secrets",), _READ, names=names)


def _config_maps(namespace: str, *names: str) -> Iterator[Grant]:
    return _each("zonal-config-maps", namespace, ("configmaps",), _READ, names=names)


def _own_service() -> Iterator[Grant]:
    return _each("zonal-own-service", "zonal", ("services",), ("list",), names=("zonal",))


_GATEWAY = "gateway.networking.k8s.io"


def _gateways(*namespaces: str, shared: bool = False) -> Iterator[Grant]:
    """What Gateway API needs: reading it, and the parts that can be left out."""
    classes = (f"{_GATEWAY}/gatewayclasses", f"{_GATEWAY}/gatewayclasses/status", "namespaces")
    resources = [RESOURCES[kind] for kind in OPTIONAL_KINDS]
    names = tuple(f"{each.group}/{each.plural}" if each.group else each.plural for each in resources)
    yield from _each("zonal-gateway", "", [each for each in names if each in classes], _READ)
    for namespace in namespaces or ("",):
        yield from _each("zonal-gateway", namespace, [each for each in names if each not in classes], _READ)
    reported = [RESOURCES[kind] for kind in OPTIONAL_KINDS if issubclass(record_of(kind), Reported)]
    statuses = tuple(f"{each.group}/{each.plural}/status" for each in reported)
    yield from _each("zonal-gateway-status", "", [each for each in statuses if each in classes], ("patch",))
    for namespace in namespaces or ("",):
        yield from _each(
            "zonal-gateway-status", namespace, [each for each in statuses if each not in classes], ("patch",)
        )
    yield Grant("zonal-gateway-classes", "", f"{_GATEWAY}/gatewayclasses", "patch")
    definitions = "apiextensions.k8s.io/customresourcedefinitions"
    yield Grant("zonal-gateway-version", "", definitions, "get", (f"gatewayclasses.{_GATEWAY}",))
    if not shared:
        yield from _each("zonal-gateway-services", "zonal", ("services",), ("create", "delete", "patch"))


EXPECTED: dict[str, list[Grant]] = {
    "default": [*_core(), *_nodes(), *_writing()],
    "daemonset": [*_core(), *_nodes(), *_writing()],
    "monitored": [*_core(), *_nodes(), *_writing(), *_fleet()],
    "least": [*_core()],
    "gateways": [
        *(*_core(settings=("zonal", "zonal-tcp")), *_nodes(), *_writing(), *_gateways()),
        *_each("zonal-gateway-aliases", "", ("services",), ("create", "delete", "patch")),
    ],
    "shared-gateways": [
        *(*_core("shop"), *_nodes(), *_writing("shop"), *_own_service()),
        *_gateways("shop", shared=True),
    ],
    "tcp": [*_core(settings=("zonal", "zonal-tcp")), *_nodes(), *_writing()],
    "everything": [
        *(*_core(), *_nodes(), *_writing(), *_secrets("shop"), *_config_maps("shop")),
        Grant("zonal-pods", "zonal", "pods", "list"),
    ],
    "namespaces": [
        *(*_core("shop", "blog"), *_nodes(), *_writing("shop", "blog"), *_own_service()),
        *(*_secrets("shop", "shop-tls", "cart-tls"), *_config_maps("shop", "auth-fields")),
    ],
    "every-secret": [*_core("shop"), *_nodes(), *_writing("shop"), *_secrets(""), *_config_maps("")],
}


def test_every_choice_has_its_table() -> None:
    assert sorted(EXPECTED) == sorted(CHOICES)


@pytest.mark.parametrize("choice", CHOICES)
def test_the_chart_grants_exactly_what_is_called(choice: str) -> None:
    assert grants(chart(choice)) == sorted(EXPECTED[choice])


def test_the_manifests_grant_exactly_what_is_called() -> None:
    assert grants(manifests()) == sorted(EXPECTED["default"])


def test_gateway_api_has_roles_that_nobody_gets_unasked() -> None:
    own = documents((MANIFESTS / "rbac-gateway.yaml").read_text())
    assert grants(own) == sorted(_gateways())
    assert unbound(own) == []


@pytest.mark.parametrize("choice", CHOICES)
def test_every_role_is_bound_to_our_account_and_to_nobody_else(choice: str) -> None:
    assert unbound(chart(choice)) == []
    assert unbound(manifests()) == []


@pytest.mark.parametrize("choice", CHOICES)
def test_nothing_is_granted_by_wildcard_and_secrets_are_never_written(choice: str) -> None:
    given = grants(chart(choice))
    assert not [grant for grant in given if "*" in grant.resource + grant.verb]
    assert {grant.verb for grant in given if grant.resource == "secrets"} <= set(_READ)


def test_no_role_is_about_two_optional_things() -> None:
    optional: dict[str, set[str]] = {}
    for grant in (grant for choice in CHOICES for grant in grants(chart(choice))):
        optional.setdefault(grant.role, set()).add(grant.resource)
    for role in ("zonal", "zonal-gateway", "zonal-gateway-status"):  # these are about kinds that belong together
        del optional[role]
    assert {role: about for role, about in optional.items() if len(about) > 1} == {}
