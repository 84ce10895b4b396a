"""Copies for other backends on real sockets: to whom they go, what they say, and that requests never notice."""

from __future__ import annotations

import random
from typing import Any

import msgspec
import pytest

from balancer.connections.mirrors import MirrorClient
from balancer.model.edits import RequestEdit
from balancer.model.endpoints import BackendKey
from balancer.model.mirroring import BackendMirror
from balancer.model.publication import RoutingModel
from balancer.picking.backend import BackendRuntime
from balancer.picking.outcomes import Outcome
from balancer.proxy.copying import endpoint_for
from balancer.proxy.mirroring import Mirrors
from tests import builders
from tests.fakes.endpoints import ScriptedEndpoint, Visit
from tests.fakes.http2_endpoints import Call, Http2Endpoint
from tests.fakes.sockets import until
from tests.unit.balancer.proxy.standing import GET, OK, Standing, get, post, standing

CART, COPY, OTHER = "shop/cart:80", "shop/copy:80", "shop/other:80"


def mirrored(cart: ScriptedEndpoint, *copies: ScriptedEndpoint | None, **changes: Any) -> RoutingModel:
    """A route to cart that is copied to as many other backends, of which some have no endpoint."""
    keys = [COPY, OTHER][: len(copies)]
    mirrors = tuple(BackendMirror(BackendKey(key), "shop") for key in keys)
    route = msgspec.structs.replace(builders.route(), **({"mirrors": mirrors} | changes))
    backends = [builders.backend(key, placed(each)) for key, each in zip((CART, *keys), (cart, *copies), strict=True)]
    return builders.model(*backends, hosts=[builders.host("shop.test", route)])


def placed(endpoint: ScriptedEndpoint | None) -> list[Any]:
    return [] if endpoint is None else [builders.endpoint(endpoint.address, port=endpoint.port)]


class Copied:
    """Mirrors of a standing proxy, and how many copies were dropped."""

    def __init__(self, proxy: Standing) -> None:
        self.dropped = 0
        self.client = MirrorClient()
        proxy.proxy.mirrors = Mirrors(self.client, self._drop)

    def _drop(self) -> None:
        self.dropped += 1

    async def done(self) -> None:
        await until(lambda: not self.client.busy)
        await self.client.stop()


async def takes(visit: Visit) -> None:
    """Answers requests with a body of at most five bytes."""
    while True:
        head = await visit.head()
        if b"Content-Length: 5" in head:
            await visit.exactly(5)
        await visit.send(OK)


def received(endpoint: ScriptedEndpoint) -> bytes:
    return b"".join(visit.received for visit in endpoint.visits)


async def test_each_mirror_gets_one_copy_as_the_route_edits_requests() -> None:
    edit = RequestEdit(set=(("X-Set", "new"),), remove=("X-Gone",))
    async with ScriptedEndpoint(takes) as cart, ScriptedEndpoint(takes) as one, ScriptedEndpoint(takes) as two:
        async with standing(mirrored(cart, one, two, request_edits=(edit,))) as proxy:
            copied = Copied(proxy)
            async with proxy.client() as client:
                assert (await client.ask(get(b"/a%20b?id=1", b"X-Gone: 1", b"X-Forwarded-For: 6.6.6.6"))).status == 200
            await until(lambda: one.requests == two.requests == 1)
            await copied.done()
        for got in (received(one), received(two)):
            assert got.startswith(b"GET /a%20b?id=1 HTTP/1.1")
            lines = {line.lower() for line in got.split(b"\r\n")}
            assert {b"host: shop.test", b"x-set: new", b"x-zonal-copy: 1", b"x-forwarded-for: 127.0.0.1"} <= lines
            assert b"x-gone" not in got.lower()
        assert (cart.requests, copied.dropped) == (1, 0)
        assert b"x-zonal-copy" not in received(cart).lower()


async def test_a_body_is_copied_and_a_retried_request_is_copied_once() -> None:
    async with ScriptedEndpoint(takes) as cart, ScriptedEndpoint(takes) as one:
        async with standing(mirrored(cart, one)) as proxy:
            copied = Copied(proxy)
            async with proxy.client() as client:
                assert (await client.ask(post(b"hello"))).status == 200
            await until(lambda: one.requests == 1)
            await copied.done()
        assert received(one).endswith(b"hello")


async def test_a_copy_is_not_copied_again() -> None:
    async with ScriptedEndpoint(takes) as cart, ScriptedEndpoint(takes) as one:
        async with standing(mirrored(cart, one)) as proxy:
            copied = Copied(proxy)
            async with proxy.client() as client:
                assert (await client.ask(get(b"/", b"X-Zonal-Copy: 1"))).status == 200
            await copied.done()
        assert (one.requests, copied.dropped) == (0, 0)


async def test_a_mirror_without_endpoints_costs_the_request_nothing() -> None:
    async with ScriptedEndpoint(takes) as cart, standing(mirrored(cart, None)) as proxy:
        copied = Copied(proxy)
        async with proxy.client() as client:
            assert (await client.ask(GET)).status == 200
            assert (await client.ask(post(b"hello"))).status == 200
        assert copied.dropped == 2
        await copied.done()


async def test_a_backend_that_speaks_http2_gets_its_copies_in_http2() -> None:
    async with ScriptedEndpoint(takes) as cart, Http2Endpoint(Call.answer) as one:
        model = mirrored(cart, None)
        copy = builders.backend(COPY, [builders.endpoint("127.0.0.1", port=one.port)])
        backends = tuple(
            msgspec.structs.replace(copy, http2=True) if each.key == COPY else each for each in model.backends
        )
        async with standing(msgspec.structs.replace(model, backends=backends)) as proxy:
            copied = Copied(proxy)
            async with proxy.client() as client:
                assert (await client.ask(post(b"hello"))).status == 200
            await until(lambda: len(one.calls) == 1 and one.calls[0].is_whole)
            await copied.done()
        assert (one.calls[0].body, one.calls[0].fields[b":authority"]) == (b"hello", b"shop.test")
        assert copied.dropped == 0


@pytest.mark.parametrize(("numerator", "copies"), [(0, 0), (100, 20)])
async def test_the_share_of_requests_that_is_copied(numerator: int, copies: int) -> None:
    mirrors = (BackendMirror(BackendKey(COPY), "shop", numerator),)
    async with (
        ScriptedEndpoint(takes) as cart,
        ScriptedEndpoint(takes) as one,
        standing(mirrored(cart, one, mirrors=mirrors)) as proxy,
    ):
        copied = Copied(proxy)
        async with proxy.client() as client:
            for _ in range(20):
                assert (await client.ask(GET)).status == 200
        await until(lambda: one.requests == copies)
        await copied.done()


def test_copies_go_to_healthy_endpoints_of_the_own_zone() -> None:
    backend = builders.backend(of=builders.endpoints("aabbb"), zone_policy=builders.PREFER_ZONE)
    runtime = BackendRuntime.fresh(backend, own_zone=builders.own_zone("zone-a"), random_below=lambda _: 0)
    chance = random.Random(3)
    assert {endpoint_for(runtime, 0.0, chance.randrange) for _ in range(50)} == {"10.0.0.1:80", "10.0.0.2:80"}
    for _ in range(5):
        runtime.health.report(runtime.members["10.0.0.1:80"].health, Outcome.UNREACHED, now=0.0)
    assert {endpoint_for(runtime, 0.0, chance.randrange) for _ in range(50)} == {"10.0.0.2:80"}


def test_a_backend_without_endpoints_has_none_for_a_copy() -> None:
    runtime = BackendRuntime.fresh(builders.backend(), own_zone=builders.own_zone("zone-a"), random_below=lambda _: 0)
    assert endpoint_for(runtime, 0.0, lambda _: 0) is None
