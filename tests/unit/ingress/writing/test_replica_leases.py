"""Leases of replicas on the fake API server: one each, and one with the secret of all."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from ingress.findings import Finding
from ingress.writing.replica_leases import CERTIFICATE, LABEL, SECRET_BYTES, FleetOfLeases, ReplicaLeases
from tests.fakes.apiserver import ApiServer, Fault
from tests.fakes.sockets import until
from tests.unit.ingress.writing.writers import client_of, running

pytestmark = pytest.mark.large

FLEET = "zonal-fleet"


def of(pod: str, *, uid: str | None = None) -> FleetOfLeases:
    return FleetOfLeases(namespace="zonal", name=FLEET, pod=pod, pod_uid=uid)


async def test_each_replica_reads_the_certificates_of_all(tmp_path: Path) -> None:
    async with ApiServer() as server, client_of(server, tmp_path) as api:
        told: dict[str, list[str]] = {}
        one, two = (ReplicaLeases(api, of(pod, uid=f"uid-{pod}"), time_scale=0.01) for pod in ("zonal-1", "zonal-2"))
        runs = (
            each.run(f"certificate of {name}", lambda found, name=name: told.update({name: sorted(found)}))  # type: ignore[misc]
            for name, each in (("1", one), ("2", two))
        )
        async with running(*runs):
            both = ["certificate of 1", "certificate of 2"]
            await until(lambda: told == {"1": both, "2": both})
        leases = [call.name for call in server.calls if call.verb == "create"]
        assert len(leases) == 2, "a Lease is created once"


async def test_a_lease_belongs_to_its_pod_and_has_the_label_of_the_fleet(tmp_path: Path) -> None:
    async with ApiServer() as server, client_of(server, tmp_path) as api:
        found: list[str] = []
        leases = ReplicaLeases(api, of("zonal-1", uid="4711"), time_scale=0.01)
        async with running(leases.run("told", found.extend)):
            await until(lambda: bool(found))
        (metadata,) = [each["metadata"] for each in server.objects("Lease")]
    assert metadata["labels"] == {LABEL: FLEET}
    assert metadata["annotations"] == {CERTIFICATE: "told"}
    assert metadata["ownerReferences"] == [{"apiVersion": "v1", "kind": "Pod", "name": "zonal-1", "uid": "4711"}]


async def test_the_secret_is_that_of_whoever_came_first(tmp_path: Path) -> None:
    async with ApiServer() as server, client_of(server, tmp_path) as api:
        every = [ReplicaLeases(api, of(f"zonal-{number}"), time_scale=0.01) for number in range(3)]
        secrets = await asyncio.gather(*(each.row_secret(30.0) for each in every))
    assert len(set(secrets)) == 1
    assert secrets[0] is not None and len(secrets[0]) == SECRET_BYTES


async def test_without_an_answer_there_is_no_secret_after_a_while(tmp_path: Path) -> None:
    async with ApiServer() as server, client_of(server, tmp_path) as api:
        server.faults.add(Fault(resource="leases", status=503))
        assert await ReplicaLeases(api, of("zonal-1"), time_scale=0.01).row_secret(0.3) is None


@pytest.mark.parametrize("verb", ["create", "list"])
async def test_what_is_forbidden_is_a_finding_until_it_is_allowed(tmp_path: Path, verb: str) -> None:
    async with ApiServer() as server, client_of(server, tmp_path) as api:
        findings: list[tuple[Finding, ...]] = []
        fault = server.faults.add(Fault(resource="leases", verb=verb, status=403))
        leases = ReplicaLeases(api, of("zonal-1"), time_scale=0.01)
        leases.on_findings = findings.append
        async with running(leases.run("told", lambda _: None)):
            await until(lambda: bool(findings))
            assert [each.reason for each in findings[-1]] == ["FleetLeaseRefused"]
            assert "create and list" in findings[-1][0].message
            server.faults.remove(fault)
            await until(lambda: findings[-1] == ())
