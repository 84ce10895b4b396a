"""Events as they arrive at a server: from the leader only, once, and never at the price of anything else."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from ingress.findings import Finding, Severity
from ingress.sources.kubernetes.api import ApiServer as Client
from ingress.writing.event_writer import EventWriter
from ingress.writing.notices import Notice, NoticeLimits, notices_of
from tests.fakes.apiserver import ApiServer, Fault
from tests.fakes.sockets import until
from tests.unit.ingress.writing.writers import client_of, ingress_document, inventory_of, running

pytestmark = pytest.mark.large


def conflicts(server: ApiServer, *messages: str) -> tuple[Notice, ...]:
    found = [Finding("Ingress", "shop", "web", "Conflict", message, "", Severity.MISROUTED) for message in messages]
    return notices_of(found, inventory_of(server))


def notes(server: ApiServer) -> list[str]:
    return sorted(event["note"].strip() for event in server.objects("Event"))


def writer_of(client: Client, leads: Sequence[bool] = (True,), limits: NoticeLimits | None = None) -> EventWriter:
    """Led by the last item of `leads`."""
    return EventWriter(client, instance="pod-1", leading=lambda: leads[-1], limits=limits)


async def test_what_is_wrong_is_said_beside_the_object(tmp_path: Path) -> None:
    async with ApiServer() as server, client_of(server, tmp_path) as client:
        uid = server.put(ingress_document())["metadata"]["uid"]
        writer = writer_of(client)
        async with running(writer.run()):
            writer.follow(conflicts(server, "It is taken."))
            await until(lambda: writer.written == 1)
            writer.follow(conflicts(server, "It is taken.", "So is that."))
            await until(lambda: writer.written == 2)
        assert notes(server) == ["It is taken.", "So is that."]
        assert {event["regarding"]["uid"] for event in server.objects("Event")} == {uid}
        assert {event["metadata"]["namespace"] for event in server.objects("Event")} == {"shop"}


async def test_events_that_may_not_be_written_are_a_finding_until_they_may(tmp_path: Path) -> None:
    async with ApiServer() as server, client_of(server, tmp_path) as client:
        server.put(ingress_document())
        fault = server.faults.add(Fault(resource="events", status=403))
        told: list[tuple[Finding, ...]] = []
        writer = EventWriter(client, instance="pod-1", leading=lambda: True, on_findings=told.append)
        async with running(writer.run()):
            writer.follow(conflicts(server, "It is taken."))
            await until(lambda: [[finding.reason for finding in each] for each in told] == [["EventsRefused"]])
            server.faults.remove(fault)
            writer.follow(conflicts(server, "It is taken.", "So is that."))
            await until(lambda: told[1:] == [()])


async def test_followers_say_nothing_until_they_lead(tmp_path: Path) -> None:
    async with ApiServer() as server, client_of(server, tmp_path) as client:
        server.put(ingress_document())
        leads = [False]
        writer = writer_of(client, leads)
        async with running(writer.run()):
            writer.follow(conflicts(server, "past", "It is taken."))
            writer.follow(conflicts(server, "It is taken."))
            leads.append(True)
            writer.wake()
            await until(lambda: writer.written == 1)
        assert notes(server) == ["It is taken."]


async def test_what_the_last_leader_said_is_not_said_again(tmp_path: Path) -> None:
    async with ApiServer() as server, client_of(server, tmp_path) as client:
        server.put(ingress_document())
        first, second = writer_of(client), writer_of(client)
        async with running(first.run()):
            first.follow(conflicts(server, "It is taken."))
            await until(lambda: first.written == 1)
        async with running(second.run()):
            second.follow(conflicts(server, "It is taken.", "news"))
            await until(lambda: second.written == 1)
        assert notes(server) == ["It is taken.", "news"]
        assert second.failed == 0


async def test_failures_are_counted_and_never_stop_the_next(tmp_path: Path) -> None:
    async with ApiServer() as server, client_of(server, tmp_path) as client:
        server.put(ingress_document())
        writer = writer_of(client)
        async with running(writer.run()):
            for fault in (Fault(verb="create", status=403, times=1), Fault(verb="create", reset=True, times=1)):
                failed = writer.failed
                server.faults.add(fault)
                writer.follow(conflicts(server, f"lost {failed}"))
                await until(lambda before=failed: writer.failed > before)  # type: ignore[misc]
            writer.follow(conflicts(server, "heard"))
            await until(lambda: writer.written == 1)
        assert notes(server) == ["heard"]
        assert writer.failed == 2


async def test_a_flood_is_paced_and_what_is_too_much_is_counted(tmp_path: Path) -> None:
    async with ApiServer() as server, client_of(server, tmp_path) as client:
        server.put(ingress_document())
        limits = NoticeLimits(burst=2, per_second=20, waiting=5)
        writer = writer_of(client, limits=limits)
        async with running(writer.run()):
            began = time.monotonic()  # not the first call, which a busy machine may receive late
            writer.follow(conflicts(server, *(f"note {number}" for number in range(9))))
            await until(lambda: writer.written == 5)
        assert writer.dropped == 4
        created = [call.at for call in server.calls if call.verb == "create"]
        assert created[-1] - began >= 0.9 * (5 - 2) / 20
