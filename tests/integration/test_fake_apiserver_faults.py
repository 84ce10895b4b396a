"""What the test API server does beyond the recordings: faults on demand, access, selectors, pages, restarts."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import yaml

from tests.fakes.apiserver import ApiServer, Fault
from tests.fakes.sockets import PATIENCE_SECONDS, until

MAPS = "/api/v1/namespaces/shop/configmaps"
INITIAL = "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"


def config_map(name: str, **labels: str) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "shop", "labels": labels}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}


class Client:
    """A client that says what it got in few words."""

    def __init__(self, server: ApiServer, session: aiohttp.ClientSession) -> None:
        self.server = server
        self.session = session

    async def get(self, path: str, **headers: str) -> tuple[int, Any]:
        async with self.session.get(self.server.url + path, headers=headers) as response:
            return response.status, json.loads(await response.read())

    async def names(self, path: str) -> list[str]:
        _, body = await self.get(path)
        return [item["metadata"]["name"] for item in body["items"]]

    @asynccontextmanager
    async def watch(self, query: str = "") -> AsyncIterator[aiohttp.StreamReader]:
        async with self.session.get(f"{self.server.url}{MAPS}?watch=1{query}") as response:
            assert response.status == 200
            yield response.content

    async def watched(self, query: str = "") -> list[str]:
        """The events of a watch to its end, as `TYPE name`."""
        async with self.watch(query) as lines:
            return [_brief(line) async for line in lines]


def _brief(line: bytes) -> str:
    event = json.loads(line)
    return f"{event['type']} {event['object']['metadata'].get('name', event['object'].get('code', ''))}".strip()


@pytest.fixture
async def server() -> AsyncIterator[ApiServer]:
    async with ApiServer(second=0.05) as server:
        for name in ("a", "b", "c"):
            server.put(config_map(name, app=name))
        yield server


@pytest.fixture
async def client(server: ApiServer) -> AsyncIterator[Client]:
    async with aiohttp.ClientSession() as session:
        yield Client(server, session)


@pytest.mark.parametrize(
    ("selector", "names"),
    [
        ("labelSelector=app%3Da", ["a"]),
        ("labelSelector=app%3D%3Da", ["a"]),
        ("labelSelector=app!%3Da", ["b", "c"]),
        ("labelSelector=app+in+(a,b),app+notin+(b)", ["a"]),
        ("labelSelector=app", ["a", "b", "c"]),
        ("labelSelector=!app", []),
        ("fieldSelector=metadata.name!%3Da,metadata.namespace%3Dshop", ["b", "c"]),
    ],
)
async def test_selectors_select(client: Client, selector: str, names: list[str]) -> None:
    assert await client.names(f"{MAPS}?{selector}") == names


async def test_a_watch_with_a_selector_sees_objects_come_and_go(server: ApiServer, client: Client) -> None:
    version = server.version
    server.put(config_map("a", app="other"))
    server.put(config_map("b", app="a"))
    server.put(config_map("b", app="a", more="1"))
    server.delete("ConfigMap", "shop", "b")
    events = await client.watched(f"&labelSelector=app%3Da&timeoutSeconds=1&resourceVersion={version}")
    assert events == ["DELETED a", "ADDED b", "MODIFIED b", "DELETED b"]


async def test_pages_show_one_version_whatever_changes_meanwhile(server: ApiServer, client: Client) -> None:
    _, first = await client.get(f"{MAPS}?limit=1")
    server.delete("ConfigMap", "shop", "b")
    server.put(config_map("bb"))
    _, second = await client.get(f"{MAPS}?limit=9&continue={first['metadata']['continue']}")
    assert [item["metadata"]["name"] for item in second["items"]] == ["b", "c"]
    assert first["metadata"]["resourceVersion"] == second["metadata"]["resourceVersion"]
    assert await client.names(MAPS) == ["a", "bb", "c"]


async def test_an_expired_continue_token_comes_with_one_that_goes_on_inconsistently(
    server: ApiServer, client: Client
) -> None:
    _, first = await client.get(f"{MAPS}?limit=1")
    server.put(config_map("bb"))
    server.compact()
    status, expired = await client.get(f"{MAPS}?limit=9&continue={first['metadata']['continue']}")
    assert status == 410
    assert await client.names(f"{MAPS}?limit=9&continue={expired['metadata']['continue']}") == ["b", "bb", "c"]


async def test_a_large_list_is_compressed_for_who_accepts_it(server: ApiServer, client: Client) -> None:
    server.put(config_map("large") | {"data": {"x": "y" * 200_000}})
    async with client.session.get(server.url + MAPS) as response:
        assert response.headers["Content-Encoding"] == "gzip"
        assert len((await response.json())["items"]) == 4
    async with client.session.get(server.url + MAPS, headers={"Accept-Encoding": "identity"}) as response:
        assert "Content-Encoding" not in response.headers


async def test_bookmarks_come_regularly_and_carry_the_version_of_the_whole_store(client: Client) -> None:
    async with ApiServer(bookmark_seconds=0.01) as brisk:
        watch = f"{MAPS}?watch=1&allowWatchBookmarks=true&resourceVersion={brisk.version}"
        async with client.session.get(brisk.url + watch) as response, asyncio.timeout(PATIENCE_SECONDS):
            brisk.put({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "one"}})
            shown = {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"resourceVersion": str(brisk.version)}}
            bookmark = {"type": "BOOKMARK", "object": shown}
            while json.loads(line := await response.content.readline()) != bookmark:
                assert b'"BOOKMARK"' in line


async def test_a_watch_has_its_bookmark_and_its_end_however_much_changes(server: ApiServer, client: Client) -> None:
    watched = asyncio.create_task(client.watched("&timeoutSeconds=4&allowWatchBookmarks=true"))
    while not watched.done():
        server.put(config_map("busy"))
        await asyncio.sleep(0)
    assert "BOOKMARK" in watched.result()


async def test_nothing_is_lost_between_request_and_answer_of_a_watch(server: ApiServer, client: Client) -> None:
    watched = asyncio.create_task(client.watched(f"&timeoutSeconds=4&resourceVersion={server.version}"))
    while not server.calls:  # noqa: ASYNC110 - the answer must not have begun
        await asyncio.sleep(0)
    server.put(config_map("early"))
    assert await watched == ["ADDED early"]


async def test_put_keeps_identity_and_counts_changes_of_the_spec(server: ApiServer) -> None:
    ingress = {"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": {"name": "i", "namespace": "shop"}}
    first = server.put(ingress | {"spec": {"ingressClassName": "a"}})["metadata"]
    second = server.put(ingress | {"spec": {"ingressClassName": "a"}})["metadata"]
    third = server.put(ingress | {"spec": {"ingressClassName": "b"}})["metadata"]
    assert [first["generation"], second["generation"], third["generation"]] == [1, 1, 2]
    assert int(first["resourceVersion"]) < int(second["resourceVersion"]) < int(third["resourceVersion"])
    assert first["uid"] == third["uid"] and first["creationTimestamp"] == third["creationTimestamp"]


async def test_tokens_rotate(server: ApiServer, client: Client) -> None:
    server.tokens = {"old"}
    assert (await client.get(MAPS))[0] == 401
    assert (await client.get(MAPS, Authorization="Bearer old"))[0] == 200
    server.tokens = {"new"}
    assert (await client.get(MAPS, Authorization="Bearer old"))[0] == 401
    assert [(call.user, call.status) for call in server.calls] == [
        ("system:anonymous", 401),
        ("old", 200),
        ("old", 401),
    ]


async def test_rules_grant_by_namespace_and_by_name_also_through_a_field_selector(
    server: ApiServer, client: Client
) -> None:
    names: dict[str, object] = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list", "watch"]}
    server.rules = [names | {"resourceNames": ["a"], "namespace": "shop"}]
    assert (await client.get(f"{MAPS}/a"))[0] == 200
    assert (await client.get(f"{MAPS}?fieldSelector=metadata.name%3Da"))[0] == 200
    assert (await client.get(f"{MAPS}?fieldSelector=metadata.name%3Db"))[0] == 403
    assert (await client.get("/api/v1/namespaces/other/configmaps/a"))[0] == 403
    status, refusal = await client.get("/apis/networking.k8s.io/v1/ingresses", Authorization="Bearer me")
    assert status == refusal["code"] == 403
    assert refusal["message"] == (
        'ingresses.networking.k8s.io is forbidden: User "me" cannot list resource "ingresses" '
        'in API group "networking.k8s.io" at the cluster scope'
    )
    assert [(call.verb, call.resource, call.name) for call in server.calls][1] == ("list", "configmaps", "a")


async def test_a_restart_keeps_port_and_state_and_cuts_connections(server: ApiServer, client: Client) -> None:
    port = server.port
    async with client.watch(f"&resourceVersion={server.version}") as lines:
        await until(lambda: server.open_watches == 1)
        await server.stop()
        with pytest.raises(aiohttp.ClientError):
            await lines.readline()
    await until(lambda: server.open_watches == 0)
    with pytest.raises(aiohttp.ClientConnectorError):
        await client.get(MAPS)
    await server.start()
    assert server.port == port
    assert await client.names(MAPS) == ["a", "b", "c"]


async def test_a_kubeconfig_leads_to_a_server_with_tls_whose_authority_can_change(tmp_path: Path) -> None:
    connector = aiohttp.TCPConnector(force_close=True)
    async with ApiServer(tls=True) as server, aiohttp.ClientSession(connector=connector) as session:
        document = yaml.safe_load(server.write_kubeconfig(tmp_path / "config", token="t").read_text())
        assert document["clusters"][0]["cluster"]["server"] == server.url
        trusting = ssl.create_default_context(cadata=server.authority_pem.decode())
        async with session.get(server.url + "/livez", ssl=trusting) as response:
            assert await response.text() == "ok"
        server.renew_authority()
        with pytest.raises(aiohttp.ClientConnectorCertificateError):
            await session.get(server.url + "/livez", ssl=trusting)


# Faults before the answer


async def test_a_fault_answers_a_status_so_many_times(server: ApiServer, client: Client) -> None:
    fault = server.faults.add(Fault(verb="list", resource="configmaps", status=429, retry_after="7", times=1))
    async with client.session.get(server.url + MAPS) as response:
        assert (response.status, response.headers["Retry-After"]) == (429, "7")
        assert (await response.json())["reason"] == "TooManyRequests"
    assert (await client.get(MAPS))[0] == 200
    assert fault.used == 1


async def test_a_fault_answers_like_a_proxy(server: ApiServer, client: Client) -> None:
    server.faults.add(Fault(status=502, html=True))
    async with client.session.get(server.url + MAPS) as response:
        assert (response.status, response.content_type) == (502, "text/html")


async def test_a_fault_resets_or_stalls_before_the_answer(server: ApiServer, client: Client) -> None:
    server.faults.add(Fault(reset=True, times=1))
    with pytest.raises(aiohttp.ClientError):
        await client.session.post(server.url + MAPS, json=config_map("new"))  # nothing retries a POST
    server.faults.add(Fault(stall=True))
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await client.get(MAPS)
    server.faults.clear()
    assert await client.names(MAPS) == ["a", "b", "c"]


async def test_a_share_of_calls_fails_the_same_in_each_run(client: Client) -> None:
    runs = []
    for _ in range(2):
        async with ApiServer() as server:
            server.faults.add(Fault(status=500, probability=0.5))
            other = Client(server, client.session)
            runs.append([(await other.get(MAPS))[0] for _ in range(20)])
    assert runs[0] == runs[1]
    assert set(runs[0]) == {200, 500}


async def test_a_list_is_empty_or_of_an_earlier_version(server: ApiServer, client: Client) -> None:
    earlier = server.version
    server.delete("ConfigMap", "shop", "a")
    server.faults.add(Fault(verb="list", at_version=earlier, times=1))
    status, body = await client.get(MAPS)
    assert (status, body["metadata"]["resourceVersion"], len(body["items"])) == (200, str(earlier), 3)
    server.faults.add(Fault(empty_list=True, times=2))
    assert await client.names(MAPS) == []
    assert await client.watched(f"&timeoutSeconds=1{INITIAL}") == ["BOOKMARK"]
    assert await client.names(MAPS) == ["b", "c"]


# Faults inside a watch


async def test_a_watch_is_cut_in_the_middle_of_a_line(server: ApiServer, client: Client) -> None:
    server.faults.add(Fault(verb="watch", after_events=2, cut=True))
    received = b""
    with pytest.raises(aiohttp.ClientError):
        async with client.watch() as lines:
            async for chunk in lines.iter_any():
                received += chunk
    *whole, rest = received.split(b"\n")
    assert [_brief(line) for line in whole] == ["ADDED a", "ADDED b"]
    assert rest.startswith(b'{"type":"ADDED"')


async def test_a_watch_ends_cleanly_after_so_many_events(server: ApiServer, client: Client) -> None:
    server.faults.add(Fault(verb="watch", after_events=2, end=True))
    assert await client.watched() == ["ADDED a", "ADDED b"]


async def test_a_fault_takes_hold_of_a_watch_that_is_open(server: ApiServer, client: Client) -> None:
    async with client.watch() as lines:
        for _ in "abc":
            await lines.readline()
        server.faults.add(Fault(verb="watch", error_code=410))
        assert [_brief(line) async for line in lines] == ["ERROR 410"]


async def test_a_watch_falls_silent_while_its_connection_stays(server: ApiServer, client: Client) -> None:
    server.faults.add(Fault(verb="watch", after_events=1, stall=True, times=1))
    async with client.watch("&timeoutSeconds=1") as lines:
        assert _brief(await lines.readline()) == "ADDED a"
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.2):
                await lines.readline()
        assert server.open_watches == 1
    await until(lambda: server.open_watches == 0)


async def test_a_watch_sends_garbage_and_repeats_itself(server: ApiServer, client: Client) -> None:
    server.faults.add(Fault(verb="watch", after_events=1, garbage=True))
    server.faults.add(Fault(verb="watch", after_events=1, replay=True))
    async with client.watch("&timeoutSeconds=1") as response:
        lines = [line async for line in response]
    assert b"<html>" in lines.pop(1)
    assert [_brief(line) for line in lines] == ["ADDED a", "ADDED b", "ADDED a", "ADDED b", "ADDED c"]


async def test_deletions_are_left_out_until_the_fault_is_gone(server: ApiServer, client: Client) -> None:
    fault = server.faults.add(Fault(verb="watch", omit_deleted=True))
    async with client.watch() as lines:
        for _ in "abc":
            await lines.readline()
        server.delete("ConfigMap", "shop", "a")
        server.put(config_map("d"))
        assert _brief(await lines.readline()) == "ADDED d"
        server.faults.remove(fault)
        server.delete("ConfigMap", "shop", "b")
        assert _brief(await lines.readline()) == "DELETED b"


async def test_watches_are_cut_on_demand(server: ApiServer, client: Client) -> None:
    async with client.watch(f"&resourceVersion={server.version}") as lines:
        await until(lambda: server.open_watches == 1)
        server.cut_watches()
        with pytest.raises(aiohttp.ClientError):
            await lines.readline()
    await server.until_calls(lambda call: call.verb == "watch" and call.status == 200, 1)


async def test_a_watch_over_tls_is_cut_like_any_other() -> None:
    async with ApiServer(tls=True) as server, aiohttp.ClientSession() as session:
        server.put(config_map("one"))
        server.faults.add(Fault(verb="watch", cut=True))
        trusting = ssl.create_default_context(cadata=server.authority_pem.decode())
        with pytest.raises(aiohttp.ClientError):
            async with session.get(f"{server.url}{MAPS}?watch=1", ssl=trusting) as response:
                await response.read()
