"""Retries see the present: endpoints that came and left while a request was under way, and zones that fell silent."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack, contextmanager

import msgspec
import pytest

from balancer.metrics.definitions import EJECTIONS, RETRIES
from balancer.model.endpoints import Endpoint, EndpointTls
from balancer.model.policies import Affinity, RoutePolicy
from balancer.model.publication import RoutingModel
from tests import builders
from tests.fakes.endpoints import ScriptedEndpoint, Visit
from tests.fakes.sockets import until
from tests.fakes.stopwatch import Stopwatch
from tests.features.faults.holes import fill, swallow
from tests.unit.balancer.proxy.standing import GET, Standing, refusing, shop, standing
from tests.unit.balancer.proxy.test_attempts import says

pytestmark = pytest.mark.large

LONG = RoutePolicy(connect_timeout_seconds=60.0)
_MOMENT_SECONDS = 2.0


@contextmanager
def silent(address: str, zone: str = "zone-a") -> Iterator[Endpoint]:
    """An endpoint whose address answers nothing."""
    with socket.socket() as hole:
        hole.bind((address, 0))
        fillers = fill(hole)
        yield builders.endpoint(address, port=hole.getsockname()[1], zone=zone)
        for each in fillers:
            each.close()


def placed(endpoint: ScriptedEndpoint, zone: str = "zone-a") -> Endpoint:
    return builders.endpoint(endpoint.address, port=endpoint.port, zone=zone)


def at(address: str, text: bytes) -> ScriptedEndpoint:
    return ScriptedEndpoint(says(text), address=address)


def sticky(model: RoutingModel) -> RoutingModel:
    """Clients of the backend are held by a cookie."""
    (host,) = model.hosts
    route = builders.route(affinity=Affinity())
    return msgspec.structs.replace(model, hosts=(msgspec.structs.replace(host, routes=(route,)),))


@pytest.mark.parametrize("make", [shop, lambda endpoints: sticky(shop(endpoints))], ids=["balanced", "by cookie"])
async def test_a_retry_goes_to_endpoints_that_came_meanwhile_and_to_none_that_left(
    make: Callable[[list[Endpoint]], RoutingModel],
) -> None:
    asked, ends = asyncio.Event(), asyncio.Event()

    async def closes_later(visit: Visit) -> None:
        await visit.head()
        asked.set()
        await ends.wait()

    async with ScriptedEndpoint(closes_later) as first, at("127.0.0.3", b"new") as new:
        with refusing("127.0.0.2") as left:
            async with standing(make([placed(first), left])) as proxy, proxy.client() as client:
                response = asyncio.create_task(client.ask(GET))
                await asked.wait()
                proxy.publish(make([placed(first), placed(new)]))
                ends.set()
                assert (await response).body == b"new"
                await proxy.idle()
                assert proxy.metric(RETRIES) == {("shop", "cart", "endpoint_closed"): 1}


async def test_when_the_backend_is_gone_there_is_no_retry() -> None:
    asked, ends = asyncio.Event(), asyncio.Event()

    async def closes_later(visit: Visit) -> None:
        await visit.head()
        asked.set()
        await ends.wait()

    async with (
        ScriptedEndpoint(closes_later) as first,
        at("127.0.0.2", b"other") as other,
        standing(shop([first, other])) as proxy,
        proxy.client() as client,
    ):
        response = asyncio.create_task(client.ask(GET))
        await asked.wait()
        proxy.publish(builders.model())
        ends.set()
        assert (await response).status == 502
        assert other.requests == 0


async def test_a_connect_does_not_outlast_its_endpoint() -> None:
    with silent("127.0.0.1") as gone:
        async with (
            at("127.0.0.2", b"new") as new,
            standing(shop([gone], policy=LONG)) as proxy,
            proxy.client() as client,
        ):
            response = asyncio.create_task(client.ask(GET))
            await until(lambda: bool(pending(proxy)))
            watch = Stopwatch()
            proxy.publish(shop([new], policy=LONG))
            assert (await response).body == b"new"
            assert watch.seconds < _MOMENT_SECONDS
            await until(lambda: not proxy.pools.coming)


async def test_a_request_waits_a_moment_while_another_endpoint_remains() -> None:
    with silent("127.0.0.1") as hole:
        async with (
            at("127.0.0.2", b"alive") as alive,
            standing(shop([hole, alive], policy=LONG)) as proxy,
            proxy.client() as client,
        ):
            watch = Stopwatch()
            assert (await client.ask(GET)).body == b"alive"
            assert watch.seconds < _MOMENT_SECONDS
            await proxy.idle()
            assert proxy.metric(RETRIES) == {("shop", "cart", "connect_timeout"): 1}
            assert proxy.metric(EJECTIONS) == {("shop", "cart"): 1}, "at once"
            assert [(await client.ask(GET)).body for _ in range(4)] == [b"alive"] * 4
            await proxy.idle()
            assert proxy.metric(RETRIES) == {("shop", "cart", "connect_timeout"): 1}


async def test_the_last_endpoint_has_the_whole_time() -> None:
    policy = RoutePolicy(connect_timeout_seconds=1.5)
    with silent("127.0.0.1") as hole:
        async with standing(shop([hole], policy=policy)) as proxy, proxy.client() as client:
            started = time.monotonic()
            assert (await client.ask(GET)).status == 504
            assert time.monotonic() - started > 1.4


async def test_a_retry_after_silence_goes_to_another_zone() -> None:
    with silent("127.0.0.1", "zone-a") as hole:
        async with at("127.0.0.2", b"near") as near, at("127.0.0.3", b"far") as far:
            model = shop([hole, placed(near, "zone-a"), placed(far, "zone-b")], policy=LONG)
            async with standing(model) as proxy, proxy.client() as client:
                assert (await client.ask(GET)).body == b"far"


async def test_a_retry_after_silence_stays_if_there_is_no_other_zone() -> None:
    with silent("127.0.0.1", "zone-a") as hole:
        async with (
            at("127.0.0.2", b"near") as near,
            standing(shop([hole, placed(near, "zone-a")], policy=LONG)) as proxy,
            proxy.client() as client,
        ):
            assert (await client.ask(GET)).body == b"near"


async def test_a_retry_after_silence_goes_first_to_whoever_was_heard_a_moment_ago() -> None:
    """Others of the other zone may be on the machine that was lost."""
    with silent("127.0.0.1", "zone-a") as hole, silent("127.0.0.2", "zone-b") as other:
        async with at("127.0.0.3", b"alive") as alive:
            model = shop([hole, other, placed(alive, "zone-a")], policy=LONG)
            async with standing(model) as proxy, proxy.client() as client:
                assert (await client.ask(GET)).body == b"alive"
                await proxy.idle()
                assert proxy.metric(RETRIES) == {("shop", "cart", "connect_timeout"): 1}


async def test_a_retry_after_a_refusal_need_not_leave_the_zone() -> None:
    with refusing("127.0.0.1") as dead:
        async with at("127.0.0.2", b"near") as near, at("127.0.0.3", b"far") as far:
            model = shop([dead, placed(near, "zone-a"), placed(far, "zone-b")])
            async with standing(model) as proxy, proxy.client() as client:
                assert (await client.ask(GET)).body == b"near"


async def test_many_requests_leave_a_silent_endpoint_and_one_connect_is_left() -> None:
    with silent("127.0.0.1") as hole:
        async with at("127.0.0.2", b"alive") as alive, standing(shop([hole, alive], policy=LONG)) as proxy:
            clients = [proxy.client() for _ in range(20)]
            async with AsyncExitStack() as stack:
                for client in clients:
                    await stack.enter_async_context(client)
                answers = await asyncio.gather(*(client.ask(GET) for client in clients))
            assert {answer.body for answer in answers} == {b"alive"}
            await until(lambda: len(pending(proxy)) == 1)


async def silent_after_accept(_: Visit) -> None:
    """Says nothing, not even that it speaks TLS or HTTP/2."""
    await asyncio.Event().wait()


def speaking(model: RoutingModel, *, http2: bool) -> RoutingModel:
    """The endpoints of the backend are spoken to in HTTP/2, else over TLS."""
    tls = None if http2 else EndpointTls()
    backends = tuple(msgspec.structs.replace(each, http2=http2, tls=tls) for each in model.backends)
    return msgspec.structs.replace(model, backends=backends)


@pytest.mark.parametrize("http2", [True, False], ids=["HTTP/2", "TLS"])
async def test_an_endpoint_that_accepts_and_says_nothing_is_left_as_well(http2: bool) -> None:
    with refusing("127.0.0.2") as dead:
        async with ScriptedEndpoint(silent_after_accept) as mute:
            model = speaking(shop([placed(mute), dead], policy=LONG), http2=http2)
            async with standing(model) as proxy, proxy.client() as client:
                watch = Stopwatch()
                assert (await client.ask(GET)).status == 502, "the last endpoint refuses"
                assert watch.seconds < _MOMENT_SECONDS
                await proxy.idle()
                assert proxy.metric(RETRIES) == {("shop", "cart", "connect_timeout"): 1}


async def test_who_is_asked_or_answers_a_retry_speaks_against_the_silent() -> None:
    """Without another connect for a request: the connection of the other endpoint is kept."""
    with silent("127.0.0.2") as hole:
        async with (
            at("127.0.0.1", b"kept") as kept,
            standing(shop([kept], policy=LONG)) as proxy,
            proxy.client() as client,
        ):
            assert (await client.ask(GET)).body == b"kept"
            proxy.publish(shop([placed(kept), hole], policy=LONG))
            assert [(await client.ask(GET)).body for _ in range(4)] == [b"kept"] * 4
            await proxy.idle()
            assert len(kept.visits) <= 2, "one may only have asked"
            assert proxy.metric(EJECTIONS) == {("shop", "cart"): 1}


def pending(proxy: Standing) -> list[object]:
    """The connects to endpoints that are under way."""
    runtimes = proxy.live.view.backends.values()
    pools = [proxy.pools.single(member) for runtime in runtimes for member in runtime.members.values()]
    return [each for pool in pools for each in pool.awaited]


@pytest.mark.parametrize("word", ["timeout", "error"])
async def test_a_get_on_a_kept_connection_leaves_a_machine_that_is_lost(word: str) -> None:
    policy = RoutePolicy(
        retry_on=(word,), read_timeout_seconds=_MOMENT_SECONDS, connect_timeout_seconds=_MOMENT_SECONDS
    )
    async with (
        at("127.0.0.2", b"old") as old,
        at("127.0.0.3", b"new") as new,
        standing(shop([placed(old), placed(new)], policy=policy)) as proxy,
    ):
        async with proxy.client() as client:
            while (await client.ask(GET)).body != b"new":  # the next one is for the old endpoint
                pass
            swallow(old.port)
            client.send(GET)
            await until(lambda: any(not each.idle for each in proxy.clients))
            last = asyncio.create_task(client.response())
            while not last.done():
                async with proxy.client() as other:
                    await other.ask(GET)
            response = await last
        await proxy.idle()
        if word == "timeout":
            assert response.body == b"new"
            assert proxy.metric(RETRIES)[("shop", "cart", "endpoint_silent")] >= 1
        else:
            assert response.status == 504
