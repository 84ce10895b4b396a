"""One candidate against a real server: it leads while it can renew, and gives up cleanly."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ingress.findings import Finding
from ingress.sources.kubernetes.api import ApiServer as Client
from ingress.writing.elector import Elector
from tests.fakes.apiserver import ApiServer, Fault
from tests.fakes.sockets import until
from tests.unit.ingress.writing.writers import TIMES, client_of, holder, killed, running

pytestmark = pytest.mark.large


class Candidate:
    """An elector and what it said."""

    def __init__(self, client: Client, identity: str = "pod-1", **options: Any) -> None:
        self.changes: list[bool] = []
        self.findings: list[tuple[Finding, ...]] = []
        self.elector = Elector(
            client,
            namespace="zonal",
            name="zonal-leader",
            identity=identity,
            times=TIMES,
            on_change=self.changes.append,
            on_findings=self.findings.append,
            **options,
        )

    @property
    def leads(self) -> Callable[[], bool]:
        return lambda: self.elector.leading


async def test_alone_it_leads_and_keeps_the_lease(tmp_path: Path) -> None:
    async with ApiServer() as server, client_of(server, tmp_path) as client:
        candidate = Candidate(client)
        async with running(candidate.elector.run()):
            await until(candidate.leads)
            await server.until_calls(lambda call: call.verb == "update" and call.status == 200, 2)
        lease = server.get("Lease", "zonal", "zonal-leader")
        assert lease is not None
        assert lease["spec"]["holderIdentity"] == "pod-1"
        assert lease["spec"]["leaseDurationSeconds"] == 2
        assert lease["spec"]["leaseTransitions"] == 0
        assert lease["spec"]["renewTime"] > lease["spec"]["acquireTime"]
        assert candidate.changes[0] is True
        assert candidate.findings == []


async def test_leading_ends_with_the_clock_even_if_the_loop_does_nothing(tmp_path: Path) -> None:
    now = [0.0]
    async with ApiServer() as server, client_of(server, tmp_path) as client:
        candidate = Candidate(client, monotonic=lambda: now[0])
        async with running(candidate.elector.run()):
            await until(candidate.leads)
            now[0] += TIMES.renew_deadline_seconds
            assert not candidate.elector.leading


async def test_a_lost_api_server_ends_leading_and_its_return_begins_it_again(tmp_path: Path) -> None:
    async with ApiServer() as server, client_of(server, tmp_path) as client:
        candidate = Candidate(client)
        async with running(candidate.elector.run()):
            await until(candidate.leads)
            await server.stop()
            await until(lambda: candidate.changes[-1] is False)
            assert not candidate.elector.leading
            assert candidate.elector.problem
            await server.start()
            await until(lambda: candidate.changes[-1] is True)
            assert candidate.elector.problem == ""
        assert candidate.findings == []


async def test_a_server_that_hangs_ends_leading(tmp_path: Path) -> None:
    async with ApiServer() as server, client_of(server, tmp_path) as client:
        candidate = Candidate(client)
        async with running(candidate.elector.run()):
            await until(candidate.leads)
            server.faults.add(Fault(stall=True))
            await until(lambda: candidate.changes[-1] is False)


async def test_after_conflicts_it_reads_and_writes_again(tmp_path: Path) -> None:
    async with ApiServer() as server, client_of(server, tmp_path) as client:
        candidate = Candidate(client)
        async with running(candidate.elector.run()):
            await until(candidate.leads)
            server.faults.add(Fault(verb="update", resource="leases", status=409, times=2))
            await server.until_calls(lambda call: call.verb == "update" and call.status == 409, 2)
            seen = len(server.calls)
            await until(lambda: any(call.verb == "update" and call.status == 200 for call in server.calls[seen:]))
            assert any(call.verb == "get" for call in server.calls[seen - 1 :])
            await until(candidate.leads)
        assert candidate.findings == []


async def test_a_lease_that_someone_touched_is_renewed_and_keeps_what_was_added(tmp_path: Path) -> None:
    async with ApiServer() as server, client_of(server, tmp_path) as client:
        candidate = Candidate(client)
        async with running(candidate.elector.run()):
            await until(candidate.leads)
            lease = server.get("Lease", "zonal", "zonal-leader")
            assert lease is not None
            server.put(lease | {"metadata": lease["metadata"] | {"annotations": {"note": "kept"}}})
            seen = len(server.calls)
            await until(lambda: any(call.verb == "update" and call.status == 200 for call in server.calls[seen:]))
        lease = server.get("Lease", "zonal", "zonal-leader")
        assert lease is not None
        assert lease["metadata"]["annotations"] == {"note": "kept"}
        assert lease["spec"]["leaseTransitions"] == 0


async def test_a_refusal_is_a_finding_until_it_ends(tmp_path: Path) -> None:
    async with ApiServer() as server, client_of(server, tmp_path) as client:
        server.rules = []
        candidate = Candidate(client)
        async with running(candidate.elector.run()):
            await until(lambda: bool(candidate.findings))
            ((finding,),) = candidate.findings
            assert (finding.kind, finding.namespace, finding.name) == ("Lease", "zonal", "zonal-leader")
            assert "HTTP 403" in finding.message
            assert not candidate.elector.leading
            server.rules = None
            await until(candidate.leads)
            assert candidate.findings[-1] == ()


async def test_giving_up_lets_another_lead_at_once(tmp_path: Path) -> None:
    async with ApiServer() as server, client_of(server, tmp_path) as client:
        first, second = Candidate(client, "pod-1"), Candidate(client, "pod-2")
        task = asyncio.create_task(first.elector.run())
        await until(first.leads)
        await killed(task)
        await first.elector.release()
        assert not first.elector.leading
        assert first.changes[-1] is False
        lease = server.get("Lease", "zonal", "zonal-leader")
        assert lease is not None
        assert (lease["spec"]["holderIdentity"], lease["spec"]["leaseDurationSeconds"]) == ("", 1)
        async with running(second.elector.run()):
            await until(second.leads)
        assert holder(server) == "pod-2"


async def test_giving_up_in_the_middle_of_a_renewal_reads_what_became_of_it(tmp_path: Path) -> None:
    async with ApiServer() as server, client_of(server, tmp_path) as client:
        candidate = Candidate(client)
        task = asyncio.create_task(candidate.elector.run())
        await until(candidate.leads)
        fault = server.faults.add(Fault(verb="update", stall=True))
        await until(lambda: fault.used > 0)
        await killed(task)
        server.faults.clear()
        await candidate.elector.release()
        assert holder(server) == ""


async def test_giving_up_without_an_api_server_fails_silently(tmp_path: Path) -> None:
    async with ApiServer() as server, client_of(server, tmp_path) as client:
        candidate = Candidate(client)
        task = asyncio.create_task(candidate.elector.run())
        await until(candidate.leads)
        await killed(task)
        await server.stop()
        await candidate.elector.release()
        assert not candidate.elector.leading
    assert holder(server) == "pod-1"
