"""What tests of writers share: a client of the fake API server, and things that run beside the test."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from ingress.objects.converting import decode
from ingress.settings.context import TranslationContext
from ingress.sources.inventory import Inventory
from ingress.sources.kubernetes.api import ApiServer as Client
from ingress.writing.electing import ElectorTimes
from ingress.writing.statuses import CurrentStatus, standings_of
from tests.fakes.apiserver import ApiServer
from tests.unit.ingress.cluster import OUR_CONTROLLER, inventory

TIMES = ElectorTimes().scaled(1 / 15)
"""A lease of two seconds, stopped after one, renewed each half."""


@asynccontextmanager
async def client_of(server: ApiServer, folder: Path, name: str = "pod-1") -> AsyncIterator[Client]:
    """Our client, whose calls the server knows by `name`."""
    client = await Client.connect(kubeconfig=server.write_kubeconfig(folder / f"{name}.yaml", token=name))
    try:
        yield client
    finally:
        await client.close()


@asynccontextmanager
async def running(*runs: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    """Run beside the block, and end without ceremony after it."""
    tasks = [asyncio.create_task(run) for run in runs]
    try:
        yield
    finally:
        for task in tasks:
            await killed(task)


async def killed(task: asyncio.Task[None]) -> None:
    """Cancel a task. Raises what else it ended with."""
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


def ingress_document(name: str = "web", *, class_name: str = "zonal", **status: Any) -> dict[str, Any]:
    """An Ingress of the namespace shop."""
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "Ingress",
        "metadata": {"name": name, "namespace": "shop"},
        "spec": {
            "ingressClassName": class_name,
            "defaultBackend": {"service": {"name": "cart", "port": {"number": 80}}},
        },
        "status": status,
    }


def class_document() -> dict[str, Any]:
    """Our IngressClass."""
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "IngressClass",
        "metadata": {"name": "zonal"},
        "spec": {"controller": OUR_CONTROLLER},
    }


def inventory_of(server: ApiServer) -> Inventory:
    """What a reflector that is never late knows of the server."""
    documents = [*server.objects("IngressClass"), *server.objects("Ingress")]
    return inventory(*(item for item in map(decode, documents) if item is not None))


def standings(server: ApiServer) -> tuple[CurrentStatus, ...]:
    """Every Ingress of the server as it stands at this moment."""
    return standings_of(inventory_of(server), TranslationContext())


def published(server: ApiServer, name: str = "web") -> list[dict[str, str]]:
    """The addresses in the status of an Ingress."""
    document = server.get("Ingress", "shop", name)
    assert document is not None
    found: list[dict[str, str]] = document.get("status", {}).get("loadBalancer", {}).get("ingress", [])
    return found


def holder(server: ApiServer) -> str | None:
    """Who holds the Lease; None where there is none."""
    lease = server.get("Lease", "zonal", "zonal-leader")
    return lease["spec"].get("holderIdentity") if lease else None
