"""Judges Gateways and routes of a dump as Ingresses are judged: one verdict for each, from the findings about it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from ingress.findings import Finding
from ingress.migration.today import changing
from ingress.migration.verdicts import RouteReview, outcome_of
from ingress.objects.gateway import BackendTlsPolicy, Gateway, ListenerSet
from ingress.objects.gateway_routes import GrpcRoute, HttpRoute, TcpRoute, TlsRoute
from ingress.objects.kinds import Kind, KubernetesObject, key_of
from ingress.sources.inventory import Inventory

_JUDGED: tuple[type[KubernetesObject], ...] = (
    Gateway,
    ListenerSet,
    HttpRoute,
    GrpcRoute,
    TlsRoute,
    TcpRoute,
    BackendTlsPolicy,
)

REVIEWED = frozenset(kind.kind.value for kind in _JUDGED)
"""The kinds that have verdicts."""


def ports_of(inventory: Inventory) -> tuple[tuple[int, str], ...]:
    """The ports of all listeners, each as if a port of that number were bound for it."""
    found = {listener.port for each in inventory.of(Gateway) for listener in each.spec.listeners}
    found |= {listener.port for each in inventory.of(ListenerSet) for listener in each.spec.listeners}
    return tuple((port, str(port)) for port in sorted(found))


def route_reviews(
    inventory: Inventory,
    about: Mapping[tuple[str, str, str], Sequence[Finding]],
    standing: Collection[tuple[str, str, str]],
    origins: Mapping[tuple[Kind, str, str], str],
) -> Iterator[RouteReview]:
    """The verdict on each Gateway and route that a Gateway of the dump concerns.

    `about` are the findings by kind, namespace and name, `standing` the objects that have a status of ours.
    """
    for kind in _JUDGED:
        for each in sorted(inventory.of(kind), key=key_of):
            namespace, name = key_of(each)
            subject = (each.kind.value, namespace, name)
            if subject in standing:
                found = tuple(changing(about.get(subject, ())))
                yield RouteReview(
                    kind=each.kind.value,
                    namespace=namespace,
                    name=name,
                    verdict=outcome_of(found),
                    file=origins.get((each.kind, namespace, name), ""),
                    remarks=found,
                )
