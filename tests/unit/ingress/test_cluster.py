"""What talks to the API server, put together: what was found before the start is not lost, and what fails is told."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from ingress.cluster import Cluster
from ingress.findings import Finding, Severity
from ingress.following.controller import Controller
from ingress.following.publishing import Published
from ingress.settings.options import ClusterAccess, RunOptions
from ingress.writing.elector import Elector
from tests.fakes.apiserver import ApiServer, Call
from tests.fakes.sockets import until
from tests.integration.manifests import ingress, path, rule
from tests.unit.ingress.writing.writers import TIMES, class_document, client_of, ingress_document, running

pytestmark = pytest.mark.large

TAKEN = Finding("Ingress", "shop", "web", "Conflict", "It is taken.", "Nothing is served.", Severity.MISROUTED)
NOTE = f"{TAKEN.message} {TAKEN.effect}"
SCALE = 1 / 15
"""As of `TIMES`: a lease of two seconds."""


@asynccontextmanager
async def replica_of(
    server: ApiServer, folder: Path, published: Published | None = None
) -> AsyncIterator[tuple[Cluster, Controller]]:
    """A replica that knows the Ingress of the server, has one finding that came of age, and does not write yet."""
    access = ClusterAccess(
        kubeconfig=server.write_kubeconfig(folder / "kubeconfig", token="pod-2"),
        pod_namespace="zonal",
        pod_name="pod-2",
        time_scale=SCALE,
    )
    options = RunOptions(source=None, cluster=access)
    cluster = await Cluster.open(options)
    published = published or Published(lambda _: None)
    controller = Controller(cluster.source, context=options.context, published=published)
    await controller.start()
    try:
        async with running(controller.run()):
            await until(lambda: controller.inventory.ingress("shop", "web") is not None)
            cluster.findings_told((TAKEN,))
            assert cluster.leading is None
            yield cluster, controller
    finally:
        await cluster.close()
        await controller.close()


@asynccontextmanager
async def served() -> AsyncIterator[ApiServer]:
    """An API server with an Ingress."""
    async with ApiServer() as server:
        server.put(class_document())
        server.put(ingress_document())
        yield server


def notes(server: ApiServer) -> list[str]:
    return [event["note"] for event in server.objects("Event")]


async def test_what_came_of_age_before_the_start_becomes_an_event_once_the_replica_leads(tmp_path: Path) -> None:
    async with served() as server, replica_of(server, tmp_path) as (cluster, controller):
        assert notes(server) == []
        await cluster.start(controller, Published(lambda _: None), lambda: 0)
        await until(lambda: notes(server) == [NOTE])
        assert cluster.leading


async def test_it_waits_for_the_lease_that_another_replica_holds(tmp_path: Path) -> None:
    async with served() as server, client_of(server, tmp_path) as client:
        other = Elector(client, namespace="zonal", name="zonal-leader", identity="pod-1", times=TIMES)
        async with replica_of(server, tmp_path) as (cluster, controller):
            async with running(other.run()):
                await until(lambda: other.leading)
                await cluster.start(controller, Published(lambda _: None), lambda: 0)
                await server.until_calls(_asks_for_the_lease, 2)
                assert notes(server) == []
                assert cluster.leading is False
            await other.release()
            await until(lambda: notes(server) == [NOTE])
            assert cluster.leading


def _asks_for_the_lease(call: Call) -> bool:
    return call.resource == "leases" and call.verb == "get" and call.user == "pod-2"


HELD_FOR_EVER = {
    "apiVersion": "coordination.k8s.io/v1",
    "kind": "Lease",
    "metadata": {"name": "zonal-leader", "namespace": "zonal"},
    "spec": {"holderIdentity": "pod-1", "leaseDurationSeconds": 10**400},
}
"""A Lease with a number that no API server stores, and that no time can be added to."""


async def test_a_task_that_fails_is_a_finding_until_it_works_again_and_nobody_waits_for_it(tmp_path: Path) -> None:
    published = Published(lambda _: None)

    def failing() -> list[Finding]:
        return [finding for finding in published.findings if finding.reason == "TaskFailed"]

    def fails_for_the_fourth_time() -> bool:
        (finding,) = failing()  # between two tries, too
        return "OverflowError 4 times or more" in finding.message

    async with served() as server, replica_of(server, tmp_path, published) as (cluster, controller):
        server.put(HELD_FOR_EVER)
        await cluster.start(controller, published, lambda: 0)
        await until(lambda: bool(failing()))
        (finding,) = failing()
        assert (finding.kind, finding.namespace, finding.name) == ("Replica", "zonal", "pod-2")
        assert finding.message.startswith("the election of a leader failed: OverflowError")
        assert finding.severity is Severity.DEGRADED
        server.put(ingress("web", rule("blog.test", path("/", "web")), namespace="blog"))
        await until(lambda: "blog.test" in {host.name for host in published.model.hosts})
        await until(fails_for_the_fourth_time)
        assert cluster.leading is False
        server.delete("Lease", "zonal", "zonal-leader")
        await until(lambda: notes(server) == [NOTE])
        await until(lambda: not failing())
