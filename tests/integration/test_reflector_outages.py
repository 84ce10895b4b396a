"""A reflector while the API server refuses, errs or is away: the state stays (K09, K10, K12 to K16, K20, K22)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, suppress
from pathlib import Path

import msgspec
import pytest

from ingress.objects.kinds import Kind, Service
from ingress.sources.kubernetes.api import ApiServer as Api
from ingress.sources.kubernetes.reflector import Reflector
from ingress.sources.kubernetes.resources import Scope
from ingress.sources.kubernetes.scope_events import Condition, ScopeEvent, ScopeState, ScopeUpserted
from tests.fakes.apiserver import ApiServer, Call, Fault
from tests.fakes.sockets import until
from tests.integration.following import QUICK, SERVICES, Listener, connected, following, service


@pytest.fixture
async def server() -> AsyncIterator[ApiServer]:
    async with ApiServer() as server:
        yield server


@pytest.fixture
async def api(server: ApiServer, tmp_path: Path) -> AsyncIterator[Api]:
    async with connected(server, tmp_path) as api:
        yield api


def lists(server: ApiServer) -> list[Call]:
    return [call for call in server.calls if call.verb == "list" or "sendInitialEvents" in call.query]


async def test_k09_after_a_restart_of_the_api_server_the_watch_goes_on_without_a_list(
    server: ApiServer, api: Api
) -> None:
    server.put(service("web"))
    async with following(api) as listener:
        await until(lambda: listener.is_synced)
        await server.stop()
        await until(lambda: listener.condition is Condition.UNREACHABLE)
        assert listener.names == {"web"}
        server.put(service("meanwhile"))
        await server.start()
        await until(lambda: listener.is_synced)
        await until(lambda: "meanwhile" in listener.names)
    assert len(lists(server)) == 1
    assert len(listener.replacements) == 1
    assert "refused" in listener.problems[1]


async def test_k10_errors_half_of_the_time_lose_nothing(server: ApiServer, api: Api) -> None:
    server.put(service("web"))
    for status in (429, 500, 503, 504):
        server.faults.add(Fault(status=status, probability=0.16))
    server.faults.add(Fault(reset=True, probability=0.1))
    async with following(api, times=QUICK.scaled(0.3)) as listener:
        for number in range(20):
            server.put(service(f"s{number}"))
            seen = len(server.calls)
            server.cut_watches()
            await until(lambda seen=seen: len(server.calls) > seen)  # type: ignore[misc]
        await until(lambda: len(listener.objects) == 21)
        assert set(listener.states) <= {Condition.SYNCED, Condition.UNREACHABLE}


async def test_k10_retry_after_is_honoured(server: ApiServer, api: Api) -> None:
    server.faults.add(Fault(status=429, retry_after="1", times=1))
    async with following(api) as listener:
        await until(lambda: listener.is_synced)
    first, second = server.calls
    assert second.at - first.at >= 1


async def test_k12_what_is_forbidden_keeps_its_state_and_says_so(server: ApiServer, api: Api) -> None:
    server.put(service("web"))
    async with following(api) as listener:
        await until(lambda: listener.is_synced)
        server.rules = []
        server.cut_watches()
        await until(lambda: listener.condition is Condition.FORBIDDEN)
        assert listener.names == {"web"}
        assert "services is forbidden" in listener.problems[-1]
        server.rules = None
        server.put(service("new"))
        await until(lambda: "new" in listener.names)
        await until(lambda: listener.is_synced)
    assert listener.states == [Condition.SYNCED, Condition.FORBIDDEN, Condition.SYNCED]


async def test_a_kind_that_does_not_exist_is_asked_for_until_it_does(server: ApiServer, api: Api) -> None:
    server.faults.add(Fault(status=404, times=2))
    async with following(api, times=QUICK.scaled(0.2)) as listener:
        await until(lambda: listener.is_synced)
    assert listener.states == [Condition.MISSING, Condition.SYNCED]


async def test_a_page_of_html_is_neither_an_object_nor_a_message(server: ApiServer, api: Api) -> None:
    server.put(service("web"))
    async with following(api) as listener:
        await until(lambda: listener.is_synced)
        server.faults.add(Fault(status=502, html=True, times=4))
        server.cut_watches()
        await until(lambda: listener.condition is Condition.UNREACHABLE)
        await until(lambda: listener.is_synced)
    assert listener.problems == ["", "HTTP 502", ""]
    assert not listener.unreadable
    assert listener.names == {"web"}


async def test_a_line_that_is_no_event_is_reported_and_the_stream_lives_on(server: ApiServer, api: Api) -> None:
    async with following(api) as listener:
        await until(lambda: listener.is_synced)
        server.faults.add(Fault(verb="watch", garbage=True, times=1))
        await until(lambda: bool(listener.unreadable))
        server.put(service("web"))
        await until(lambda: "web" in listener.names)
        # Said once more, so that whoever listens knows that the problem is over.
        await until(lambda: listener.states == [Condition.SYNCED] * 2)
    assert len(server.calls) == 1
    assert "Bad Gateway" not in listener.unreadable[0].unreadable.problem


async def test_k13_a_token_that_has_rotated_is_read_again_after_one_401(server: ApiServer, tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("first\n")
    server.tokens = {"first"}
    api = await Api.connect(kubeconfig=server.write_kubeconfig(tmp_path / "kubeconfig", token_file=token))
    async with following(api) as listener:
        await until(lambda: listener.is_synced)
        token.write_text("second\n")
        server.tokens = {"second"}
        server.put(service("web"))
        server.cut_watches()
        await until(lambda: server.calls[-1].user == "second")
        await until(lambda: "web" in listener.names)
    await api.close()
    assert [call.status for call in server.calls].count(401) <= 1
    assert listener.states == [Condition.SYNCED]


async def test_k13_a_token_that_stays_wrong_is_said_and_read_again_until_it_is_right(
    server: ApiServer, tmp_path: Path
) -> None:
    server.tokens = {"right"}
    server.put(service("web"))
    place = tmp_path / "kubeconfig"
    api = await Api.connect(kubeconfig=server.write_kubeconfig(place, "very-secret"))
    async with following(api) as listener:
        await until(lambda: listener.condition is Condition.REJECTED)
        server.write_kubeconfig(place, "right")
        await until(lambda: listener.is_synced)
    await api.close()
    assert listener.problems[0] == "HTTP 401: Unauthorized"
    assert "very-secret" not in repr(listener.events)


async def test_k14_a_new_certificate_authority_is_trusted_and_open_watches_live_on(tmp_path: Path) -> None:
    authority = tmp_path / "ca.crt"
    async with ApiServer(tls=True) as server:
        authority.write_bytes(server.authority_pem)
        kubeconfig = server.write_kubeconfig(tmp_path / "kubeconfig", authority_file=authority)
        api = await Api.connect(kubeconfig=kubeconfig, recheck_seconds=0.05)
        async with following(api) as before:
            await until(lambda: before.is_synced)
            server.renew_authority()
            authority.write_bytes(server.authority_pem)
            async with following(api) as after:
                await until(lambda: after.is_synced)
            server.put(service("web"))
            await until(lambda: "web" in before.names)
            assert len(lists(server)) == 2
            server.cut_watches()
            server.put(service("late"))
            await until(lambda: "late" in before.names)
        await api.close()
    assert before.states == [Condition.SYNCED]


async def test_k14_an_authority_that_is_not_ours_is_said_as_such(tmp_path: Path) -> None:
    async with ApiServer(tls=True) as server, connected(server, tmp_path) as api:
        server.renew_authority()
        async with following(api) as listener:
            await until(lambda: listener.condition is Condition.UNREACHABLE)
    assert listener.problems[-1].startswith("the API server is not trusted")


@pytest.mark.parametrize("is_listed", [True, False])
async def test_k15_a_large_object_is_read_and_one_too_large_for_a_line_harms_no_other(
    server: ApiServer, api: Api, is_listed: bool
) -> None:
    large, too_large = {"text": "x" * 1_400_000}, {"text": "x" * 17_000_000}
    objects = (service("large", annotations=large), service("huge", annotations=too_large), service("web"))
    if is_listed:
        for item in objects:
            server.put(item)
    async with following(api) as listener:
        await until(lambda: listener.is_synced)
        if not is_listed:
            for item in objects:
                server.put(item)
        await until(lambda: listener.names == {"large", "web"})
        await until(lambda: bool(listener.unreadable))
        server.put(service("late"))
        await until(lambda: "late" in listener.names)
    assert "longer than" in listener.unreadable[0].unreadable.problem
    assert len(server.calls) == 1


@pytest.mark.parametrize("streaming", [True, False])
async def test_k16_an_object_that_cannot_be_read_harms_no_neighbour(tmp_path: Path, streaming: bool) -> None:
    async with ApiServer(streaming_lists=streaming) as server, connected(server, tmp_path) as api:
        for name in ("a", "b", "c"):
            server.put(service(name))
        server.put({**service("b"), "spec": {"ipFamilies": "IPv4"}})
        async with following(api) as listener:
            await until(lambda: listener.is_synced)
            (replaced,) = listener.replacements
            assert listener.names == {"a", "c"}
            assert [(item.namespace, item.name) for item in replaced.unreadable] == [("shop", "b")]
            server.put({**service("c"), "spec": {"ports": None, "newField": {}, "ipFamilies": ["IPv6"]}})
            server.put({**service("a"), "spec": {"ports": [{"port": "http"}]}})
            await until(lambda: bool(listener.unreadable))
            item = listener.objects["shop", "c"]
            assert isinstance(item, Service)
            assert (item.spec.ports, item.spec.ip_families) == ((), ("IPv6",))
            assert listener.unreadable[0].unreadable.name == "a"
            server.put(service("b", 81))
            server.delete("Service", "shop", "a")
            await until(lambda: listener.names == {"b", "c"})


async def test_secrets_are_in_no_text_about_them(server: ApiServer, api: Api) -> None:
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "tls", "namespace": "shop"}}
    server.put({**secret, "data": {"hunter2": ["hunter2"]}})
    async with following(api, Scope(Kind.SECRET, "shop", "tls")) as listener:
        await until(lambda: listener.is_synced)
        (unreadable,) = listener.replacements[0].unreadable
        assert unreadable.name == "tls"
        server.put({**secret, "data": {"tls.key": "aHVudGVyMg=="}})
        await until(lambda: bool(listener.upserts))
    assert "hunter2" not in repr(listener.events)
    assert "aHVudGVyMg==" not in repr(listener.events)


async def test_k20_an_api_server_that_is_down_at_the_start_is_waited_for(server: ApiServer, api: Api) -> None:
    server.put(service("web"))
    await server.stop()
    async with following(api) as listener:
        await until(lambda: listener.condition is Condition.UNREACHABLE)
        assert not listener.replacements
        await server.start()
        await until(lambda: listener.is_synced)
    assert listener.names == {"web"}


async def test_k22_twenty_reflectors_that_lose_the_api_server_come_back_one_by_one(server: ApiServer, api: Api) -> None:
    times = msgspec.structs.replace(QUICK, backoff_first_seconds=0.4, backoff_max_seconds=0.4, scout_seconds=0.4)
    async with AsyncExitStack() as stack:
        listeners: list[Listener] = []
        for seed in range(20):
            listeners.append(await stack.enter_async_context(following(api, times=times, seed=seed)))
        await until(lambda: all(listener.is_synced for listener in listeners))
        server.calls.clear()
        await server.stop()
        await until(lambda: all(listener.condition is Condition.UNREACHABLE for listener in listeners))
        server.put(service("web"))
        await server.start()
        await until(lambda: all("web" in listener.names for listener in listeners))
    moments = sorted(call.at for call in server.calls)
    assert len(moments) == 20
    # Without jitter they would come within a few milliseconds.
    assert moments[-1] - moments[0] > 0.1
    assert not lists(server)


async def test_an_error_in_what_listens_is_survived_with_a_list(server: ApiServer, api: Api) -> None:
    server.put(service("web"))
    async with following(api) as listener:
        await until(lambda: listener.is_synced)
        say = listener.objects
        listener.objects = None  # type: ignore[assignment]
        server.put(service("new"))
        await until(lambda: any(isinstance(event, ScopeUpserted) for event in listener.events))
        listener.objects = say
        await until(lambda: "new" in listener.names and listener.is_synced)
    assert "an internal error (TypeError)" in listener.problems


async def test_an_error_in_what_hears_the_state_is_survived(server: ApiServer, api: Api) -> None:
    listener = Listener()

    def hear(event: ScopeEvent) -> None:
        listener(event)
        if isinstance(event, ScopeState) and event.condition is Condition.UNREACHABLE:
            raise RuntimeError("not heard")

    reflector = Reflector(api, SERVICES, emit=hear, times=QUICK)
    task = asyncio.ensure_future(reflector.run())
    await until(lambda: listener.is_synced)
    await server.stop()
    await until(lambda: listener.condition is Condition.UNREACHABLE)
    await server.start()
    await until(lambda: listener.is_synced)
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task
