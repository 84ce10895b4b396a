"""Replicas that write to one cluster (K21): one of them at any time, another after it, and never a double writer.

Times are a fifteenth of the real ones; rules are the same.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

from ingress.findings import Finding, Severity
from ingress.sources.kubernetes.api import ApiServer as Client
from ingress.writing.address_lookup import FixedAddresses
from ingress.writing.addresses import parse_addresses
from ingress.writing.elector import Elector
from ingress.writing.event_writer import EventWriter
from ingress.writing.notices import notices_of
from ingress.writing.status_writer import StatusPace, StatusWriter
from tests.fakes.apiserver import ApiServer, Call, Fault
from tests.fakes.sockets import until
from tests.unit.ingress.writing.writers import (
    TIMES,
    class_document,
    client_of,
    holder,
    ingress_document,
    inventory_of,
    killed,
    published,
    standings,
)

OURS = [{"ip": "203.0.113.7"}]
FOREIGN = {"ingress": [{"hostname": "elsewhere.test"}]}
CONFLICT = Finding(
    "Ingress", "shop", "web", "Conflict", "It is taken.", "The older claim is served.", Severity.MISROUTED
)

PACE = StatusPace(interval_seconds=0.1, quiet_seconds=0.02, retry_seconds=0.1, per_second=1000.0)

RULES: list[dict[str, Any]] = [
    {"apiGroups": ["networking.k8s.io"], "resources": ["ingresses/status"], "verbs": ["patch"]},
    {"apiGroups": ["events.k8s.io"], "resources": ["events"], "verbs": ["create"]},
    {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["create"], "namespace": "zonal"},
    {
        "apiGroups": ["coordination.k8s.io"],
        "resources": ["leases"],
        "resourceNames": ["zonal-leader"],
        "verbs": ["get", "update"],
        "namespace": "zonal",
    },
]
"""Every right that writing needs."""


class Replica:
    """What one process runs to write."""

    def __init__(self, name: str, server: ApiServer, client: Client) -> None:
        self.name = name
        self.elector = Elector(
            client,
            namespace="zonal",
            name="zonal-leader",
            identity=name,
            times=TIMES,
            on_change=self._wake,
        )
        self.statuses = StatusWriter(
            client,
            lookup=FixedAddresses(parse_addresses("203.0.113.7")),
            standings=lambda: standings(server),
            leading=lambda: self.elector.leading,
            pace=PACE,
        )
        self.events = EventWriter(client, instance=name, leading=lambda: self.elector.leading)
        self.events.follow(notices_of([CONFLICT], inventory_of(server)))
        self._tasks: list[asyncio.Task[None]] = []

    @property
    def leads(self) -> bool:
        return self.elector.leading

    def start(self) -> None:
        runs = self.elector.run(), self.statuses.run(), self.events.run()
        self._tasks = [asyncio.create_task(run) for run in runs]

    async def kill(self) -> None:
        """End as a process that is killed: nothing is given up."""
        for task in self._tasks:
            await killed(task)

    async def stop(self) -> None:
        """End as a process that is told to stop: writers first."""
        for task in reversed(self._tasks):
            await killed(task)
        await self.elector.release()

    def _wake(self, _: bool) -> None:
        self.statuses.wake()
        self.events.wake()


@asynccontextmanager
async def replicas(server: ApiServer, folder: Path, *names: str) -> AsyncIterator[list[Replica]]:
    """Replicas of which one leads already, the first unless this machine sleeps for a second."""
    async with AsyncExitStack() as stack:
        found: list[Replica] = []
        for name in names:
            replica = Replica(name, server, await stack.enter_async_context(client_of(server, folder, name)))
            stack.push_async_callback(replica.kill)
            replica.start()
            found.append(replica)
            await until(lambda: any(replica.leads for replica in found))
        yield found


async def leader(of: list[Replica]) -> tuple[Replica, list[Replica]]:
    """Who leads, and the others."""
    await until(lambda: any(replica.leads for replica in of))
    found = next(replica for replica in of if replica.leads)
    return found, [replica for replica in of if replica is not found]


def is_write(call: Call) -> bool:
    return call.resource in ("ingresses", "events") and call.verb in ("patch", "create")


def writes_without_the_lease(server: ApiServer) -> list[Call]:
    """Writes of status and Events by another than who last wrote the Lease: there must be none, ever."""
    found, last = [], ""
    for call in server.calls:
        if call.resource == "leases" and call.verb in ("create", "update") and call.status in (200, 201):
            last = call.user
        elif is_write(call) and call.user != last:
            found.append(call)
    return found


def writes_of(replica: Replica) -> Callable[[Call], bool]:
    return lambda call: is_write(call) and call.user == replica.name


def disturb(server: ApiServer) -> None:
    """Somebody else writes into the status."""
    server.put(ingress_document(loadBalancer=FOREIGN))


def put_cluster(server: ApiServer) -> None:
    for document in (class_document(), ingress_document()):
        server.put(document)


async def test_one_of_two_writes_what_is_needed_with_no_right_more_than_that(tmp_path: Path) -> None:
    async with ApiServer() as server:
        put_cluster(server)
        server.rules = RULES
        async with replicas(server, tmp_path, "pod-1", "pod-2"):
            await until(lambda: published(server) == OURS and len(server.objects("Event")) == 1)
            for _ in range(3):
                disturb(server)
                await until(lambda: published(server) == OURS)
            await server.until_calls(lambda call: call.user == "pod-2" and call.resource == "leases", 2)
        assert writes_without_the_lease(server) == []
        assert 403 not in {call.status for call in server.calls}
        (event,) = server.objects("Event")
        assert (event["reportingInstance"], event["regarding"]["name"]) == ("pod-1", "web")


async def test_a_killed_leader_is_followed_by_another_that_restores_what_was_changed_meanwhile(tmp_path: Path) -> None:
    async with ApiServer() as server:
        put_cluster(server)
        async with replicas(server, tmp_path, "pod-1", "pod-2", "pod-3") as all_of_them:
            await until(lambda: published(server) == OURS and len(server.objects("Event")) == 1)
            first, others = await leader(all_of_them)
            await first.kill()
            disturb(server)
            assert holder(server) == first.name
            heir, _ = await leader(others)
            await until(lambda: published(server) == OURS)
            await server.until_calls(writes_of(heir))
        assert writes_without_the_lease(server) == []
        assert len(server.objects("Event")) == 1


async def test_a_leader_that_stops_hands_over_and_leaves_the_status_alone(tmp_path: Path) -> None:
    async with ApiServer() as server:
        put_cluster(server)
        async with replicas(server, tmp_path, "pod-1", "pod-2") as both:
            await until(lambda: published(server) == OURS)
            first, (second,) = await leader(both)
            await first.stop()
            assert holder(server) in ("", second.name)
            assert published(server) == OURS
            await until(lambda: second.leads)
            disturb(server)
            await until(lambda: published(server) == OURS)
        assert writes_without_the_lease(server) == []


async def test_a_leader_that_cannot_reach_the_lease_stops_writing_before_another_begins(tmp_path: Path) -> None:
    """It could still write status, and there is always some to write."""
    async with ApiServer() as server:
        put_cluster(server)
        async with replicas(server, tmp_path, "pod-1", "pod-2") as both:
            first, (second,) = await leader(both)
            await server.until_calls(writes_of(first))
            server.faults.add(Fault(user=first.name, resource="leases", reset=True))
            async with asyncio.timeout(30):
                while sum(map(writes_of(second), server.calls)) < 5:
                    disturb(server)
                    await asyncio.sleep(0.01)
            assert not first.leads
            server.faults.clear()
            seen = len(server.calls)
            await until(lambda: any(call.user == first.name and call.status == 200 for call in server.calls[seen:]))
            disturb(server)
            await until(lambda: published(server) == OURS)
        assert writes_without_the_lease(server) == []


async def test_without_the_lease_api_nobody_writes_and_afterwards_somebody_does(tmp_path: Path) -> None:
    async with ApiServer() as server:
        put_cluster(server)
        async with replicas(server, tmp_path, "pod-1", "pod-2") as both:
            await until(lambda: published(server) == OURS)
            server.faults.add(Fault(resource="leases", status=503))
            await until(lambda: not any(replica.leads for replica in both))
            disturb(server)
            seen = len(server.calls)
            await until(lambda: sum(call.status == 503 for call in server.calls[seen:]) >= 4)
            # One that was under way may still arrive.
            assert len([call for call in server.calls[seen:] if is_write(call)]) <= PACE.at_once
            disturb(server)
            server.faults.clear()
            await until(lambda: published(server) == OURS)
        assert writes_without_the_lease(server) == []


async def test_a_lease_that_conflicts_all_the_time_costs_the_lead_and_comes_back(tmp_path: Path) -> None:
    async with ApiServer() as server:
        put_cluster(server)
        async with replicas(server, tmp_path, "pod-1") as (first,):
            fault = server.faults.add(Fault(verb="update", resource="leases", status=409))
            await until(lambda: not first.leads)
            await until(lambda: fault.used >= 2)
            server.faults.clear()
            await until(lambda: first.leads)
        lease = server.get("Lease", "zonal", "zonal-leader")
        assert lease is not None
        assert lease["spec"]["leaseTransitions"] == 0
