"""How many requests a replica sends to the API server: those that docs/operations.md says, and no others."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from ingress.sources.kubernetes.reflecting import ReflectorTimes
from ingress.writing.electing import ElectorTimes
from ingress.writing.status_writer import StatusPace
from tests.fakes.apiserver import ApiServer
from tests.fakes.sockets import until
from tests.integration.manifests import Document, config_map
from tests.integration.test_cluster import backend, fill, process

_PAGE = Path(__file__).parents[2] / "docs" / "operations.md"
_WATCHED = {"ingresses", "ingressclasses", "services", "endpointslices", "configmaps", "nodes"}
_AT_REST = {("update", "leases"), ("list", "services")}


def rows() -> dict[str, tuple[str, str]]:
    """The table of the page: requests at the start and in a minute, by the first word of the row that matters."""
    section = _PAGE.read_text(encoding="utf-8").partition("**How many requests that is.**")[2]
    found = re.findall(r"^\| (.+?) \| ([0-9][^|]*) \| ([0-9][^|]*) \|", section, flags=re.MULTILINE)
    names = {"watches": "watches", "a list of Nodes": "nodes", "the Lease": "lease", "the Service": "service"}
    return {
        name: (start, minute)
        for text, start, minute in found
        for beginning, name in names.items()
        if text.startswith(beginning)
    }


def published() -> Document:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "zonal", "namespace": "zonal"},
        "spec": {"type": "LoadBalancer", "ports": [{"port": 80}]},
        "status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}},
    }


@pytest.mark.parametrize("streaming", [True, False])
async def test_the_requests_of_a_start_are_those_of_the_page(tmp_path: Path, *, streaming: bool) -> None:
    async with backend() as endpoint, ApiServer() as server:
        fill(server, endpoint)
        server.put(config_map())
        server.put(published())
        server.streaming_lists = streaming
        async with process(server, tmp_path, "--publish-service=zonal/zonal") as zonal:
            await zonal.is_ready()
            await server.until_calls(lambda call: call.verb == "patch")
            calls = [call for call in server.calls if call.resource]
            await zonal.stop()
    said = rows()
    first = [call for call in calls if call.is_watch and "sendInitialEvents" in call.query]
    second = [call for call in calls if call.is_watch and "sendInitialEvents" not in call.query]
    assert {call.resource for call in first} == _WATCHED
    assert len(first) == int(said["watches"][0])
    # Without streaming lists the first watch of each kind is in vain: a list and another watch follow it.
    assert len(second) == (0 if streaming else len(first))
    lists = [call for call in calls if call.verb == "list"]
    nodes = [call for call in lists if call.resource == "nodes" and not call.name]
    addresses = [call for call in lists if call.resource == "services" and call.name]
    assert len(nodes) == int(said["nodes"][0])
    assert addresses, "the leader has asked for its address; how often depends on how long the start took"
    assert len(lists) - len(nodes) - len(addresses) == len(second)
    leases = Counter(call.verb for call in calls if call.resource == "leases")
    assert (leases["get"], leases["create"], said["lease"][0]) == (1, 1, "1 to 2")


async def test_at_rest_a_leader_renews_its_lease_and_asks_for_its_address(tmp_path: Path) -> None:
    async with backend() as endpoint, ApiServer() as server:
        fill(server, endpoint)
        server.put(config_map())
        server.put(published())
        async with process(server, tmp_path, "--publish-service=zonal/zonal", "--time-scale=0.05") as zonal:
            await zonal.is_ready()
            await server.until_calls(lambda call: call.verb == "patch")
            begun = len(server.calls)
            await until(lambda: Counter(call.verb for call in server.calls[begun:])["update"] >= 8)
            during = Counter((call.verb, call.resource) for call in server.calls[begun:])
            await zonal.stop()
    # Times are a twentieth, so some watches may end meanwhile.
    assert {kind for kind in during if kind[0] != "watch"} == _AT_REST


def test_the_requests_of_a_minute_are_those_of_the_page() -> None:
    said, times = rows(), ReflectorTimes()
    watch_seconds = (times.watch_min_seconds + times.watch_max_seconds) / 2
    assert float(said["watches"][1]) == pytest.approx(len(_WATCHED) * 60 / watch_seconds)
    assert float(said["nodes"][1]) == 0
    assert float(said["lease"][1]) == pytest.approx(60 / ElectorTimes().retry_seconds)
    assert said["service"][1] == f"0 to {60 / StatusPace().lookup_seconds:g}"
