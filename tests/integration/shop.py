"""The small three-zone shop that most tests serve: one Service with echo endpoints behind one host."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from tests.fakes.backends import EchoEndpoint, echoing
from tests.integration.manifests import (
    ManifestFolder,
    config_map,
    endpoint_slice,
    ingress,
    ingress_class,
    path,
    rule,
    service,
)

HOST = "shop.test"
ZONES = {"zone-a": 1, "zone-b": 2, "zone-c": 3}
"""Endpoints by zone; uneven, so that a spread by zone is told from a spread by endpoint."""


class Shop:
    """The manifest folder and the endpoints it names."""

    def __init__(self, folder: ManifestFolder, endpoints: tuple[EchoEndpoint, ...]) -> None:
        self.folder = folder
        self.endpoints = endpoints

    @property
    def place(self) -> Path:
        return self.folder.place

    def write_settings(self, **data: str) -> None:
        """Save the ConfigMap; plain HTTP is never redirected unless `ssl_redirect` says so."""
        self.folder.write("settings.yaml", config_map(**{"ssl_redirect": "false", **data}))


@asynccontextmanager
async def shop(place: Path, zones: Mapping[str, int] = ZONES, **settings: str) -> AsyncIterator[Shop]:
    """A folder below `place` that serves `HOST` from `zones`, with these keys in its ConfigMap."""
    async with echoing("cart", zones) as endpoints:
        opened = Shop(ManifestFolder(place / "manifests"), endpoints)
        opened.folder.write("class.yaml", ingress_class())
        opened.folder.write("cart.yaml", service("cart"), *map(endpoint_slice, endpoints))
        opened.folder.write("web.yaml", ingress("web", rule(HOST, path("/", "cart"))))
        opened.write_settings(**settings)
        yield opened
