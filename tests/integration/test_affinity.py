"""Affinity from manifest to wire: a cookie keeps a client with its endpoint, whichever replica it asks."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager

import pytest

from ingress.settings.context import TranslationContext
from tests.fakes.backends import EchoEndpoint, echoing
from tests.fakes.clients import RawClient
from tests.fakes.endpoints import ScriptedEndpoint, Visit
from tests.integration.in_process import DataPlane, data_plane
from tests.integration.manifests import (
    Document,
    config_map,
    endpoint_slice,
    ingress,
    ingress_class,
    path,
    rule,
    service,
)
from tests.integration.wire import Connection, Response, get, trusting

HOST = "shop.test"
PREFIX = "nginx.ingress.kubernetes.io/"
ZONES = {"zone-a": 2, "zone-b": 2, "zone-c": 2}
MODES = pytest.mark.parametrize("mode", ["balanced", "persistent"])


def named(**annotations: str) -> dict[str, str]:
    return {PREFIX + key.replace("_", "-"): text for key, text in annotations.items()}


def cluster(endpoints: Iterable[EchoEndpoint], *documents: Document, **annotations: str) -> list[Document]:
    """`HOST` with `/` under these annotations and `/plain` without, zones on, and the Services cart and next."""
    return [
        ingress_class(),
        config_map(ssl_redirect="false", zone_aware_routing="true"),
        service("cart"),
        service("next"),
        *map(endpoint_slice, endpoints),
        ingress("web", rule(HOST, path("/", "cart")), annotations=named(**annotations)),
        ingress("plain", rule(HOST, path("/plain", "cart"))),
        *documents,
    ]


def context(zone: str) -> TranslationContext:
    return TranslationContext(allow_local_endpoints=True, zone=zone)


@asynccontextmanager
async def replicas(*documents: Document, **annotations: str) -> AsyncIterator[tuple[DataPlane, DataPlane]]:
    """Two replicas, in zone-a and zone-b, of one cluster with six endpoints of cart and one of next."""
    async with (
        echoing("cart", ZONES) as carts,
        echoing("next", {"zone-b": 1}) as nexts,
        data_plane() as here,
        data_plane() as there,
    ):
        for plane, zone in ((here, "zone-a"), (there, "zone-b")):
            assert plane.serve(cluster((*carts, *nexts), *documents, **annotations), context(zone)) == ()
        yield here, there


async def ask(plane: DataPlane, target: str = "/", *fields: str) -> Response:
    answer = await get(plane.http_port, HOST, target, *fields)
    assert answer.status == 200
    return answer


def cookie_in(answer: Response) -> str | None:
    """The line to send from now on; None where none was set."""
    said = answer.field("set-cookie")
    return None if said is None else f"Cookie: {said.partition(';')[0]}"


def told(answer: Response) -> str:
    cookie = cookie_in(answer)
    assert cookie is not None
    return cookie


@MODES
async def test_a_client_stays_with_its_endpoint_on_every_replica(mode: str) -> None:
    async with replicas(affinity="cookie", affinity_mode=mode) as (here, there):
        first = await ask(here)
        cookie = told(first)
        assert first.json()["zone"] == "zone-a"
        for plane in (here, there, here, there):
            again = await ask(plane, "/deep/er", cookie)
            assert again.json()["endpoint"] == first.json()["endpoint"]
            assert cookie_in(again) is None


async def test_the_cookie_is_that_of_ingress_nginx() -> None:
    attributes = {"session_cookie_max_age": "60", "session_cookie_samesite": "Lax", "session_cookie_name": "route"}
    async with replicas(affinity="cookie", **attributes) as (here, _):
        said = (await ask(here)).field("set-cookie")
    assert said is not None
    assert re.fullmatch(r"route=[0-9.]+\|[0-9a-f]{32}; Max-Age=60; Path=/; HttpOnly; SameSite=Lax", said)


async def test_over_https_the_cookie_is_secure() -> None:
    async with replicas(affinity="cookie") as (here, _):
        connection = await Connection.open(here.https_port, tls=trusting(), server_name=HOST)
        async with connection:
            said = (await connection.get(HOST)).field("set-cookie")
        plain = (await ask(here)).field("set-cookie")
    assert said is not None and plain is not None
    assert "; Secure" in said
    assert "; Secure" not in plain


async def test_only_paths_of_the_ingress_that_asks_for_it_have_a_cookie() -> None:
    async with replicas(affinity="cookie") as (here, _):
        cookie = told(await ask(here))
        plain = [await ask(here, "/plain", cookie) for _ in range(4)]
        assert {cookie_in(answer) for answer in plain} == {None}
        assert len({answer.json()["endpoint"] for answer in plain}) == 2  # the own zone's


async def test_new_clients_spread_over_the_own_zone() -> None:
    async with replicas(affinity="cookie") as (here, _):
        answers = [(await ask(here)).json() for _ in range(20)]
    assert {answer["zone"] for answer in answers} == {"zone-a"}
    assert set(Counter(answer["endpoint"] for answer in answers).values()) == {10}


@MODES
@pytest.mark.parametrize("changes", ["true", "false"])
async def test_an_endpoint_that_fails_keeps_its_clients_unless_told_otherwise(mode: str, changes: str) -> None:
    """The endpoint is gone from the network and not yet from the model."""
    asked = {"affinity": "cookie", "affinity_mode": mode, "session_cookie_change_on_failure": changes}
    async with echoing("cart", {"zone-a": 3}) as carts, data_plane() as plane:
        plane.serve(cluster(carts, **asked), context("zone-a"))
        first = await ask(plane)
        cookie, home = told(first), first.json()["endpoint"]
        (failing,) = (endpoint for endpoint in carts if endpoint.label == home)
        await failing.stop()
        answers = [await ask(plane, "/", cookie) for _ in range(3)]
        assert home not in {answer.json()["endpoint"] for answer in answers}
        if changes == "false":
            assert {cookie_in(answer) for answer in answers} == {None}
            return
        moved = await ask(plane, "/", told(answers[0]))
        assert moved.json()["endpoint"] == answers[0].json()["endpoint"]
        assert cookie_in(moved) is None


@MODES
async def test_only_clients_of_an_endpoint_that_is_gone_move(mode: str) -> None:
    async with echoing("cart", {"zone-a": 4}) as carts, data_plane() as plane:
        plane.serve(cluster(carts, affinity="cookie", affinity_mode=mode), context("zone-a"))
        homes = {told(answer): answer.json()["endpoint"] for answer in [await ask(plane) for _ in range(12)]}
        gone, *staying = carts
        plane.serve(cluster(staying, affinity="cookie", affinity_mode=mode), context("zone-a"))
        for cookie, home in homes.items():
            answer = await ask(plane, "/", cookie)
            assert (answer.json()["endpoint"] == home) is (home != gone.label)
            assert (cookie_in(answer) is not None) is (home == gone.label and mode == "persistent")


async def test_a_cookie_of_another_backend_does_not_count() -> None:
    async with replicas(affinity="cookie") as (here, _):
        mark = told(await ask(here)).rpartition("|")[2]
        foreign = "0" * 32
        assert cookie_in(await ask(here, "/", f"Cookie: INGRESSCOOKIE=key|{foreign}")) is not None
        assert cookie_in(await ask(here, "/", f"Cookie: INGRESSCOOKIE=key|{mark}")) is None


def trial(**annotations: str) -> Document:
    said = named(canary="true", canary_by_header="X-Try", **annotations)
    return ingress("trial", rule(HOST, path("/", "next")), annotations=said)


async def test_whoever_came_to_a_canary_stays_there_and_whoever_did_not_does_not() -> None:
    async with replicas(trial(), affinity="cookie") as (here, there):
        sent, plain = await ask(here, "/", "X-Try: always"), await ask(here)
        assert (sent.json()["service"], plain.json()["service"]) == ("next", "cart")
        for plane in (here, there):
            kept = await ask(plane, "/", told(sent), "X-Try: never")
            assert (kept.json()["service"], cookie_in(kept)) == ("next", None)
            kept = await ask(plane, "/", told(plain), "X-Try: always")
            assert (kept.json()["endpoint"], cookie_in(kept)) == (plain.json()["endpoint"], None)


async def test_a_legacy_canary_follows_its_rules_and_leaves_the_cookie_alone() -> None:
    async with replicas(trial(affinity_canary_behavior="legacy"), affinity="cookie") as (here, _):
        cookie = told(await ask(here))
        sent = await ask(here, "/", cookie, "X-Try: always")
        assert (sent.json()["service"], cookie_in(sent)) == ("next", None)
        assert (await ask(here, "/", cookie)).json()["service"] == "cart"


async def test_a_hash_leads_to_the_same_endpoint_from_every_zone() -> None:
    async with replicas(upstream_hash_by="$arg_user$http_x_tenant") as (here, there):
        homes = set()
        for user in range(20):
            target = f"/?user={user}"
            answers = [await ask(plane, target, "X-Tenant: a") for plane in (here, there, here)]
            (home,) = {answer.json()["endpoint"] for answer in answers}
            homes.add(home)
            assert {cookie_in(answer) for answer in answers} == {None}
        assert len(homes) > 2  # more than one zone has


class Placed:
    """An endpoint of the Service `cart` on loopback."""

    service = "cart"
    zone = "zone-a"

    def __init__(self, port: int) -> None:
        self.port = port


async def test_a_tunnel_and_the_cookies_of_an_endpoint_go_along_with_ours() -> None:
    async def script(visit: Visit) -> None:
        head = await visit.head()
        if b"Upgrade: websocket" in head:
            await visit.send(b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
            await visit.rest()
        await visit.send(b"HTTP/1.1 200 OK\r\nSet-Cookie: theirs=1\r\nContent-Length: 0\r\n\r\n")

    async with ScriptedEndpoint(script) as endpoint, data_plane() as plane:
        documents = [
            ingress_class(),
            config_map(ssl_redirect="false"),
            service("cart"),
            endpoint_slice(Placed(endpoint.port)),
            ingress("web", rule(HOST, path("/", "cart")), annotations=named(affinity="cookie")),
        ]
        assert plane.serve(documents, context("zone-a")) == ()
        answer = await ask(plane)
        cookies = [value for name, value in answer.fields if name == "set-cookie"]
        assert [value.partition("=")[0] for value in cookies] == ["theirs", "INGRESSCOOKIE"]
        async with RawClient(plane.http_port) as client:
            client.send(b"GET / HTTP/1.1\r\nHost: shop.test\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
            head = await client.head()
        assert head.startswith(b"HTTP/1.1 101 ")
        assert head.count(b"Set-Cookie: INGRESSCOOKIE=") == 1
