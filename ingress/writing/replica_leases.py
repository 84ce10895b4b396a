"""Keeps a Lease with the certificate of this replica, and reads the certificates of the others from theirs.

Each replica creates one Lease when it starts and changes none. The Lease belongs to the pod and goes with the pod. One
more Lease holds the secret that makes the numbers of clients; whoever comes first creates that one. So the replica may
create and list Leases of its namespace, and whoever may create some there can become a replica.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Callable
from typing import Final

import msgspec

from ingress.findings import Finding, Findings, Severity, Subject
from ingress.writing.calling import Api, NoApiAnswer, ask
from ingress.writing.lease import lease_path

_LOG = logging.getLogger(__name__)

LABEL: Final = "zonal-ingress.io/fleet"
CERTIFICATE: Final = "zonal-ingress.io/certificate"
SECRET: Final = "zonal-ingress.io/row-secret"

SECRET_BYTES: Final = 32

_LIST_SECONDS: Final = 5.0
_LEASES_MOST: Final = 500
_REFUSALS: Final = frozenset({400, 401, 403, 422})


class _Metadata(msgspec.Struct):
    name: str = ""
    annotations: dict[str, str] | None = None


class _Lease(msgspec.Struct):
    metadata: _Metadata


class _Leases(msgspec.Struct):
    items: list[_Lease] = []


class FleetOfLeases(msgspec.Struct, frozen=True, kw_only=True):
    """Which Leases belong together: their namespace and the name of the fleet. `pod` is who creates one here, and
    `pod_uid` None means that no pod owns it.
    """

    namespace: str
    name: str
    pod: str
    pod_uid: str | None = None


class ReplicaLeases:
    """The Leases of one fleet, as one replica keeps them."""

    __slots__ = (
        "_api",
        "_certificate",
        "_findings",
        "_fleet",
        "_has_lease",
        "_on_certificates",
        "_seconds",
        "on_findings",
    )

    def __init__(self, api: Api, fleet: FleetOfLeases, *, time_scale: float = 1.0) -> None:
        self._api = api
        self._fleet = fleet
        self._seconds = _LIST_SECONDS * time_scale
        self._has_lease = False
        self._certificate = ""
        self._on_certificates: Callable[[list[str]], object] = list
        self._findings: tuple[Finding, ...] = ()
        self.on_findings: Callable[[tuple[Finding, ...]], None] = lambda _: None
        """Told all findings whenever they change."""

    async def row_secret(self, limit_seconds: float) -> bytes | None:
        """The secret of all replicas, which this one creates if it is the first; None if that fails for so long."""
        try:
            async with asyncio.timeout(limit_seconds):
                while True:
                    if found := await self._secret():
                        return found
                    await asyncio.sleep(self._seconds)
        except TimeoutError:
            _LOG.warning("the fleet's secret cannot be read or created: limits count by replica until the next start")
            return None

    async def run(self, certificate: str, on_certificates: Callable[[list[str]], object]) -> None:
        """Keeps the Lease with `certificate`, and tells the certificates of all Leases of the fleet, without end."""
        self._certificate = certificate
        self._on_certificates = on_certificates
        while True:
            await self._turn()
            await asyncio.sleep(self._seconds)

    async def _turn(self) -> None:
        """What is known stays known while the API server is away."""
        try:
            if not self._has_lease:
                annotations = {CERTIFICATE: self._certificate}
                self._has_lease = await self._create(f"{self._fleet.pod}-{secrets.token_hex(4)}", annotations)
            leases = await self._list()
            self._on_certificates([told for each in leases if (told := (each.annotations or {}).get(CERTIFICATE))])
            self._note("")
        except _LeaseProblem as refused:
            self._note(str(refused))
        except NoApiAnswer as error:
            _LOG.info("Leases of the fleet: %s", error)

    async def _secret(self) -> bytes | None:
        try:
            name = f"{self._fleet.name}-secret"
            await self._create(name, {SECRET: secrets.token_hex(SECRET_BYTES)}, is_owned=False)
            told = [each.annotations or {} for each in await self._list() if each.name == name]
            found = bytes.fromhex(told[0].get(SECRET, "")) if told else b""
        except (_LeaseProblem, NoApiAnswer, ValueError) as error:
            _LOG.info("Leases of the fleet: %s", error)
            return None
        return found if len(found) == SECRET_BYTES else None

    async def _create(self, name: str, annotations: dict[str, str], *, is_owned: bool = True) -> bool:
        """Creates a Lease. One that exists is left alone."""
        fleet = self._fleet
        metadata: dict[str, object] = {
            "name": name,
            "labels": {LABEL: fleet.name},
            "annotations": annotations,
        }
        if is_owned and fleet.pod_uid is not None:
            metadata["ownerReferences"] = [
                {"apiVersion": "v1", "kind": "Pod", "name": fleet.pod, "uid": fleet.pod_uid},
            ]
        body = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": {}}
        answer = await ask(self._api, "POST", lease_path(fleet.namespace), body=msgspec.json.encode(body))
        if not answer.is_success and answer.status != 409:
            raise _LeaseProblem(answer.problem, status=answer.status)
        return True

    async def _list(self) -> list[_Metadata]:
        query = {"labelSelector": f"{LABEL}={self._fleet.name}", "limit": str(_LEASES_MOST)}
        answer = await ask(self._api, "GET", lease_path(self._fleet.namespace), query=query)
        if not answer.is_success:
            raise _LeaseProblem(answer.problem, status=answer.status)
        try:
            return [each.metadata for each in msgspec.json.decode(answer.body, type=_Leases).items]
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise _LeaseProblem(f"the answer is no list of Leases: {error}", status=0) from None

    def _note(self, problem: str) -> None:
        findings = _findings(self._fleet, problem) if problem else ()
        if findings != self._findings:
            self._findings = findings
            self.on_findings(findings)


class _LeaseProblem(Exception):
    """The API server does not do what was asked; the text is one line."""

    def __init__(self, problem: str, *, status: int) -> None:
        what = "Allow create and list of leases: " if status in _REFUSALS else ""
        super().__init__(f"{what}{problem}")


def _findings(fleet: FleetOfLeases, problem: str) -> tuple[Finding, ...]:
    findings = Findings()
    findings.add(
        Subject("Lease", fleet.namespace, fleet.name),
        reason="FleetLeaseRefused",
        message=f"The Leases of replicas cannot be kept. {problem}.",
        severity=Severity.DEGRADED,
        effect="Replicas that start anew are not believed, and act as alone; traffic is served.",
    )
    return findings.frozen()
