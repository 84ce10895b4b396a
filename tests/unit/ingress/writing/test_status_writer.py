"""Statuses as they are on a server: right while we lead, restored when they are not, whatever goes wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ingress.findings import Finding, Subject
from ingress.sources.kubernetes.api import ApiServer as Client
from ingress.writing.address_lookup import AddressesUnknown, AddressLookup, FixedAddresses, ServiceAddresses
from ingress.writing.addresses import Addresses, parse_addresses
from ingress.writing.status_writer import StatusPace, StatusWriter
from ingress.writing.statuses import CurrentStatus
from tests.fakes.apiserver import ApiServer, Call, Fault
from tests.fakes.sockets import until
from tests.unit.ingress.writing.writers import (
    class_document,
    client_of,
    ingress_document,
    published,
    running,
    standings,
)

pytestmark = pytest.mark.large

OURS = [{"ip": "203.0.113.7"}]
OURS_FIXED = FixedAddresses(parse_addresses("203.0.113.7"))
PACE = StatusPace(interval_seconds=30.0, quiet_seconds=0.01, retry_seconds=0.05, lookup_seconds=0.01, per_second=1000.0)
"""Only what wakes the writer, or went wrong, makes it look again in these tests."""


class Scene:
    """A writer and what it said."""

    def __init__(
        self,
        server: ApiServer,
        client: Client,
        *,
        lookup: AddressLookup = OURS_FIXED,
        leads: bool = True,
        pace: StatusPace = PACE,
    ) -> None:
        self.leads = leads
        self.findings: list[tuple[Finding, ...]] = []
        self.looks = 0
        self._server = server
        self.writer = StatusWriter(
            client,
            lookup=lookup,
            standings=self._standings,
            leading=lambda: self.leads,
            on_findings=self.findings.append,
            pace=pace,
        )

    async def has_looked_again(self) -> None:
        """Wait for a look that begins from now on; the one before has ended."""
        before = self.looks
        self.writer.wake()
        await until(lambda: self.looks > before)

    def _standings(self) -> tuple[CurrentStatus, ...]:
        self.looks += 1
        return standings(self._server)


def is_patch(call: Call) -> bool:
    return call.verb == "patch" and call.subresource == "status"


def patches(server: ApiServer) -> list[str]:
    return [call.name for call in server.calls if is_patch(call)]


async def test_accepted_ingresses_get_our_addresses_and_others_nothing(tmp_path: Path) -> None:
    async with ApiServer() as server, client_of(server, tmp_path) as client:
        for document in (class_document(), ingress_document("a"), ingress_document("b", class_name="other")):
            server.put(document)
        scene = Scene(server, client)
        async with running(scene.writer.run()):
            await until(lambda: scene.writer.written == 1)
            server.put(ingress_document("c"))
            scene.writer.wake()
            await until(lambda: published(server, "c") == OURS)
        assert published(server, "a") == OURS
        assert published(server, "b") == []
        assert patches(server) == ["a", "c"]
        assert scene.findings == []


async def test_a_foreign_edit_is_restored_at_the_interval_at_the_latest(tmp_path: Path) -> None:
    async with ApiServer() as server, client_of(server, tmp_path) as client:
        server.put(class_document())
        server.put(ingress_document())
        async with running(Scene(server, client, pace=StatusPace().scaled(0.002)).writer.run()):
            await until(lambda: published(server) == OURS)
            server.put(ingress_document(loadBalancer={"ingress": [{"hostname": "elsewhere.test"}]}))
            await until(lambda: published(server) == OURS)


async def test_an_ingress_that_leaves_our_class_loses_our_addresses(tmp_path: Path) -> None:
    async with ApiServer() as server, client_of(server, tmp_path) as client:
        server.put(class_document())
        server.put(ingress_document())
        scene = Scene(server, client)
        async with running(scene.writer.run()):
            await until(lambda: published(server) == OURS)
            server.put(ingress_document(class_name="other", loadBalancer={"ingress": OURS}))
            scene.writer.wake()
            await until(lambda: published(server) == [])
        assert patches(server) == ["web", "web"]


async def test_a_follower_writes_nothing_and_the_new_leader_at_once(tmp_path: Path) -> None:
    async with ApiServer() as server, client_of(server, tmp_path) as client:
        server.put(class_document())
        server.put(ingress_document())
        scene = Scene(server, client, leads=False)
        async with running(scene.writer.run()):
            for _ in range(3):
                await scene.has_looked_again()
            assert server.calls == []
            scene.leads = True
            scene.writer.wake()
            await until(lambda: published(server) == OURS)


async def test_leadership_that_is_lost_in_the_middle_stops_the_writes(tmp_path: Path) -> None:
    async with ApiServer() as server, client_of(server, tmp_path) as client:
        server.put(class_document())
        for number in range(200):
            server.put(ingress_document(f"web-{number}"))
        scene = Scene(server, client, pace=StatusPace(per_second=50.0, quiet_seconds=0.01))
        async with running(scene.writer.run()):
            await server.until_calls(is_patch, 3)
            scene.leads = False
            stopped_at = len(patches(server))
            await scene.has_looked_again()
        assert len(patches(server)) <= stopped_at + PACE.at_once < 200


async def test_errors_of_some_never_stop_the_others(tmp_path: Path) -> None:
    async with ApiServer() as server, client_of(server, tmp_path) as client:
        server.put(class_document())
        for name in ("busy", "changed", "fine", "gone"):
            server.put(ingress_document(name))
        server.faults.add(Fault(verb="patch", name="gone", status=404, times=1))
        server.faults.add(Fault(verb="patch", name="changed", status=409, times=2))
        server.faults.add(Fault(verb="patch", name="busy", status=503, times=2))
        scene = Scene(server, client)
        async with running(scene.writer.run()):
            for name in ("busy", "changed", "fine"):
                await until(lambda name=name: published(server, name) == OURS)  # type: ignore[misc]
        assert scene.writer.failed == 4
        assert scene.findings == []


async def test_a_stale_view_is_refused_by_the_server_and_looked_at_again(tmp_path: Path) -> None:
    async with ApiServer() as server, client_of(server, tmp_path) as client:
        server.put(class_document())
        server.put(ingress_document())
        late = [standings(server)]
        server.put(ingress_document(loadBalancer={"ingress": [{"hostname": "elsewhere.test"}]}))
        writer = StatusWriter(
            client,
            lookup=OURS_FIXED,
            standings=lambda: late[-1],
            leading=lambda: True,
            pace=PACE,
        )
        async with running(writer.run()):
            await server.until_calls(lambda call: call.status == 409)
            assert published(server) == [{"hostname": "elsewhere.test"}]
            late.append(standings(server))
            await until(lambda: published(server) == OURS)


async def test_a_server_that_asks_for_time_gets_it(tmp_path: Path) -> None:
    async with ApiServer() as server, client_of(server, tmp_path) as client:
        server.put(class_document())
        for number in range(20):
            server.put(ingress_document(f"web-{number}"))
        server.faults.add(Fault(verb="patch", status=429, retry_after="1", times=4))
        async with running(Scene(server, client).writer.run()):
            await until(lambda: published(server, "web-0") == OURS)
        refused = [call.at for call in server.calls if call.status == 429]
        carried_out = [call.at for call in server.calls if call.status == 200]
        assert len(refused) <= PACE.at_once
        assert min(at for at in carried_out if at > max(refused)) - max(refused) >= 0.9


async def test_a_refusal_is_one_finding_for_each_namespace_until_it_ends(tmp_path: Path) -> None:
    async with ApiServer() as server, client_of(server, tmp_path) as client:
        server.put(class_document())
        for number in range(30):
            server.put(ingress_document(f"web-{number}"))
        server.rules = []
        scene = Scene(server, client)
        async with running(scene.writer.run()):
            await until(lambda: bool(scene.findings))
            ((finding,),) = scene.findings
            assert (finding.kind, finding.name, finding.reason) == ("Namespace", "shop", "StatusRefused")
            assert len(patches(server)) < 3 + PACE.at_once
            server.rules = None
            scene.writer.wake()
            await until(lambda: scene.findings[-1] == ())
        assert published(server, "web-29") == OURS


async def test_without_addresses_nothing_is_touched_and_what_is_wrong_is_said(tmp_path: Path) -> None:
    async with ApiServer() as server, client_of(server, tmp_path) as client:
        server.put(class_document())
        server.put(ingress_document(loadBalancer={"ingress": [{"ip": "192.0.2.1"}]}))
        scene = Scene(server, client, lookup=ServiceAddresses(client, namespace="zonal", name="zonal"))
        async with running(scene.writer.run()):
            await until(lambda: bool(scene.findings))
            ((finding,),) = scene.findings
            assert (finding.kind, finding.namespace, finding.name) == ("Service", "zonal", "zonal")
        assert patches(server) == []


async def test_the_last_known_addresses_outlive_a_lookup_that_fails(tmp_path: Path) -> None:
    async with ApiServer() as server, client_of(server, tmp_path) as client:
        answers: list[Addresses | None] = [parse_addresses("203.0.113.7")]

        async def lookup() -> Addresses:
            found = answers[-1]
            if found is None:
                raise AddressesUnknown("away", subject=Subject("Service", "zonal", "zonal"))
            return found

        server.put(class_document())
        server.put(ingress_document())
        scene = Scene(server, client, lookup=lookup)
        async with running(scene.writer.run()):
            await until(lambda: published(server) == OURS)
            answers.append(None)
            server.put(ingress_document("b"))
            scene.writer.wake()
            await until(lambda: published(server, "b") == OURS)
            await until(lambda: bool(scene.findings))


async def test_changes_of_ingresses_do_not_ask_for_addresses_each_time(tmp_path: Path) -> None:
    async with ApiServer() as server, client_of(server, tmp_path) as client:
        asked: list[Addresses] = []

        async def lookup() -> Addresses:
            asked.append(parse_addresses("203.0.113.7"))
            return asked[-1]

        server.put(class_document())
        scene = Scene(server, client, lookup=lookup, pace=StatusPace(quiet_seconds=0.01, lookup_seconds=3600.0))
        async with running(scene.writer.run()):
            for name in "abc":
                server.put(ingress_document(name))
                scene.writer.wake()
                await until(lambda name=name: published(server, name) == OURS)  # type: ignore[misc]
        assert len(asked) == 1


def publish_service(address: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "zonal", "namespace": "zonal"},
        "spec": {"type": "LoadBalancer", "ports": [{"port": 80}]},
        "status": {"loadBalancer": {"ingress": [{"ip": address}]}},
    }


async def test_a_new_address_of_the_service_is_written_though_nobody_wakes_the_writer(tmp_path: Path) -> None:
    async with ApiServer() as server, client_of(server, tmp_path) as client:
        for document in (class_document(), ingress_document(), publish_service("203.0.113.7")):
            server.put(document)
        scene = Scene(server, client, lookup=ServiceAddresses(client, namespace="zonal", name="zonal"))
        async with running(scene.writer.run()):
            await until(lambda: published(server) == OURS)
            looks = scene.looks
            await server.until_calls(lambda call: call.resource == "services", 5)
            assert scene.looks == looks, "the same address is no reason to look at every Ingress"
            server.put(publish_service("203.0.113.8"))
            await until(lambda: published(server) == [{"ip": "203.0.113.8"}])
            server.delete("Service", "zonal", "zonal")
            await until(lambda: bool(scene.findings))
            server.put(publish_service("203.0.113.8"))
            await until(lambda: scene.findings[-1] == ())


async def test_a_follower_asks_for_no_address(tmp_path: Path) -> None:
    async with ApiServer() as server, client_of(server, tmp_path) as client:
        server.put(publish_service("203.0.113.7"))
        lookup = ServiceAddresses(client, namespace="zonal", name="zonal")
        scene = Scene(server, client, lookup=lookup, leads=False, pace=PACE.scaled(0.01))
        async with running(scene.writer.run()):
            for _ in range(5):
                await scene.has_looked_again()
        assert server.calls == []


async def test_a_lookup_that_breaks_does_not_end_the_writer(tmp_path: Path) -> None:
    async with ApiServer() as server, client_of(server, tmp_path) as client:
        broken = [True]

        async def lookup() -> Addresses:
            if broken.pop():
                raise RuntimeError("ours to mend")
            return parse_addresses("203.0.113.7")

        server.put(class_document())
        server.put(ingress_document())
        scene = Scene(server, client, lookup=lookup)
        async with running(scene.writer.run()):
            await until(lambda: broken == [])
            broken.append(False)
            scene.writer.wake()
            await until(lambda: published(server) == OURS)


async def test_no_more_than_a_few_writes_are_under_way_at_once(tmp_path: Path) -> None:
    async with ApiServer() as server, client_of(server, tmp_path) as client:
        under_way: list[int] = []

        def notes(call: Call) -> bool:
            under_way.append(sum(is_patch(other) and other.status == 0 for other in server.calls))
            return is_patch(call)

        server.put(class_document())
        for number in range(12):
            server.put(ingress_document(f"web-{number}"))
        server.faults.add(Fault(matches=notes, delay_seconds=0.05))
        scene = Scene(server, client)
        async with running(scene.writer.run()):
            await until(lambda: scene.writer.written == 12)
        assert 1 < max(under_way) <= PACE.at_once
