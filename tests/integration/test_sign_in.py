"""Basic authentication over real sockets: ways around it, floods of passwords, and changed Secrets."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from ingress.settings.context import TranslationContext
from tests.fakes.backends import EchoEndpoint, echoing
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
from tests.integration.wire import Connection, Response, get, request_bytes

HOST = "shop.test"
OF_BAR = "$2y$04$/EWqyNTrBrd7g2GUFH8rPuMZAL4D7jSROO4GYAnabkcJ0X0WJ6WQ2"
SLOW = "$6$rounds=200000$52KASokBDtjk4utK$" + "a" * 86  # no password fits, and each check takes 0.2 s
CONTEXT = TranslationContext(allow_local_endpoints=True)


def users(name: str, content: str, *, namespace: str = "shop") -> Document:
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name, "namespace": namespace},
        "data": {"auth": base64.b64encode(content.encode()).decode()},
    }


def guarded(name: str, place: str, **annotations: str) -> Document:
    """An Ingress of `HOST` with a path that asks for a password of the Secret `pw`."""
    said = {
        "auth-type": "basic",
        "auth-secret": "pw",
        **{key.replace("_", "-"): each for key, each in annotations.items()},
    }
    return ingress(
        name,
        rule(HOST, path(place, "web")),
        annotations={f"nginx.ingress.kubernetes.io/{key}": text for key, text in said.items()},
    )


@asynccontextmanager
async def serving(*documents: Document, **settings: str) -> AsyncIterator[tuple[DataPlane, EchoEndpoint]]:
    async with data_plane() as plane, echoing("web", {"zone-a": 1}) as (endpoint,):
        cluster = [ingress_class(), config_map(**settings), service("web"), endpoint_slice(endpoint), *documents]
        plane.serve(cluster, CONTEXT)
        yield plane, endpoint


def basic(user: str, password: str) -> str:
    return "Authorization: Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


async def raw(port: int, target: str, *fields: str, method: str = "GET") -> Response:
    async with await Connection.open(port) as connection:
        return await connection.send(request_bytes(method, target, *fields), method=method)


OPEN = ingress("open", rule(HOST, path("/", "web")))
PRIVATE = guarded("private", "/private")
USERS = users("pw", f"foo:{OF_BAR}\n")


@pytest.mark.parametrize(
    ("target", "host"),
    [
        ("/private", HOST),
        ("/private/", HOST),
        ("/private/x", HOST),
        ("//private", HOST),
        ("/./private", HOST),
        ("/x/../private", HOST),
        ("/%70rivate", HOST),
        ("/private%2f", HOST),
        ("/private%2Fx", HOST),
        ("/x%2f..%2fprivate", HOST),
        ("/%2e/private", HOST),
        ("/private?x=/open", HOST),
        ("/private;x", HOST),
        ("/private", "SHOP.test"),
        ("/private", "shop.test."),
        ("/private", "shop.test:8080"),
        ("http://shop.test/private", HOST),
        ("http://shop.test/private", "other.test"),
        ("http://SHOP.TEST:80/private", HOST),
    ],
)
async def test_no_other_spelling_of_a_private_path_reaches_it(target: str, host: str) -> None:
    async with serving(PRIVATE, USERS) as (plane, endpoint):
        answer = await raw(plane.http_port, target, f"Host: {host}")
        assert answer.status in (400, 401, 404)
        assert endpoint.requests == 0


@pytest.mark.parametrize("method", ["GET", "HEAD", "POST", "OPTIONS", "DELETE", "PROPFIND"])
async def test_every_method_is_asked(method: str) -> None:
    async with serving(OPEN, PRIVATE, USERS) as (plane, endpoint):
        answer = await raw(plane.http_port, "/private", f"Host: {HOST}", method=method)
        assert answer.status in (401, 405)
        assert endpoint.requests == 0


async def test_the_challenge_names_the_realm_and_the_endpoint_never_gets_the_password() -> None:
    async with serving(guarded("private", "/", auth_realm="The shop"), USERS) as (plane, _):
        asked = await get(plane.http_port, HOST)
        assert (asked.status, asked.field("www-authenticate")) == (401, 'Basic realm="The shop"')
        assert b"401 Authorization Required" in asked.body
        answer = await get(plane.http_port, HOST, "/", basic("foo", "bar"))
        assert answer.status == 200
        assert "authorization" not in {name.lower() for name, _ in answer.json()["headers"]}


async def test_a_changed_secret_counts_on_a_connection_that_is_kept() -> None:
    async with serving(PRIVATE, USERS) as (plane, endpoint), await Connection.open(plane.http_port) as client:
        assert (await client.get(HOST, "/private", basic("foo", "bar"))).status == 200
        cluster = [ingress_class(), config_map(), service("web"), endpoint_slice(endpoint), PRIVATE]
        plane.serve([*cluster, users("pw", "foo:{PLAIN}new\n")], CONTEXT)
        assert (await client.get(HOST, "/private", basic("foo", "bar"))).status == 401
        assert (await client.get(HOST, "/private", basic("foo", "new"))).status == 200
        plane.serve(cluster, CONTEXT)
        assert (await client.get(HOST, "/private", basic("foo", "new"))).status == 503


async def test_a_secret_of_another_namespace_needs_the_operators_word() -> None:
    theirs, guard = users("pw", f"foo:{OF_BAR}", namespace="other"), guarded("private", "/", auth_secret="other/pw")
    async with serving(guard, theirs) as (plane, _):
        assert (await get(plane.http_port, HOST, "/", basic("foo", "bar"))).status == 503
    async with serving(guard, theirs, allow_cross_namespace_resources="true") as (plane, _):
        assert (await get(plane.http_port, HOST, "/", basic("foo", "bar"))).status == 200


async def test_an_allowed_address_needs_no_password_and_its_password_stays_here() -> None:
    guard = guarded("private", "/", satisfy="any", whitelist_source_range="127.0.0.1")
    async with serving(guard, USERS) as (plane, _):
        answer = await get(plane.http_port, HOST, "/", basic("foo", "wrong"))
        assert answer.status == 200
        assert "authorization" not in {name.lower() for name, _ in answer.json()["headers"]}
    guard = guarded("private", "/", satisfy="any", whitelist_source_range="192.0.2.0/24")
    async with serving(guard, USERS) as (plane, _):
        assert (await get(plane.http_port, HOST)).status == 401
        assert (await get(plane.http_port, HOST, "/", basic("foo", "bar"))).status == 200


@pytest.mark.parametrize("network", ["192.0.2.0/24", "127.0.0.1"])
async def test_with_a_list_of_denied_addresses_everybody_needs_a_password(network: str) -> None:
    guard = guarded("private", "/", satisfy="any", denylist_source_range=network)
    async with serving(guard, USERS) as (plane, _):
        assert (await get(plane.http_port, HOST)).status == 401
        assert (await get(plane.http_port, HOST, "/", basic("foo", "bar"))).status == 200


async def test_a_flood_of_wrong_passwords_stops_no_other_route() -> None:
    other = guarded("other", "/other", auth_secret="others")
    documents = (
        OPEN,
        guarded("flooded", "/flooded"),
        other,
        users("pw", f"foo:{SLOW}"),
        users("others", f"foo:{OF_BAR}"),
    )
    async with serving(*documents) as (plane, _):
        flood = [
            asyncio.create_task(get(plane.http_port, HOST, "/flooded", basic("foo", f"wrong{number}")))
            for number in range(80)
        ]
        done, _ = await asyncio.wait(flood, return_when=asyncio.FIRST_COMPLETED)
        assert {task.result().status for task in done} <= {401, 503}
        assert (await get(plane.http_port, HOST, "/open")).status == 200
        assert (await get(plane.http_port, HOST, "/other", basic("foo", "bar"))).status == 200
        for task in flood:
            task.cancel()
        await asyncio.gather(*flood, return_exceptions=True)


async def test_over_the_bound_the_answer_is_503() -> None:
    async with serving(guarded("flooded", "/"), users("pw", f"foo:{SLOW}")) as (plane, _):
        flood = [
            asyncio.create_task(get(plane.http_port, HOST, "/", basic("foo", f"wrong{number}"))) for number in range(80)
        ]
        done, _ = await asyncio.wait(flood, return_when=asyncio.FIRST_COMPLETED)
        while not any(task.result().status == 503 for task in done):
            done, _ = await asyncio.wait(
                [task for task in flood if task not in done], return_when=asyncio.FIRST_COMPLETED
            )
        for task in flood:
            task.cancel()
        await asyncio.gather(*flood, return_exceptions=True)


async def test_blocked_clients_are_refused_before_anything_else() -> None:
    async with serving(PRIVATE, USERS, block_user_agents="~*badbot", block_referers="~*spam") as (plane, endpoint):
        for field in ("User-Agent: BADBOT/1", "Referer: http://spam.test/"):
            for host in (HOST, "unknown.test"):
                assert (await get(plane.http_port, host, "/private", field, basic("foo", "bar"))).status == 403
        assert (await get(plane.http_port, "unknown.test")).status == 404
        assert endpoint.requests == 0
