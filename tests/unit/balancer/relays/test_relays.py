"""Which connections become relays, to whom they go, and which end with a new view."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from balancer.errors import ErrorKind
from balancer.model.endpoints import BackendKey, Endpoint, LoadBalancing
from balancer.model.routes import Branch, Owner, ServiceName
from balancer.model.zones import OwnZone, Zone, ZonePolicy, ZonePolicyName
from balancer.workers.worker import WorkerTimes
from tests.fakes.endpoints import ScriptedEndpoint, Visit
from tests.fakes.sockets import until
from tests.unit.balancer.relays.scenes import KEY, Scene, backend, branch, model, relaying, route, to

pytestmark = pytest.mark.large

GUEST = Owner("TCPRoute", "other", "db")


async def echo(visit: Visit) -> None:
    while data := await visit.some():
        await visit.send(data)


async def resets(scene: Scene) -> bool:
    try:
        reader, _ = await scene.connect()
        return await reader.read(1) == b""
    except ConnectionResetError:
        return True


async def says_hello(scene: Scene) -> None:
    reader, writer = await scene.connect()
    writer.write(b"hello")
    assert await reader.readexactly(5) == b"hello"


@pytest.mark.parametrize(
    ("to_branch", "error", "status"),
    [
        (branch(None), "no_backend", 503),
        (Branch(None, GUEST, ServiceName("shop", "db"), error=ErrorKind.BACKEND_INVALID), "backend_invalid", 500),
        (branch(), "no_endpoint", 503),
    ],
)
async def test_a_branch_without_endpoints_resets_at_once(to_branch: Branch, error: str, status: int) -> None:
    async with relaying(model([backend()], route(to_branch))) as scene:
        assert await resets(scene)
        line = await scene.line()
        assert (line["error"], line["status"]) == (error, status)


async def test_an_entry_point_without_a_route_resets() -> None:
    async with relaying(msgspec.structs.replace(model([]), relays=())) as scene:
        assert await resets(scene)
        assert (await scene.line())["error"] == "stream_no_route"


async def test_shares_are_by_weight() -> None:
    async with ScriptedEndpoint(echo) as one, ScriptedEndpoint(echo, address="127.0.0.2") as two:
        other = BackendKey("shop/other:1")
        content = model(
            [backend((one.address, one.port)), backend((two.address, two.port), key=other)],
            route(branch(weight=3), branch(other, weight=1), branch(BackendKey("shop/x:1"), weight=0)),
        )
        async with relaying(content) as scene:
            for _ in range(80):
                await says_hello(scene)
            assert 40 <= len(one.visits) <= 75
            assert len(one.visits) + len(two.visits) == 80


async def test_an_endpoint_of_the_own_zone_is_preferred() -> None:
    async with ScriptedEndpoint(echo) as near, ScriptedEndpoint(echo, address="127.0.0.2") as far:
        endpoints = (Endpoint("127.0.0.1", near.port, zone=Zone("a")), Endpoint("127.0.0.2", far.port, zone=Zone("b")))
        zonal = msgspec.structs.replace(
            backend(), endpoints=endpoints, zone_policy=ZonePolicy(ZonePolicyName.PREFER_ZONE)
        )
        async with relaying(model([zonal], own_zone=OwnZone(Zone("a")))) as scene:
            for _ in range(4):
                await says_hello(scene)
            assert (len(near.visits), len(far.visits)) == (4, 0)
            assert scene.counted("zonal_zone_decisions_total").keys() == {("shop", "db", "zone_local")}


async def test_the_endpoint_with_the_fewest_streams_is_taken() -> None:
    async with (
        ScriptedEndpoint(echo) as one,
        ScriptedEndpoint(echo, address="127.0.0.2") as two,
        relaying(to(one, two, load_balancing=LoadBalancing.LEAST_REQUEST)) as scene,
    ):
        for _ in range(6):
            await says_hello(scene)
        assert (len(one.visits), len(two.visits)) == (3, 3)


async def test_a_backend_takes_no_more_streams_than_it_may() -> None:
    async with ScriptedEndpoint(echo) as endpoint, relaying(to(endpoint, max_concurrency=1)) as scene:
        await says_hello(scene)
        assert await resets(scene)
        assert (await scene.line())["error"] == "overloaded"
        scene.writers[0].transport.abort()
        await scene.line(2)
        await says_hello(scene)


async def test_held_streams_stay_with_their_endpoint_when_the_route_changes() -> None:
    async with (
        ScriptedEndpoint(echo) as one,
        ScriptedEndpoint(echo, address="127.0.0.2") as two,
        relaying(to(one)) as scene,
    ):
        reader, writer = await scene.connect()
        writer.write(b"a")
        assert await reader.readexactly(1) == b"a"
        scene.show(to(two))
        writer.write(b"b")
        assert await reader.readexactly(1) == b"b"
        await says_hello(scene)
        assert len(two.visits) == 1


async def test_streams_to_another_namespace_end_with_the_grant() -> None:
    async with ScriptedEndpoint(echo) as endpoint:
        granted = model([backend((endpoint.address, endpoint.port))], route(branch(owner=GUEST), owner=GUEST))
        async with relaying(granted) as scene:
            reader, writer = await scene.connect()
            writer.write(b"a")
            assert await reader.readexactly(1) == b"a"
            refused = Branch(None, GUEST, ServiceName("shop", "db"), error=ErrorKind.BACKEND_INVALID)
            scene.show(model([], route(refused, owner=GUEST)))
            with pytest.raises(ConnectionResetError):
                await reader.read()
            assert (await scene.line())["error"] == "stream_revoked"


async def test_streams_of_an_entry_point_that_is_gone_end() -> None:
    async with ScriptedEndpoint(echo) as endpoint, relaying(to(endpoint), WorkerTimes(leave_seconds=0.2)) as scene:
        reader, writer = await scene.connect()
        writer.write(b"a")
        assert await reader.readexactly(1) == b"a"
        scene.show(msgspec.structs.replace(to(endpoint), entry_points=()))
        assert await reader.read() == b""
        assert (await scene.line())["error"] == "stream_drained"
        await until(lambda: not scene.worker.connections()["client_active"])


async def test_nothing_of_a_stream_stays_in_the_counts_of_its_backend() -> None:
    async with ScriptedEndpoint(echo) as endpoint, relaying(to(endpoint)) as scene:
        await says_hello(scene)
        runtime = scene.worker.live.view.backends[KEY]
        (member,) = runtime.members.values()
        assert (runtime.load.in_flight, member.in_flight) == (1, 1)
        scene.writers[0].close()
        await until(lambda: (runtime.load.in_flight, member.in_flight) == (0, 0))
        await asyncio.sleep(0)
        assert sum(scene.worker.connections().values()) == 0
