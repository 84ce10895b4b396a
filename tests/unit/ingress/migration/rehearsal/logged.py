"""Lines of a log of ingress-nginx, and the cluster that they are about."""

from __future__ import annotations

from pathlib import Path

from ingress.migration.checking import translated_dump
from ingress.migration.rehearsal.foreseeing import Oracle
from ingress.settings.context import TranslationContext
from ingress.sources.dumps import read_dump
from ingress.translation.assembly import Translation
from tests.integration.manifests import Document, ManifestFolder, service
from tests.unit.ingress.migration.dumped import CONTEXT

PORTS = {("shop", name): {"80": "http"} for name in ("cart", "api", "next")}


def line(
    target: str = "/",
    status: int = 200,
    upstream: str = "shop-cart-80",
    address: str = "10.0.0.1:8080",
    *,
    method: str = "GET",
    client: str = "203.0.113.7",
) -> str:
    return (
        f'{client} - - [26/Nov/2026:10:00:00 +0000] "{method} {target} HTTP/1.1" {status} 512 "-" "curl/8" 100 0.001'
        f" [{upstream}] [] {address} 512 0.001 {status} 0123456789abcdef"
    )


def translated(place: Path, *documents: Document, context: TranslationContext = CONTEXT) -> Translation:
    ManifestFolder(place).write("all.yaml", *documents, *map(service, ("cart", "api", "next")))
    return translated_dump(read_dump(place), context, now_epoch_seconds=0.0)[1]


def oracle(place: Path, *documents: Document) -> Oracle:
    return Oracle(translated(place, *documents).model, PORTS)
