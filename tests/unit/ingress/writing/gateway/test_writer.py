"""Statuses of Gateway API as they are on a server: right, and written no more often than needed."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ingress.findings import Finding
from ingress.sources.inventory import Inventory
from ingress.sources.kubernetes.api import ApiServer as Client
from ingress.writing.gateway.in_use import Judgement
from ingress.writing.gateway.writer import GatewayCluster, GatewayPace, GatewayStatusWriter
from tests.fakes.apiserver import ApiServer, Call, Fault
from tests.fakes.sockets import until
from tests.unit.ingress.writing.gateway.objects import (
    CUSTOM,
    OURS,
    VERSIONS,
    gateway,
    gateway_class,
    inventory_of,
    judgement_of,
    kept,
    route,
)
from tests.unit.ingress.writing.writers import client_of, running

pytestmark = pytest.mark.large

PACE = GatewayPace(quiet_seconds=0.01, retry_seconds=0.05, per_second=1000.0)


class Scene:
    """A writer whose inventory is what the server has, and what it said."""

    def __init__(self, server: ApiServer, client: Client, *, pace: GatewayPace = PACE) -> None:
        server.custom = CUSTOM
        self.server = server
        self.leads = True
        self.in_use = 1
        self.looks = 0
        self.findings: list[tuple[Finding, ...]] = []
        self.inventory = Inventory()
        self.judgement: Judgement | None = None
        cluster = GatewayCluster(
            inventory=self._looked,
            versions=lambda: VERSIONS,
            judgement=lambda: self.judgement,
            in_use=lambda: self.in_use,
            leading=lambda: self.leads,
        )
        self.writer = GatewayStatusWriter(client, cluster, controller=OURS, on_findings=self.findings.append, pace=pace)

    def translate(self, generation: int = 1) -> None:
        """The watch reports everything, and a translation follows."""
        self.inventory = inventory_of(*kept(self.server))
        self.judgement = judgement_of(self.inventory, generation)
        self.writer.translated()

    async def settles(self) -> None:
        """Let the watch report whatever was written, until nothing is written any more."""
        written = -1
        while written != len(writes(self.server)):
            written = len(writes(self.server))
            self.translate()
            await self.looks_again()

    async def looks_again(self) -> None:
        before = self.looks

        def has_looked() -> bool:
            self.writer.wake()
            return self.looks > before + 1

        await until(has_looked)

    def _looked(self) -> Inventory:
        self.looks += 1
        return self.inventory


def is_write(call: Call) -> bool:
    return call.verb == "patch"


def writes(server: ApiServer) -> list[str]:
    return [call.name for call in server.calls if is_write(call)]


def conditions(server: ApiServer, kind: str = "Gateway", name: str = "gw") -> dict[str, str]:
    document = server.get(kind, "" if kind == "GatewayClass" else "infra", name)
    assert document is not None
    status: dict[str, Any] = document.get("status", {})
    found = [*status.get("conditions", ()), *(one for each in status.get("parents", ()) for one in each["conditions"])]
    return {each["type"]: each["status"] for each in found}


def furnish(server: ApiServer) -> None:
    for each in (gateway_class(), gateway(), route()):
        server.put(each)


async def test_statuses_are_written_once_their_model_is_in_use(tmp_path: Path) -> None:
    async with ApiServer() as server, client_of(server, tmp_path) as client:
        scene = Scene(server, client)
        scene.in_use = 0
        furnish(server)
        async with running(scene.writer.run()):
            scene.translate()
            await scene.looks_again()
            assert writes(server) == []
            scene.in_use = 1
            await until(lambda: conditions(server).get("Programmed") == "True")
            await until(lambda: conditions(server, "HTTPRoute", "route").get("Accepted") == "True")
            await scene.settles()
        assert sorted(writes(server)) == ["gw", "route", "zonal", "zonal"]
        assert scene.findings == []


async def test_a_new_process_writes_nothing_where_nothing_differs(tmp_path: Path) -> None:
    async with ApiServer() as server, client_of(server, tmp_path) as client:
        furnish(server)
        first = Scene(server, client)
        async with running(first.writer.run()):
            await first.settles()
        server.calls.clear()
        second = Scene(server, client)
        async with running(second.writer.run()):
            second.translate()
            for _ in range(3):
                await second.looks_again()
        assert writes(server) == []


async def test_a_follower_writes_nothing_and_the_new_leader_at_once(tmp_path: Path) -> None:
    async with ApiServer() as server, client_of(server, tmp_path) as client:
        scene = Scene(server, client)
        furnish(server)
        scene.leads = False
        async with running(scene.writer.run()):
            scene.translate()
            await scene.looks_again()
            assert writes(server) == []
            scene.leads = True
            scene.writer.wake()
            await until(lambda: conditions(server).get("Accepted") == "True")


async def test_kinds_that_are_not_known_yet_are_waited_for(tmp_path: Path) -> None:
    async with ApiServer() as server, client_of(server, tmp_path) as client:
        scene = Scene(server, client)
        furnish(server)
        async with running(scene.writer.run()):
            scene.translate()
            known, scene.inventory = scene.inventory, Inventory()
            await scene.looks_again()
            assert writes(server) == []
            scene.inventory = known
            scene.writer.wake()
            await until(lambda: conditions(server).get("Accepted") == "True")


async def test_a_conflict_is_looked_at_again_and_foreign_conditions_survive(tmp_path: Path) -> None:
    async with ApiServer() as server, client_of(server, tmp_path) as client:
        scene = Scene(server, client)
        furnish(server)
        async with running(scene.writer.run()):
            scene.inventory = inventory_of(*kept(server))
            document = server.get("Gateway", "infra", "gw")
            assert document is not None
            foreign = {"type": "example.net/Checked", "status": "True", "reason": "Fine", "message": ""}
            foreign["lastTransitionTime"] = "2026-01-01T00:00:00Z"
            server.put({**document, "status": {"conditions": [foreign]}})
            scene.judgement = judgement_of(scene.inventory)  # of the version before
            scene.writer.translated()
            await server.until_calls(lambda call: call.name == "gw" and call.status == 409)
            scene.translate()
            await until(lambda: conditions(server).get("Accepted") == "True")
        stored = server.get("Gateway", "infra", "gw")
        assert stored is not None
        assert stored["status"]["conditions"][0] == foreign


async def test_who_fights_is_named_and_left_alone(tmp_path: Path) -> None:
    async with ApiServer() as server, client_of(server, tmp_path) as client:
        scene = Scene(server, client)
        furnish(server)
        async with running(scene.writer.run()):
            await scene.settles()
            while not scene.findings:
                await _meddle(client)
                scene.translate()
                before = len(writes(server))
                await until(lambda before=before: len(writes(server)) > before or bool(scene.findings))  # type: ignore[misc]
                await asyncio.sleep(0)
            (finding,) = scene.findings[-1]
            assert (finding.reason, finding.name) == ("StatusContested", "route")
            await _meddle(client)
            scene.translate()
            before = len(writes(server))
            await scene.looks_again()
            assert len(writes(server)) == before


async def _meddle(client: Client) -> None:
    path = "/apis/gateway.networking.k8s.io/v1/namespaces/infra/httproutes/route/status"
    async with client.request(
        "PATCH",
        path,
        query={"fieldManager": "meddler"},
        body=b'{"status":{"parents":[]}}',
        content_type="application/merge-patch+json",
    ) as reply:
        assert reply.status == 200


async def test_without_the_right_a_finding_says_so_and_the_others_are_written(tmp_path: Path) -> None:
    async with ApiServer() as server, client_of(server, tmp_path) as client:
        scene = Scene(server, client)
        furnish(server)
        server.faults.add(Fault(verb="patch", resource="httproutes", status=403))
        async with running(scene.writer.run()):
            scene.translate()
            await until(lambda: conditions(server).get("Accepted") == "True" and bool(scene.findings))
        (finding,) = scene.findings[-1]
        assert finding.reason == "StatusRefused"
        assert "httproutes/status" in finding.message


async def test_an_api_server_that_is_away_is_asked_again(tmp_path: Path) -> None:
    async with ApiServer() as server, client_of(server, tmp_path) as client:
        scene = Scene(server, client)
        furnish(server)
        server.faults.add(Fault(verb="patch", status=503, times=2))
        async with running(scene.writer.run()):
            scene.translate()
            await until(lambda: conditions(server).get("Accepted") == "True")


async def written_before_a_new_route(
    tmp_path: Path, pace: GatewayPace, *, after: int, fault: Fault | None = None
) -> int:
    """How many statuses are written between a change and the status of it, while a hundred routes wait for theirs.

    The change comes `after` so many are written.
    """
    async with ApiServer() as server, client_of(server, tmp_path) as client:
        scene = Scene(server, client, pace=pace)
        furnish(server)
        for number in range(100):
            server.put(route(f"r{number:03}"))
        if fault is not None:
            server.faults.add(fault)
        scene.translate()
        async with running(scene.writer.run()):
            await until(lambda: len(writes(server)) >= after)
            server.put(route("new"))
            before = len(writes(server))
            scene.translate()
            await until(lambda: "new" in writes(server))
            return writes(server)[before:].index("new")


async def test_what_changes_while_many_wait_comes_next(tmp_path: Path) -> None:
    pace = msgspec.structs.replace(PACE, look_writes=5, per_second=200.0)
    assert await written_before_a_new_route(tmp_path, pace, after=20) <= 2 * pace.look_writes


async def test_what_changes_is_not_behind_the_rest_of_a_round(tmp_path: Path) -> None:
    pace = msgspec.structs.replace(PACE, look_writes=100)
    slow = Fault(verb="patch", delay_seconds=0.02)
    assert await written_before_a_new_route(tmp_path, pace, after=10, fault=slow) <= 3 * pace.at_once
