"""Beside ingress-nginx, and then in its place: each step of docs/migrate.md serves what the step before served."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import yaml

from balancer.model.publication import RoutingModel
from ingress.migration.moving import moved_ingress
from ingress.settings.context import TranslationContext
from ingress.sources.events import Upserted
from ingress.sources.inventory import Inventory
from ingress.sources.manifests import Manifest, merge, read_manifest
from ingress.translation.assembly import translate
from tests.integration.manifests import Document, ingress_class, service
from tests.unit.ingress.migration.dumped import nginx

BESIDE = TranslationContext()
INSTEAD = TranslationContext(controller_class="k8s.io/ingress-nginx", ingress_class="nginx")


def served(context: TranslationContext, documents: Iterable[Document]) -> RoutingModel:
    data = yaml.safe_dump_all([*documents]).encode()
    inventory = Inventory()
    for each in merge({"a.yaml": read_manifest(data, path="a.yaml", last=Manifest())}).objects.values():
        inventory.apply(Upserted(each))
    return translate(inventory, context).model


def places(model: RoutingModel) -> set[tuple[Any, ...]]:
    return {(host.name, route.path, route.main.backend, route.gates) for host in model.hosts for route in host.routes}


def test_each_step_serves_what_the_one_before_served() -> None:
    theirs = ingress_class("nginx") | {"spec": {"controller": "k8s.io/ingress-nginx"}}
    old = [nginx("web", whitelist_source_range="10.0.0.0/8"), nginx("api", "/api", "api")]
    cluster = [theirs, ingress_class(), service("cart"), service("api"), *old]
    assert places(served(BESIDE, cluster)) == set()  # theirs alone
    moved = [moved_ingress(each, class_name="zonal", suffix="zonal").document for each in old]
    beside = places(served(BESIDE, [*cluster, *moved]))
    assert len(beside) == 2
    assert places(served(INSTEAD, [*cluster, *moved])) == beside  # the copies count no more, and may be deleted
    solver = nginx("cm-acme-1", "/.well-known/acme-challenge/x", "solver")
    solver["metadata"]["labels"] = {"acme.cert-manager.io/http01-solver": "true"}
    challenged = [*cluster, *moved, solver, service("solver")]
    assert "/.well-known/acme-challenge/x" not in {place[1] for place in places(served(BESIDE, challenged))}
    assert "/.well-known/acme-challenge/x" in {place[1] for place in places(served(INSTEAD, challenged))}
