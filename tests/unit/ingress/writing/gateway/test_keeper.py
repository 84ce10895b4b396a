"""Services of Gateways as they are on a server, while replicas come, lead and go."""

from __future__ import annotations

from pathlib import Path

import pytest

from ingress.findings import Finding
from ingress.objects.converting import decode
from ingress.objects.kinds import Kind
from ingress.settings.gateway_ports import GatewayServices
from ingress.sources.events import Provisioned, Replaced
from ingress.sources.inventory import Inventory
from ingress.sources.kubernetes.api import ApiServer as Client
from ingress.translation.gateway.material import GatewayMaterial
from ingress.translation.gateway.reading import GatewayOptions, read_gateways
from ingress.translation.secrets.materials import Materials
from ingress.writing.gateway.in_use import Judgement
from ingress.writing.gateway.keeper import GatewayKeeper, KeeperPace
from ingress.writing.gateway.surroundings import PlanSurroundings
from ingress.writing.gateway.writer import GatewayCluster
from tests.fakes.apiserver import ApiServer, Call, Fault
from tests.fakes.sockets import until
from tests.features.gateway.api_stage import furnish, services
from tests.unit.ingress.writing.gateway.objects import OURS, VERSIONS, gateway, gateway_class, kept
from tests.unit.ingress.writing.writers import client_of, running

pytestmark = pytest.mark.large

OPTIONS = GatewayServices("zonal", tuple(range(20000, 20008)))
PACE = KeeperPace(quiet_seconds=0.01, retry_seconds=0.05, interval_seconds=0.1, leaving_seconds=0.0)


class Scene:
    """A keeper of one replica, whose translation follows the server and what the keeper provides."""

    def __init__(self, server: ApiServer, client: Client, *, options: GatewayServices | None = OPTIONS) -> None:
        self.server = server
        self.options = options
        self.leads = True
        self.in_use = True
        self.provisioned = Provisioned()
        self.findings: list[tuple[Finding, ...]] = []
        self.generation = 0
        self.translate()
        cluster = GatewayCluster(
            inventory=lambda: self.inventory,
            versions=lambda: VERSIONS,
            judgement=lambda: self.judgement,
            in_use=lambda: self.generation if self.in_use else 0,
            leading=lambda: self.leads,
        )
        self.keeper = GatewayKeeper(
            client,
            cluster,
            services=options,
            surroundings=PlanSurroundings(
                client, own_service=("zonal", "zonal"), lookup=None, pause_seconds=0.05, needs_selector=True
            ),
            provide=self._provide,
            on_findings=self.findings.append,
            pace=PACE,
        )

    def _provide(self, provisioned: Provisioned) -> None:
        self.provisioned = provisioned
        self.translate()
        self.keeper.translated()

    def translate(self) -> None:
        documents = [*kept(self.server), *self.server.objects("Service")]
        found = [item for each in documents if (item := decode(each)) is not None]
        self.inventory = Inventory()
        for kind in Kind:
            self.inventory.apply(Replaced(kind, tuple(item for item in found if item.kind is kind)))
        self.inventory.apply(self.provisioned)
        options = GatewayOptions(OURS, services=self.options)
        read = read_gateways(self.inventory, options, GatewayMaterial(self.inventory, Materials()))
        self.generation += 1
        self.judgement = Judgement(read.standings, read.exposures, self.generation, self.inventory.stamps.now)

    def watched(self) -> bool:
        """The watch reports everything."""
        self.translate()
        self.keeper.translated()
        return True


def is_write(call: Call) -> bool:
    return call.resource == "services" and call.verb in ("create", "patch", "delete")


def targets(server: ApiServer) -> dict[str, list[int]]:
    return {name: [port["targetPort"] for port in each["spec"]["ports"]] for name, each in services(server).items()}


async def test_each_gateway_gets_a_service_and_loses_it_with_its_end(tmp_path: Path) -> None:
    async with ApiServer() as server, client_of(server, tmp_path) as client:
        furnish(server)
        for each in (gateway_class(), gateway("one"), gateway("two")):
            server.put(each)
        scene = Scene(server, client)
        async with running(scene.keeper.run()):
            scene.keeper.translated()
            await until(lambda: targets(server).keys() == {"infra/one", "infra/two"})
            assert len({port for each in targets(server).values() for port in each}) == 2
            before = len([call for call in server.calls if is_write(call)])
            scene.watched()
            server.delete("Gateway", "infra", "one")
            await until(lambda: scene.watched() and targets(server).keys() == {"infra/two"})
            assert before == 2
        assert len([call for call in server.calls if is_write(call)]) == 3
        assert scene.findings == []


async def test_no_gateway_gets_a_bound_port_to_which_our_own_service_leads(tmp_path: Path) -> None:
    async with ApiServer() as server, client_of(server, tmp_path) as client:
        furnish(server)
        led = [{"name": f"p{port}", "port": port, "targetPort": 20000 + port} for port in range(1, 8)]
        own = next(each for each in server.objects("Service") if each["metadata"]["name"] == "zonal")
        server.put({**own, "spec": {**own["spec"], "ports": led}})
        for each in (gateway_class(), gateway("one")):
            server.put(each)
        scene = Scene(server, client)
        async with running(scene.keeper.run()):
            scene.keeper.translated()
            await until(lambda: targets(server) == {"infra/one": [20000]})


async def test_a_service_waits_until_the_workers_serve_its_port(tmp_path: Path) -> None:
    async with ApiServer() as server, client_of(server, tmp_path) as client:
        furnish(server)
        for each in (gateway_class(), gateway()):
            server.put(each)
        scene = Scene(server, client)
        async with running(scene.keeper.run()):
            scene.keeper.translated()
            await until(lambda: bool(scene.provisioned.ports))
            assert services(server) == {} or scene.judgement.exposures[0].ports[0].target
            await until(lambda: bool(services(server)))
        assert targets(server)["infra/gw"] == [scene.provisioned.ports[0].target]


async def test_a_follower_plans_and_writes_nothing(tmp_path: Path) -> None:
    async with ApiServer() as server, client_of(server, tmp_path) as client:
        furnish(server)
        for each in (gateway_class(), gateway()):
            server.put(each)
        scene = Scene(server, client)
        scene.leads = False
        async with running(scene.keeper.run()):
            scene.keeper.translated()
            await until(lambda: not scene.keeper._judgements.waits())
            assert scene.provisioned.ports == ()
            assert not [call for call in server.calls if is_write(call)]
            scene.leads = True
            scene.keeper.wake()
            await until(lambda: bool(services(server)))


async def test_without_the_right_the_gateway_says_so(tmp_path: Path) -> None:
    async with ApiServer() as server, client_of(server, tmp_path) as client:
        furnish(server)
        for each in (gateway_class(), gateway()):
            server.put(each)
        fault = Fault(verb="create", resource="services", status=403)
        server.faults.add(fault)
        scene = Scene(server, client)
        async with running(scene.keeper.run()):
            scene.keeper.translated()
            await until(lambda: bool(scene.findings) and "403" in scene.provisioned.problem)
            assert [each.reason for each in scene.findings[-1]] == ["ServiceRefused"]


async def test_a_cluster_that_knows_only_the_old_word_gets_it(tmp_path: Path) -> None:
    async with ApiServer() as server, client_of(server, tmp_path) as client:
        furnish(server)
        for each in (gateway_class(), gateway()):
            server.put(each)
        said = 'Service "gw" is invalid: spec.trafficDistribution: Unsupported value: "PreferSameZone"'
        server.faults.add(Fault(verb="create", resource="services", status=422, times=1, message=said))
        scene = Scene(server, client)
        async with running(scene.keeper.run()):
            scene.keeper.translated()
            await until(lambda: bool(services(server)))
        assert services(server)["infra/gw"]["spec"]["trafficDistribution"] == "PreferClose"


async def test_a_service_that_is_refused_for_something_else_changes_no_word_for_the_others(tmp_path: Path) -> None:
    async with ApiServer() as server, client_of(server, tmp_path) as client:
        furnish(server)
        for each in (gateway_class(), gateway()):
            server.put(each)
        said = 'Service "gw" is invalid: metadata.annotations: Too long: may not be more than 262144 bytes'
        server.faults.add(Fault(verb="create", resource="services", status=422, times=1, message=said))
        scene = Scene(server, client)
        async with running(scene.keeper.run()):
            scene.keeper.translated()
            await until(lambda: bool(services(server)))
        assert services(server)["infra/gw"]["spec"]["trafficDistribution"] == "PreferSameZone"


async def test_shared_addresses_are_provided_and_no_service_is_made(tmp_path: Path) -> None:
    async with ApiServer() as server, client_of(server, tmp_path) as client:
        furnish(server)
        for each in (gateway_class(), gateway()):
            server.put(each)
        scene = Scene(server, client, options=None)
        async with running(scene.keeper.run()):
            scene.keeper.translated()
            await until(lambda: scene.provisioned.bundles == ("v1.6.1",))
        assert services(server) == {}
        assert scene.keeper.is_settled(scene.inventory, scene.judgement)
        assert not scene.keeper.is_settled(Inventory(), scene.judgement)


async def test_a_service_that_goes_before_the_watch_tells_of_it_is_made_again(tmp_path: Path) -> None:
    async with ApiServer() as server, client_of(server, tmp_path) as client:
        furnish(server)
        for each in (gateway_class(), gateway("one")):
            server.put(each)
        scene = Scene(server, client)
        async with running(scene.keeper.run()):
            scene.keeper.translated()
            await until(lambda: targets(server).keys() == {"infra/one"})
            server.delete("Service", "zonal", services(server)["infra/one"]["metadata"]["name"])
            await until(lambda: targets(server).keys() == {"infra/one"})
