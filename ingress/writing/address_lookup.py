"""Looks up zonal's own addresses: fixed ones, those of a Service, or those of the nodes that run its pods.

Asks the API server. Uses lists with a selector even for a single object, because then `list` is the only right that it
needs, and a missing object is an empty list. Does not know who gets the addresses.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Protocol

from ingress.findings import Subject
from ingress.writing.addresses import (
    AddressError,
    Addresses,
    Pod,
    node_addresses,
    pods_of,
    replica_selector,
    service_addresses,
)
from ingress.writing.calling import Api, NoApiAnswer, ask
from ingress.writing.statuses import PatchOutcome, outcome_of


class AddressesUnknown(Exception):
    """The addresses are unknown now; the text is one line.

    `subject` is the object that has to be changed, or None if the problem may pass on its own.
    """

    def __init__(self, problem: str, *, subject: Subject | None) -> None:
        super().__init__(problem)
        self.subject = subject


class AddressLookup(Protocol):
    """Looks up zonal's own addresses."""

    async def __call__(self) -> Addresses:
        """The current addresses. Raises `AddressesUnknown`."""


class FixedAddresses:
    """`--publish-status-address`: addresses that the operator gives."""

    def __init__(self, addresses: Addresses) -> None:
        self._addresses = addresses

    async def __call__(self) -> Addresses:
        return self._addresses


class ServiceAddresses:
    """`--publish-service`: the addresses of one Service, usually our own."""

    def __init__(self, api: Api, *, namespace: str, name: str) -> None:
        self._api = api
        self._namespace = namespace
        self._name = name

    async def __call__(self) -> Addresses:
        path = f"/api/v1/namespaces/{self._namespace}/services"
        with _about(Subject("Service", self._namespace, self._name)):
            return service_addresses(await _list(self._api, path, {"fieldSelector": f"metadata.name={self._name}"}))


class NodeAddresses:
    """The addresses of the nodes of our running pods.

    Our pods are those with the labels of the own pod, except for the labels that a rollout changes.
    """

    def __init__(self, api: Api, *, namespace: str, pod: str) -> None:
        self._api = api
        self._namespace = namespace
        self._pod = pod

    async def __call__(self) -> Addresses:
        with _about(Subject("Pod", self._namespace, self._pod)):
            pods = await self._replicas()
            nodes = sorted({pod.node for pod in pods if pod.is_running and pod.node})
            found = [await self._node(node) for node in nodes]
            return tuple(sorted({address for addresses in found for address in addresses}))

    async def _replicas(self) -> tuple[Pod, ...]:
        path = f"/api/v1/namespaces/{self._namespace}/pods"
        own = pods_of(await _list(self._api, path, {"fieldSelector": f"metadata.name={self._pod}"}))
        if not own:
            raise AddressError("there is no such pod")
        selector = replica_selector(own[0].labels)
        return pods_of(await _list(self._api, path, {"labelSelector": selector})) if selector else own

    async def _node(self, name: str) -> Addresses:
        return node_addresses(await _list(self._api, "/api/v1/nodes", {"fieldSelector": f"metadata.name={name}"}))


@contextmanager
def _about(subject: Subject) -> Iterator[None]:
    """Names the object in the errors of a block that reads its addresses. Raises `AddressesUnknown`."""
    place = f"the addresses of {subject.kind} {subject.namespace}/{subject.name}"
    try:
        yield
    except AddressError as error:
        raise AddressesUnknown(f"{place} cannot be read: {error}", subject=subject) from error
    except NoApiAnswer as error:
        raise AddressesUnknown(f"{place} cannot be asked for: {error}", subject=None) from error


async def _list(api: Api, path: str, query: Mapping[str, str]) -> bytes:
    answer = await ask(api, "GET", path, query=query)
    if answer.is_success:
        return answer.body
    if outcome_of(answer.status) in (PatchOutcome.REFUSED, PatchOutcome.GONE):
        raise AddressError(f"{path}: {answer.problem}")
    raise NoApiAnswer(answer.problem)
