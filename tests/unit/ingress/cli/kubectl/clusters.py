"""A cluster with pods of zonal whose admin ports are ports of loopback."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from tests.fakes.apiserver import ApiServer
from tests.fakes.apiserver.kinds import Document

LABELS = {"app.kubernetes.io/name": "zonal", "app.kubernetes.io/instance": "zonal"}


def replica_pod(name: str, port: int, *, labels: Mapping[str, str] = LABELS, phase: str = "Running") -> Document:
    """A pod as the chart makes it, whose admin port is this port."""
    container = {
        "name": "zonal",
        "image": "zonal",
        "args": ["run", "--configmap=zonal/zonal"],
        "ports": [{"name": "admin", "containerPort": port}],
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "zonal", "labels": dict(labels)},
        "spec": {"containers": [container]},
        "status": {"phase": phase},
    }


@asynccontextmanager
async def cluster(place: Path, ports: Sequence[int], **data: str) -> AsyncIterator[tuple[ApiServer, Path]]:
    """An API server with a pod for each port and the settings `data`, and a kubeconfig for it."""
    async with ApiServer(tls=True, tokens={"secret"}) as server:
        for number, port in enumerate(ports):
            server.put(replica_pod(f"zonal-{number}", port))
        settings = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "zonal", "namespace": "zonal"}}
        server.put({**settings, "data": {key.replace("_", "-"): text for key, text in data.items()}})
        yield server, server.write_kubeconfig(place / "config", token="secret")
