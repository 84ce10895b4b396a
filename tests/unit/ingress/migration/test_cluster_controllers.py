"""The controller of ingress-nginx is found in a cluster, with what stands beside it."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from ingress.migration.arguments import PortLines
from ingress.migration.cluster_controllers import AskedController, ask_controller
from ingress.sources.kubernetes.api import ApiServer as Api
from tests.fakes.apiserver import ApiServer
from tests.fakes.apiserver.faults import Fault
from tests.integration.manifests import Document
from tests.unit.ingress.migration.dumped import CONTEXT, controller, settings
from tests.unit.ingress.migration.test_controllers import front

pytestmark = pytest.mark.large


@asynccontextmanager
async def cluster(place: Path, *documents: Document) -> AsyncIterator[tuple[ApiServer, Api]]:
    async with ApiServer() as server:
        for document in documents:
            server.put(document)
        api = await Api.connect(kubeconfig=server.write_kubeconfig(place / "kubeconfig"))
        try:
            yield server, api
        finally:
            await api.close()


def other(number: int) -> Document:
    """A Deployment of somebody else."""
    made = controller()
    made["metadata"] = {"name": f"other-{number}", "namespace": "shop"}
    made["spec"]["template"]["spec"]["containers"][0] = {"name": "web", "image": "web:1"}
    return made


async def test_it_is_found_on_the_last_page_with_its_service_and_its_ports(tmp_path: Path) -> None:
    nginx = controller("--tcp-services-configmap=$(POD_NAMESPACE)/tcp", "--publish-service=$(POD_NAMESPACE)/front")
    nginx["metadata"]["namespace"] = "zz"
    tcp = settings() | {"metadata": {"name": "tcp", "namespace": "zz"}, "data": {"22": "git/ssh:22"}}
    before = front() | {"metadata": {"name": "front", "namespace": "zz"}}
    async with cluster(tmp_path, *map(other, range(501)), nginx, tcp, before) as (_, api):
        asked = await ask_controller(api, CONTEXT, seconds=30.0)
    assert asked.controller is not None
    assert (asked.controller.kind, asked.controller.namespace, asked.controller.file) == ("Deployment", "zz", "")
    assert asked.service is not None
    assert (asked.service["metadata"]["name"], asked.ports, asked.unread) == (
        "front",
        PortLines({"22": "git/ssh:22"}),
        (),
    )


async def test_one_of_another_class_is_not_it(tmp_path: Path) -> None:
    async with cluster(tmp_path, controller("--ingress-class=inner"), other(1)) as (_, api):
        assert await ask_controller(api, CONTEXT, seconds=30.0) == AskedController()


async def test_a_controller_in_a_daemon_set_without_a_map_of_ports(tmp_path: Path) -> None:
    nginx = controller("--tcp-services-configmap=a/missing") | {"kind": "DaemonSet"}
    async with cluster(tmp_path, nginx) as (_, api):
        asked = await ask_controller(api, CONTEXT, seconds=30.0)
    assert asked.controller is not None
    assert (asked.controller.kind, asked.ports, asked.service, asked.unread) == ("DaemonSet", PortLines(), None, ())


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        (Fault(resource="deployments", status=403), "arguments of ingress-nginx could not be read .*: status 403"),
        (Fault(resource="daemonsets", reset=True), "arguments of ingress-nginx could not be read"),
        (Fault(resource="services", status=403), "What stands beside ingress-nginx could not be read"),
        (Fault(resource="deployments", stall=True), "came not in time"),
    ],
)
async def test_what_may_not_be_read_is_said(tmp_path: Path, fault: Fault, told: str) -> None:
    seconds = 0.5 if fault.stall else 30.0
    async with cluster(tmp_path, controller()) as (server, api):
        server.faults.add(fault)
        asked = await ask_controller(api, CONTEXT, seconds=seconds)
    (sentence,) = asked.unread
    assert re.search(told, sentence)
    assert (asked.controller is not None) == (fault.resource == "services")
