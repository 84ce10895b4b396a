"""A small dump of ingress-nginx, and what a check says about it."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from ingress.migration.checking import check_dump
from ingress.migration.verdicts import IngressReview, Review
from ingress.settings.context import TranslationContext
from tests.integration.manifests import Document, ManifestFolder, ingress, path, rule

CONTEXT = TranslationContext(ingress_class="nginx", configmap="ingress-nginx/ingress-nginx-controller")
PREFIX = "nginx.ingress.kubernetes.io/"


class PlacedEndpoint(NamedTuple):
    """An endpoint of a Service, where nothing listens."""

    service: str
    zone: str | None = None
    port: int = 8080


def nginx(
    name: str, target: str = "/", service: str = "cart", *, host: str = "shop.test", **annotations: str
) -> Document:
    """An Ingress of class nginx; `_` in the name of an annotation stands for `-`."""
    given = {PREFIX + key.replace("_", "-"): value for key, value in annotations.items()}
    return ingress(name, rule(host, path(target, service)), class_name="nginx", annotations=given)


def settings(**data: str) -> Document:
    """The ConfigMap of ingress-nginx; `_` in a key stands for `-`."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "ingress-nginx-controller", "namespace": "ingress-nginx"},
        "data": {key.replace("_", "-"): value for key, value in data.items()},
    }


def controller(*arguments: str) -> Document:
    """The Deployment of ingress-nginx with these arguments."""
    image = "registry.test/ingress-nginx/controller:v1.15.1"
    containers = [{"name": "controller", "image": image, "args": ["/nginx-ingress-controller", *arguments]}]
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "ingress-nginx-controller", "namespace": "ingress-nginx"},
        "spec": {"template": {"spec": {"containers": containers}}},
    }


def checked(place: Path, *documents: Document, context: TranslationContext = CONTEXT) -> Review:
    ManifestFolder(place).write("all.yaml", *documents)
    return check_dump(place, context, now_epoch_seconds=0.0)


def of(review: Review, name: str) -> IngressReview:
    return next(each for each in review.ingresses if each.name == name)
