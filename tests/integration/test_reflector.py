"""A reflector and an API server that does everything that API servers do (faults K01 to K08 and K11, K12)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ingress.objects.kinds import EndpointSlice, Kind, Node, Service
from ingress.sources.kubernetes.api import ApiServer as Api
from ingress.sources.kubernetes.resources import Scope
from ingress.sources.kubernetes.scope_events import Condition, ScopeRemoved, ScopeReplaced, ScopeUpserted
from tests.fakes.apiserver import ApiServer, Call, Fault
from tests.fakes.sockets import until
from tests.integration.following import QUICK, Listener, connected, following, service


@pytest.fixture
async def server() -> AsyncIterator[ApiServer]:
    async with ApiServer() as server:
        yield server


@pytest.fixture
async def api(server: ApiServer, tmp_path: Path) -> AsyncIterator[Api]:
    async with connected(server, tmp_path) as api:
        yield api


def port_of(listener: Listener, name: str) -> int:
    item = listener.objects["shop", name]
    assert isinstance(item, Service)
    return item.spec.ports[0].port


def lists(server: ApiServer) -> list[Call]:
    """Both kinds of list."""
    return [call for call in server.calls if call.verb == "list" or "sendInitialEvents" in call.query]


def plain_watches(server: ApiServer) -> list[Call]:
    return [call for call in server.calls if call.is_watch and "sendInitialEvents" not in call.query]


async def test_the_present_is_said_whole_and_then_every_change(server: ApiServer, api: Api) -> None:
    server.put(service("web"))
    async with following(api) as listener:
        await until(lambda: listener.is_synced)
        assert [type(event) for event in listener.events[:1]] == [ScopeReplaced]
        server.put(service("late"))
        server.put(service("web", 81))
        await until(lambda: len(listener.upserts) == 2)
        assert port_of(listener, "web") == 81
        server.delete("Service", "shop", "web")
        await until(lambda: isinstance(listener.events[-1], ScopeRemoved))
    assert listener.names == {"late"}
    assert listener.states == [Condition.SYNCED]
    assert len(server.calls) == 1  # list and watch were one request
    assert server.calls[0].user_agent.startswith("zonal-ingress/")


async def test_a_change_is_said_in_the_order_of_its_bytes_without_waiting(server: ApiServer, api: Api) -> None:
    async with following(api) as listener:
        await until(lambda: listener.is_synced)
        for port in range(1, 400):
            server.put(service("web", port))
        await until(lambda: len(listener.upserts) == 399)
    said = [event.object.spec.ports[0].port for event in listener.upserts if isinstance(event.object, Service)]
    assert said == list(range(1, 400))


@pytest.mark.parametrize("has_cache", [True, False])
async def test_without_streaming_lists_pages_are_read_to_their_end(tmp_path: Path, has_cache: bool) -> None:
    async with (
        ApiServer(streaming_lists=False, watch_cache=has_cache) as server,
        connected(server, tmp_path) as api,
    ):
        for number in range(1203):
            server.put(service(f"s{number}"))
        async with following(api) as listener:
            await until(lambda: listener.is_synced)
            assert len(listener.objects) == 1203
            pages = [call for call in server.calls if call.verb == "list"]
            assert len(pages) == (1 if has_cache else 3)
            assert pages[0].query["resourceVersion"] == "0"
            server.put(service("late"))
            await until(lambda: "late" in listener.names)
            # The refusal is remembered.
            server.compact()
            server.cut_watches()
            server.put(service("later"))
            server.compact()
            await until(lambda: "later" in listener.names)
    assert len([call for call in server.calls if "sendInitialEvents" in call.query]) == 1


async def test_a_streaming_list_that_is_refused_with_422_is_remembered(server: ApiServer, api: Api) -> None:
    server.put(service("web"))
    server.faults.add(Fault(matches=lambda call: "sendInitialEvents" in call.query, status=422))
    async with following(api) as listener:
        await until(lambda: listener.is_synced)
        assert [call.verb for call in server.calls[:2]] == ["watch", "list"]
        assert listener.states == [Condition.SYNCED]


async def test_a_streaming_list_that_stays_silent_is_given_up_for_pages(server: ApiServer, api: Api) -> None:
    server.put(service("web"))
    server.put(service("web2"))
    server.faults.add(Fault(matches=lambda call: "sendInitialEvents" in call.query, stall=True, after_events=1))
    async with following(api, times=msgspec.structs.replace(QUICK, streaming_silence_seconds=0.2)) as listener:
        await until(lambda: listener.is_synced)
    assert listener.names == {"web", "web2"}
    assert len(listener.replacements) == 1
    assert [call.verb for call in server.calls][:2] == ["watch", "list"]


async def test_a_streaming_list_that_has_come_to_its_end_may_be_silent(tmp_path: Path) -> None:
    async with ApiServer(bookmark_seconds=0.5) as server, connected(server, tmp_path) as api:
        async with following(api, times=msgspec.structs.replace(QUICK, streaming_silence_seconds=0.2)) as listener:
            await until(lambda: listener.is_synced)
            for _ in range(2):
                last = listener.last_event_at
                await until(lambda last=last: listener.last_event_at != last)  # type: ignore[misc]
        assert len(server.calls) == 1


async def test_k01_a_version_that_is_too_old_leads_to_a_list_that_replaces(server: ApiServer, api: Api) -> None:
    server.put(service("ghost"))
    server.put(service("web"))
    async with following(api) as listener:
        await until(lambda: listener.is_synced)
        gone = server.faults.add(Fault(matches=lambda call: "resourceVersion" in call.query, status=410))
        server.faults.add(Fault(verb="watch", omit_deleted=True))
        server.delete("Service", "shop", "ghost")
        server.cut_watches()
        await until(lambda: gone.used == 1 and "ghost" not in listener.names)
        assert listener.names == {"web"}
        assert len(listener.replacements) == 2
    assert listener.states == [Condition.SYNCED]


async def test_k02_a_410_inside_the_stream_leads_to_one_list_each_back_off_step(server: ApiServer, api: Api) -> None:
    server.put(service("web"))
    async with following(api) as listener:
        await until(lambda: listener.is_synced)
        server.compact()
        server.put(service("new"))
        server.compact()
        await until(lambda: "new" in listener.names)
        server.faults.add(Fault(verb="watch", error_code=410, times=6))
        await until(lambda: not [fault for fault in server.faults if not fault.is_spent])
        await until(lambda: server.open_watches == 1)
    # 1 at first, and 1 for each of at most 6 errors: none besides.
    assert len(lists(server)) <= 7


async def test_k02_pages_whose_token_has_expired_are_read_anew(server: ApiServer, api: Api) -> None:
    server.faults.add(Fault(matches=lambda call: "sendInitialEvents" in call.query, status=422))
    server.faults.add(Fault(verb="list", matches=lambda call: "continue" in call.query, status=410, times=1))
    server.faults.add(Fault(verb="list", matches=lambda call: "resourceVersion" in call.query, status=410, times=1))
    for number in range(700):
        server.put(service(f"s{number}"))
    async with following(api) as listener:
        await until(lambda: listener.is_synced)
    assert len(listener.objects) == 700
    assert len(listener.replacements) == 1


async def test_k03_a_clean_end_is_followed_by_a_watch_from_the_last_version(tmp_path: Path) -> None:
    async with ApiServer(second=0.05) as server, connected(server, tmp_path) as api:
        server.put(service("web"))
        async with following(api) as listener:
            await until(lambda: listener.is_synced)
            for port in range(1, 60):
                server.put(service("web", port))
                await until(lambda port=port: port_of(listener, "web") == port)  # type: ignore[misc]
                if port % 20 == 0:
                    seen = len(server.calls)
                    await until(lambda seen=seen: len(server.calls) > seen)  # type: ignore[misc]
        assert len(lists(server)) == 1
        assert len(plain_watches(server)) >= 2
        assert len(listener.upserts) == 59
        assert listener.states == [Condition.SYNCED]


async def test_k04_a_line_that_is_cut_is_discarded_and_comes_again(server: ApiServer, api: Api) -> None:
    server.put(service("web"))
    async with following(api) as listener:
        await until(lambda: listener.is_synced)
        server.faults.add(Fault(verb="watch", cut=True, after_events=1, times=1))
        for port in (81, 82, 83):
            server.put(service("web", port))
        await until(lambda: port_of(listener, "web") == 83)
        assert [type(event) for event in listener.events[2:]] == [ScopeUpserted] * 3
    assert len(lists(server)) == 1


async def test_k05_a_stream_from_which_nothing_comes_is_given_up(server: ApiServer, api: Api) -> None:
    times = msgspec.structs.replace(QUICK, watch_min_seconds=1.0, watch_max_seconds=1.0)
    server.put(service("web"))
    async with following(api, times=times) as listener:
        await until(lambda: listener.is_synced)
        stalled = server.faults.add(Fault(verb="watch", stall=True, times=1))
        server.put(service("web", 81))
        await until(lambda: stalled.used == 1)
        await until(lambda: port_of(listener, "web") == 81)
    assert len(lists(server)) == 1


async def test_k06_a_bookmark_advances_the_version_and_is_not_said(tmp_path: Path) -> None:
    async with ApiServer(bookmark_seconds=0.05) as server, connected(server, tmp_path) as api:
        server.put(service("web"))
        async with following(api) as listener:
            await until(lambda: listener.is_synced)
            said = len(listener.events)
            server.put({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "other", "namespace": "shop"}})
            version = server.version
            # The first bookmark from now on may have been on its way already.
            for _ in range(2):
                last = listener.last_event_at
                await until(lambda last=last: listener.last_event_at != last)  # type: ignore[misc]
            server.cut_watches()
            await until(lambda: bool(plain_watches(server)))
            assert len(listener.events) == said
        assert plain_watches(server)[0].query["resourceVersion"] == str(version)
        assert len(lists(server)) == 1


async def test_k07_events_that_come_twice_are_said_once(server: ApiServer, api: Api) -> None:
    server.put(service("web"))
    async with following(api) as listener:
        await until(lambda: listener.is_synced)
        for port in (81, 82):
            server.put(service("web", port))
        server.put(service("gone"))
        server.delete("Service", "shop", "gone")
        await until(lambda: len(listener.events) == 6)
        replayed = server.faults.add(Fault(verb="watch", replay=True, times=1))
        await until(lambda: replayed.used == 1)
        server.put(service("last"))
        await until(lambda: "last" in listener.names)
        assert len(listener.events) == 7
        assert port_of(listener, "web") == 82


async def test_k07_an_object_with_another_uid_replaces_the_one_of_its_name(server: ApiServer, api: Api) -> None:
    server.put(service("web"))
    async with following(api) as listener:
        await until(lambda: listener.is_synced)
        before = listener.objects["shop", "web"].metadata.uid
        server.faults.add(Fault(verb="watch", omit_deleted=True))
        server.delete("Service", "shop", "web")
        server.put(service("web", 81))
        await until(lambda: port_of(listener, "web") == 81)
        assert listener.objects["shop", "web"].metadata.uid != before


async def test_k08_a_deletion_that_was_missed_is_made_up_by_the_next_list(server: ApiServer, api: Api) -> None:
    server.put(service("ghost"))
    server.put(service("web"))
    async with following(api) as listener:
        await until(lambda: listener.is_synced)
        omitting = server.faults.add(Fault(verb="watch", omit_deleted=True))
        server.delete("Service", "shop", "ghost")
        server.put(service("marker"))
        await until(lambda: "marker" in listener.names)
        assert "ghost" in listener.names
        server.faults.remove(omitting)
        server.faults.add(Fault(verb="watch", error_code=410, times=1))
        await until(lambda: "ghost" not in listener.names)
        assert listener.names == {"web", "marker"}


async def test_k11_a_list_of_the_past_is_accepted_and_overtaken(server: ApiServer, api: Api) -> None:
    server.put(service("web", 80))
    past = server.version
    server.put(service("web", 81))
    server.put(service("new"))
    async with following(api) as listener:
        await until(lambda: listener.is_synced)
        server.faults.add(Fault(matches=is_list, at_version=past, times=1))
        server.faults.add(Fault(verb="watch", error_code=410, times=1))
        await until(lambda: len(listener.replacements) == 2)
        await until(lambda: listener.names == {"web", "new"} and port_of(listener, "web") == 81)


@pytest.mark.parametrize("streaming", [True, False])
async def test_k12_an_empty_list_after_a_full_one_is_believed_only_when_it_is_confirmed(
    tmp_path: Path, streaming: bool
) -> None:
    async with ApiServer(streaming_lists=streaming) as server, connected(server, tmp_path) as api:
        server.put(service("web"))
        async with following(api) as listener:
            await until(lambda: listener.is_synced)
            empty = server.faults.add(Fault(matches=is_list, empty_list=True, times=1))
            server.faults.add(Fault(verb="watch", error_code=410, times=1))
            await until(lambda: len(listener.replacements) == 2)
            assert empty.used == 1
            assert {len(replaced.objects) for replaced in listener.replacements} == {1}
            server.faults.add(Fault(verb="watch", omit_deleted=True))
            server.delete("Service", "shop", "web")
            server.faults.clear()
            server.faults.add(Fault(verb="watch", error_code=410, times=1))
            server.faults.add(Fault(matches=is_list, empty_list=True))
            await until(lambda: not listener.objects)
            assert listener.is_synced


def is_list(call: Call) -> bool:
    return call.verb == "list" or "sendInitialEvents" in call.query


async def test_metadata_selectors_and_single_objects_are_asked_for(server: ApiServer, api: Api) -> None:
    for name in ("node-a", "node-b"):
        labels = {"topology.kubernetes.io/zone": "a"}
        server.put({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}})
    for name, labels in (("ours", {"kubernetes.io/service-name": "web"}), ("foreign", {})):
        metadata = {"name": name, "namespace": "shop", "labels": labels}
        kind = {"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4"}
        server.put({**kind, "metadata": metadata, "endpoints": [], "ports": []})
    async with (
        following(api, Scope(Kind.NODE, name="node-b", metadata_only=True)) as nodes,
        following(api, Scope(Kind.ENDPOINT_SLICE, namespace="shop")) as slices,
    ):
        await until(lambda: nodes.is_synced and slices.is_synced)
        assert isinstance(nodes.objects["", "node-b"], Node)
        assert isinstance(slices.objects["shop", "ours"], EndpointSlice)
    assert (nodes.names, slices.names) == ({"node-b"}, {"ours"})
    assert [call.accept for call in server.calls if call.resource == "nodes"] == [
        "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
    ]


def slice_of(name: str, *addresses: str) -> dict[str, Any]:
    labels = {"kubernetes.io/service-name": "web"}
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {"name": name, "namespace": "shop", "labels": labels},
        "addressType": "IPv4",
        "endpoints": [{"addresses": [address]} for address in addresses],
        "ports": [],
    }


async def test_k17_endpoints_that_move_between_slices_are_never_gone(server: ApiServer, api: Api) -> None:
    for name, addresses in (("a", ["10.0.0.1", "10.0.0.2"]), ("b", []), ("c", [])):
        server.put(slice_of(name, *addresses))
    async with following(api, Scope(Kind.ENDPOINT_SLICE)) as listener:
        await until(lambda: listener.is_synced)
        first = len(listener.events)
        for source, target in zip("abc" * 10, "bca" * 10, strict=True):
            server.put(slice_of(target, "10.0.0.1", "10.0.0.2"))
            server.put(slice_of(source))
        await until(lambda: len(listener.events) == first + 60)
    counts = {item.metadata.name: 0 for item in listener.replacements[0].objects}
    counts["a"] = 2
    for event in listener.upserts:
        assert isinstance(event.object, EndpointSlice)
        counts[event.object.metadata.name] = len(event.object.endpoints)
        assert sum(counts.values()) >= 2
