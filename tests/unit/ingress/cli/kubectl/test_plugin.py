"""The command line of `kubectl zonal`, against a test API server and admin ports on loopback."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner, Result

from ingress.admin.overview.document import EndpointRow, FleetPart, FleetReplica, Overview, ZoneRow
from ingress.cli.flags import BadInput
from ingress.cli.kubectl.plugin import plugin
from tests.fakes.apiserver import ApiServer
from tests.unit.ingress.cli.kubectl.clusters import cluster
from tests.unit.ingress.cli.kubectl.test_forwarding import port_of
from tests.unit.ingress.cli.terminal.documents import flow, overview, service
from tests.unit.ingress.cli.terminal.ports import AdminPort, admin_port

pytestmark = pytest.mark.large

ZONES = tuple(ZoneRow(f"zone-{letter}") for letter in "ab")


def replica(zone: str, *zones: ZoneRow) -> Overview:
    """What a replica of a zone says."""
    return overview(
        facts={"own_zone": zone, "pod": f"of-{zone}"},
        zones=zones or ZONES,
        endpoints=(EndpointRow("shop", "cart", "http", "10.0.0.1:80", zone="zone-a"),),
        flows=(flow("zone-a", 5, own=zone),),
        services=(service("cart", 5),),
        routes=(),
        certificates=(),
        findings=(),
    )


@contextmanager
def replicas(*documents: tuple[Overview, ...]) -> Iterator[list[AdminPort]]:
    with ExitStack() as stack:
        yield [stack.enter_context(admin_port(*each)) for each in documents]


class Plugin:
    """Runs commands with a kubeconfig."""

    def __init__(self, server: ApiServer, kubeconfig: Path) -> None:
        self.server = server
        self._kubeconfig = kubeconfig

    async def __call__(self, *arguments: str, context: str = "test") -> Result:
        given = (*arguments, "--kubeconfig", str(self._kubeconfig), "--context", context)
        return await asyncio.to_thread(CliRunner().invoke, plugin, given)

    async def fails(self, *arguments: str, context: str = "test") -> str:
        """What is told of bad input."""
        result = await self(*arguments, context=context)
        assert isinstance(result.exception, BadInput), result.output
        return str(result.exception)

    @property
    def drained(self) -> str:
        stored = self.server.get("ConfigMap", "zonal", "zonal") or {}
        return str(stored["data"]["zone-drain"])


@asynccontextmanager
async def used(place: Path, *documents: tuple[Overview, ...], **data: str) -> AsyncIterator[Plugin]:
    """The plugin in a cluster with such replicas."""
    with replicas(*documents) as ports:
        async with cluster(place, [port_of(each.url) for each in ports], **data) as (server, kubeconfig):
            yield Plugin(server, kubeconfig)


async def test_replicas_are_added_up_or_chosen_by_zone(tmp_path: Path) -> None:
    async with used(tmp_path, (replica("zone-a"),), (replica("zone-b"),)) as kubectl:
        result = await kubectl("status", "-o", "json")
        assert (result.exit_code, [each["pod"] for each in json.loads(result.stdout)]) == (
            0,
            ["of-zone-a", "of-zone-b"],
        )
        chosen = await kubectl("status", "-o", "json", "--zone", "zone-b")
        assert [each["pod"] for each in json.loads(chosen.stdout)] == ["of-zone-b"]
        top = await kubectl("top", "--once", "--interval", "0.2", "-o", "json")
        assert json.loads(top.stdout)["replicas"] == 2


async def test_the_fleet_is_shown_whichever_replica_is_asked(tmp_path: Path) -> None:
    part = FleetPart(
        replicas=(
            FleetReplica("zonal-0", "zone-a", own=True, requests=90210),
            FleetReplica("zonal-1", "zone-b", age_seconds=3.2, requests=10022),
        ),
        flows=(flow("zone-b", 34530),),
    )
    told = (msgspec.structs.replace(replica("zone-a"), fleet=part),)
    async with used(tmp_path, told) as kubectl:
        result = await kubectl("fleet", "--zone", "zone-a")
        assert result.exit_code == 0
        assert [line.split() for line in result.stdout.splitlines()] == [
            ["REPLICA", "ZONE", "STATE", "HEARD", "REQUESTS"],
            ["zonal-0", "zone-a", "up", "-", "90210"],
            ["zonal-1", "zone-b", "up", "3.2", "s", "10022"],
            [],
            ["FROM", "TO", "REQUESTS", "ERRORS", "BYTES"],
            ["zone-a", "zone-b", "34530", "0", "0"],
        ]
        rows = json.loads((await kubectl("fleet", "-o", "json")).stdout)
        assert [each["name"] for each in rows["replicas"]] == ["zonal-0", "zonal-1"]


async def test_filters_of_zonal_stay(tmp_path: Path) -> None:
    async with used(tmp_path, (replica("zone-a"),)) as kubectl:
        assert (await kubectl("endpoints", "--in-zone", "zone-a")).exit_code == 0
        assert (await kubectl("endpoints", "--in-zone", "zone-b", "--zone", "zone-a")).exit_code == 1
        assert (await kubectl("routes")).exit_code == 1
        assert [(await kubectl(each)).exit_code for each in ("certs", "findings")] == [0, 0]


async def test_a_wrong_context_no_replica_and_an_unknown_zone_are_told(tmp_path: Path) -> None:
    async with used(tmp_path, (replica("zone-a"),)) as kubectl:
        assert "nowhere" in await kubectl.fails("status", context="nowhere")
        assert "no pod with the labels" in await kubectl.fails("status", "--selector", "app=other")
        assert "no replica is in zone zone-x" in await kubectl.fails("top", "--once", "--zone", "zone-x")


async def test_a_kubeconfig_that_is_not_there_is_told(tmp_path: Path) -> None:
    given = ("status", "--kubeconfig", str(tmp_path / "none"))
    result = await asyncio.to_thread(CliRunner().invoke, plugin, given)
    assert isinstance(result.exception, BadInput)
    assert "none" in str(result.exception)


async def test_a_drain_is_written_and_awaited(tmp_path: Path) -> None:
    drained = replica("zone-a", ZoneRow("zone-a"), ZoneRow("zone-b", drained=True))
    async with used(tmp_path, (replica("zone-a"), replica("zone-a"), drained), zone_drain="") as kubectl:
        result = await kubectl("drain", "zone-b")
        assert result.output.splitlines() == [
            'ConfigMap zonal/zonal: zone-drain: "zone-b"',
            "1 of 1 replicas know it",
        ]
        assert (result.exit_code, kubectl.drained) == (0, "zone-b")


async def test_a_drain_that_cannot_be_meant_needs_force(tmp_path: Path) -> None:
    async with used(tmp_path, (replica("zone-a"),), zone_drain="zone-a") as kubectl:
        assert "no replica knows zone zone-x (they know zone-a, zone-b)" in await kubectl.fails("drain", "zone-x")
        assert "ZONE is one zone" in await kubectl.fails("drain", "zone-a,zone-b")
        assert "zone-b is the last zone" in await kubectl.fails("drain", "zone-b")
        assert kubectl.drained == "zone-a"
        assert (await kubectl("drain", "zone-x", "--force", "--wait", "0")).exit_code == 0
        assert kubectl.drained == "zone-a,zone-x"


async def test_a_drain_may_end_by_itself(tmp_path: Path) -> None:
    over = "zone-a until=2020-01-31T18:00:00Z"
    async with used(tmp_path, (replica("zone-a"),), zone_drain=over) as kubectl:
        assert (await kubectl("drain", "zone-b", "--until", "2100-01-31T18:00:00Z", "--wait", "0")).exit_code == 0
        assert kubectl.drained == f"{over},zone-b until=2100-01-31T18:00:00Z", "what is over drains no zone"
        assert "--until soon: use a duration" in await kubectl.fails("drain", "zone-b", "--until", "soon")
        result = await kubectl("undrain", "zone-b", "--wait", "0")
        assert (result.exit_code, kubectl.drained) == (0, over)


async def test_a_drain_that_nobody_notices_is_told(tmp_path: Path) -> None:
    async with used(tmp_path, (replica("zone-a"),), zone_drain="") as kubectl:
        assert "not every replica knows it after 0.1 s" in await kubectl.fails("drain", "zone-b", "--wait", "0.1")


@pytest.mark.parametrize(("zone", "left"), [(("zone-a",), "zone-c"), ((), "")])
async def test_a_drain_ends_for_one_zone_or_for_all(tmp_path: Path, zone: tuple[str, ...], left: str) -> None:
    async with used(tmp_path, (replica("zone-a"),), zone_drain="zone-a,zone-c") as kubectl:
        result = await kubectl("undrain", *zone)
        assert (result.exit_code, kubectl.drained) == (0, left)
        assert "zone-b is not drained" in await kubectl.fails("undrain", "zone-b")
