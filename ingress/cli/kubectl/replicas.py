"""Reads which pods are replicas of zonal, where their admin port is, and which ConfigMap they read.

Ignores unknown fields. Does not know who asks the API server.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from ingress.findings import printable
from ingress.objects.names import LABEL, SUBDOMAIN

_ADMIN_PORT: Final = 10254
_CONFIGMAP: Final = "zonal/zonal"
_QUOTED: Final = 200  # characters


class ReplicaPod(msgspec.Struct, frozen=True, order=True):
    """A pod of zonal that runs. `configmap` is namespace/name of its settings."""

    namespace: str
    pod: str
    admin_port: int = _ADMIN_PORT
    configmap: str = _CONFIGMAP

    @property
    def name(self) -> str:
        """How people name it."""
        return f"{self.namespace}/{self.pod}"


class _Port(msgspec.Struct, rename="camel"):
    container_port: int
    name: str = ""


class _Variable(msgspec.Struct):
    name: str
    value: str = ""


class _Container(msgspec.Struct):
    args: list[str] | None = None
    command: list[str] | None = None
    ports: list[_Port] | None = None
    env: list[_Variable] | None = None


class _FoundSpec(msgspec.Struct):
    containers: list[_Container] = []


class _FoundStatus(msgspec.Struct):
    phase: str = ""


class _FoundMetadata(msgspec.Struct, rename="camel"):
    namespace: str
    name: str
    deletion_timestamp: str | None = None


class _FoundPod(msgspec.Struct):
    metadata: _FoundMetadata
    spec: _FoundSpec = msgspec.field(default_factory=_FoundSpec)
    status: _FoundStatus = msgspec.field(default_factory=_FoundStatus)


class _FoundPods(msgspec.Struct):
    items: list[_FoundPod]


def replicas_of(body: bytes) -> list[ReplicaPod]:
    """The pods of a v1 PodList that run and are not about to end, by name. Raises `ValueError`."""
    try:
        pods = msgspec.json.decode(body, type=_FoundPods).items
    except msgspec.DecodeError as error:
        raise ValueError(f"the API server's list of pods cannot be read: {error}") from None
    return sorted(_replica(pod) for pod in pods if _runs(pod))


def _runs(pod: _FoundPod) -> bool:
    return pod.status.phase == "Running" and pod.metadata.deletion_timestamp is None


def _replica(pod: _FoundPod) -> ReplicaPod:
    containers = pod.spec.containers
    named = [port.container_port for each in containers for port in each.ports or () if port.name == "admin"]
    given = _option(containers, "--admin-port") or ""
    port = named[0] if named else int(given) if given.isascii() and given.isdigit() else _ADMIN_PORT
    configmap = _option(containers, "--configmap") or _CONFIGMAP
    return ReplicaPod(pod.metadata.namespace, pod.metadata.name, port, configmap)


def _option(containers: Iterable[_Container], name: str) -> str | None:
    """The value of an option of `zonal run`, from arguments first, then from its variable."""
    variable = "ZONAL_" + name.removeprefix("--").replace("-", "_").upper()
    for container in containers:
        arguments: list[str] = [*(container.command or ()), *(container.args or ())]
        for number, argument in enumerate(arguments):
            if argument == name and number + 1 < len(arguments):
                return arguments[number + 1]
            if argument.startswith(f"{name}="):
                return argument.partition("=")[2]
    return next((each.value for container in containers for each in container.env or () if each.name == variable), None)


def configmap_of(replicas: Sequence[ReplicaPod]) -> str:
    """The ConfigMap that all replicas read, as namespace/name. Raises `ValueError` if they read several.

    Also if it is in another namespace than the replicas: who may create a pod with their labels must not choose what an
    operator changes.
    """
    names = sorted({replica.configmap for replica in replicas})
    if len(names) != 1:
        told = printable(", ".join(names), limit=_QUOTED)
        raise ValueError(f"the replicas read several ConfigMaps ({told}): say which replicas with --selector")
    namespace, _, name = names[0].partition("/")
    if not LABEL.fullmatch(namespace) or not SUBDOMAIN.fullmatch(name):
        raise ValueError(f"the replicas read a ConfigMap that cannot be: {printable(names[0], limit=_QUOTED)}")
    if {replica.namespace for replica in replicas} != {namespace}:
        raise ValueError(f"the ConfigMap {names[0]} is not in the namespace of all replicas: change it yourself")
    return names[0]
