"""An endpoint that cannot be reached is followed by another one, within bounds, and its health learns of it."""

from __future__ import annotations

import socket

import msgspec

from balancer.model.endpoints import Ejection
from tests.fakes.endpoints import ScriptedEndpoint, Visit
from tests.unit.balancer.relays.scenes import KEY, backend, model, relaying, route
from tests.unit.balancer.relays.test_relays import resets, says_hello


async def echo(visit: Visit) -> None:
    while data := await visit.some():
        await visit.send(data)


def refusing(address: str) -> tuple[str, int]:
    """A place where nobody listens."""
    with socket.socket() as free:
        free.bind((address, 0))
        return address, int(free.getsockname()[1])


async def test_another_endpoint_is_tried_if_one_refuses() -> None:
    async with ScriptedEndpoint(echo) as endpoint:
        places = [refusing("127.0.0.2"), (endpoint.address, endpoint.port)]
        async with relaying(model([backend(*places)])) as scene:
            for _ in range(4):
                await says_hello(scene)
            assert sum(scene.counted("zonal_retries_total").values()) >= 1
            assert scene.counted("zonal_retries_total").keys() == {("shop", "db", "connect_refused")}


async def test_an_endpoint_that_refuses_often_is_ejected() -> None:
    async with ScriptedEndpoint(echo) as endpoint:
        places = [refusing("127.0.0.2"), (endpoint.address, endpoint.port)]
        ejecting = backend(*places, ejection=Ejection(consecutive_errors=2))
        async with relaying(model([ejecting])) as scene:
            for _ in range(8):
                await says_hello(scene)
            assert sum(scene.counted("zonal_ejections_total").values()) == 1


async def test_where_nobody_accepts_the_client_is_reset() -> None:
    places = [refusing("127.0.0.2"), refusing("127.0.0.3")]
    async with relaying(model([backend(*places)])) as scene:
        assert await resets(scene)
        line = await scene.line()
        assert (line["error"], line["status"], len(line["endpoints"])) == ("connect_refused", 502, 2)
        runtime = scene.worker.live.view.backends[KEY]
        assert (runtime.load.in_flight, runtime.budget.retries) == (0, 0)


async def test_a_route_says_how_many_endpoints_are_tried() -> None:
    places = [refusing("127.0.0.2"), refusing("127.0.0.3")]
    once = msgspec.structs.replace(route(), tries=1)
    async with relaying(model([backend(*places)], once)) as scene:
        assert await resets(scene)
        assert len((await scene.line())["endpoints"]) == 1


async def test_an_endpoint_that_does_not_answer_is_left_after_the_time_of_the_route() -> None:
    with socket.socket() as full:
        full.bind(("127.0.0.2", 0))
        full.listen(0)
        waiting = [socket.socket() for _ in range(3)]
        for each in waiting:
            each.setblocking(False)
            each.connect_ex(full.getsockname())
        slow = msgspec.structs.replace(route(), connect_seconds=0.2)
        async with relaying(model([backend(("127.0.0.2", full.getsockname()[1]))], slow)) as scene:
            assert await resets(scene)
            line = await scene.line()
            assert (line["error"], line["status"]) == ("connect_timeout", 504)
        for each in waiting:
            each.close()
