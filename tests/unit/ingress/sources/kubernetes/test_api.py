"""One exchange: any answer is an answer, anything else is one clean line, and credentials follow their files."""

from __future__ import annotations

import asyncio
import gzip
import json
import socket
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest

from ingress.sources.kubernetes.api import ApiError, ApiResponse
from ingress.sources.kubernetes.api import ApiServer as Api
from ingress.sources.kubernetes.credentials import CannotConnect
from tests.fakes.apiserver import ApiServer, Fault
from tests.fakes.sockets import until
from tests.unit.ingress.sources.kubernetes.logins import plugin

pytestmark = pytest.mark.large

SERVICES = "/api/v1/services"
WATCH = {"watch": "1", "resourceVersion": "1"}
SERVICE = {
    "apiVersion": "v1",
    "kind": "Service",
    "metadata": {"name": "web", "namespace": "shop"},
    "spec": {"ports": [{"port": 80}]},
}


@pytest.fixture
async def server() -> AsyncIterator[ApiServer]:
    async with ApiServer() as server:
        yield server


@pytest.fixture
async def api(server: ApiServer, tmp_path: Path) -> AsyncIterator[Api]:
    api = await Api.connect(kubeconfig=server.write_kubeconfig(tmp_path / "kubeconfig", "very-secret"))
    yield api
    await api.close()


@asynccontextmanager
async def answering(answer: bytes, place: Path) -> AsyncIterator[Api]:
    """A client of something that answers every connection with these bytes and closes it."""

    async def answer_and_close(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)
        writer.close()

    listener = await asyncio.start_server(answer_and_close, "127.0.0.1", 0)
    port = listener.sockets[0].getsockname()[1]
    api = await Api.connect(kubeconfig=written(place, f"http://127.0.0.1:{port}"))
    try:
        yield api
    finally:
        await api.close()
        listener.close()


def written(place: Path, server: str) -> Path:
    place.write_text(json.dumps(kubeconfig(server)))
    return place


def kubeconfig(server: str) -> dict[str, object]:
    return {
        "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {"server": server}}],
        "users": [{"name": "u", "user": {"token": "very-secret"}}],
    }


async def body_of(api: Api, path: str = SERVICES) -> bytes:
    async with api.request("GET", path) as response:
        return await response.read()


async def test_a_request_says_what_is_asked_and_who_asks(server: ApiServer, api: Api) -> None:
    query = {"continue": "a+b/c=d e&f%20", "limit": "5"}
    async with api.request("GET", SERVICES, query=query, accept="application/json;as=Table,*/*"):
        pass
    (call,) = server.calls
    assert (call.query, call.accept) == (query, "application/json;as=Table,*/*")
    assert call.user == "very-secret"
    assert call.user_agent.startswith("zonal-ingress/")


async def test_a_body_goes_as_it_is_with_its_type(server: ApiServer, api: Api) -> None:
    server.put(SERVICE)
    patch = json.dumps({"metadata": {"annotations": {"note": "ü"}}}).encode()
    path = "/api/v1/namespaces/shop/services/web"
    async with api.request("PATCH", path, body=patch, content_type="application/merge-patch+json") as response:
        assert response.status == 200
    stored = server.get("Service", "shop", "web")
    assert stored is not None
    assert stored["metadata"]["annotations"] == {"note": "ü"}


@pytest.mark.parametrize("status", [401, 403, 404, 409, 410, 422, 429, 500, 503])
async def test_any_status_is_an_answer_and_nothing_is_retried(server: ApiServer, api: Api, status: int) -> None:
    server.faults.add(Fault(status=status))
    async with api.request("GET", SERVICES) as response:
        assert response.status == status
        assert json.loads(await response.read())["code"] == status
    assert len(server.calls) == 1


@pytest.mark.parametrize(
    ("status", "field", "seconds"),
    [
        (429, "7", 7.0),
        (503, "0", 0.0),
        (429, "", None),
        (429, "soon", None),
        (429, "-1", None),
        (429, "inf", None),
        (429, "Wed, 21 Oct 2015 07:28:00 GMT", None),
        (500, "7", None),
    ],
)
async def test_retry_after_counts_as_seconds_where_the_api_server_means_it(
    server: ApiServer, api: Api, status: int, field: str, seconds: float | None
) -> None:
    server.faults.add(Fault(status=status, retry_after=field))
    async with api.request("GET", SERVICES) as response:
        assert response.retry_after_seconds == seconds


async def test_a_stream_comes_in_pieces_as_they_are_sent(server: ApiServer, api: Api) -> None:
    async with api.request("GET", SERVICES, query={"watch": "1"}, total_timeout_seconds=None) as response:
        pieces = response.chunks()
        server.put(SERVICE)
        assert b'"ADDED"' in await anext(pieces)
        server.delete("Service", "shop", "web")
        assert b'"DELETED"' in await anext(pieces)
        await pieces.aclose()
    await until(lambda: server.open_watches == 0)


async def test_a_stream_that_ends_cleanly_ends(server: ApiServer, api: Api) -> None:
    server.faults.add(Fault(verb="watch", end=True))
    async with api.request("GET", SERVICES, query={"watch": "1"}) as response:
        assert [piece async for piece in response.chunks()] == []


async def test_a_stream_that_is_cut_is_an_error(server: ApiServer, api: Api) -> None:
    server.put(SERVICE)
    server.faults.add(Fault(verb="watch", cut=True))
    with pytest.raises(ApiError):
        async with api.request("GET", SERVICES, query={"watch": "1"}) as response:
            async for _ in response.chunks():
                pass


HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (b"", "the connection was closed before an answer"),
        (HEAD + b"Content-Length: 10\r\n\r\n12345", "the answer was cut"),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n5\r\n12345\r\n", "the answer was cut"),
        (b"SSH-2.0-OpenSSH_9\r\n\r\n", "the answer is not HTTP"),
    ],
)
async def test_an_answer_that_is_not_whole_is_an_error(tmp_path: Path, answer: bytes, problem: str) -> None:
    async with answering(answer, tmp_path / "kubeconfig") as api:
        with pytest.raises(ApiError) as raised:
            await body_of(api)
    assert raised.value.problem == problem


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_is_an_answer_and_not_followed(server: ApiServer, tmp_path: Path, status: int) -> None:
    head = f"HTTP/1.1 {status} See there\r\nLocation: {server.url}{SERVICES}\r\nContent-Length: 0\r\n\r\n"
    async with (
        answering(head.encode(), tmp_path / "kubeconfig") as api,
        api.request("PATCH", SERVICES, body=b"{}") as response,
    ):
        assert response.status == status
    assert server.calls == []


async def test_a_content_coding_is_not_undone(tmp_path: Path) -> None:
    packed = gzip.compress(bytes(1024**2))
    head = HEAD + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(packed)
    async with answering(head + packed, tmp_path / "kubeconfig") as api:
        assert await body_of(api) == packed


async def test_a_body_over_the_limit_is_an_error(tmp_path: Path) -> None:
    async with answering(HEAD + b"Content-Length: 10\r\n\r\n1234567890", tmp_path / "kubeconfig") as api:
        async with api.request("GET", "/") as response:
            assert await response.read(10) == b"1234567890"
        with pytest.raises(ApiError, match="larger than 9 bytes"):
            async with api.request("GET", "/") as response:
                await response.read(9)


async def test_a_refused_connection_is_an_error(server: ApiServer, api: Api) -> None:
    await server.stop()
    with pytest.raises(ApiError, match=r"^connection refused$"):
        await body_of(api)


async def test_a_name_that_does_not_resolve_is_an_error(tmp_path: Path) -> None:
    api = await Api.connect(kubeconfig=written(tmp_path / "kubeconfig", "http://api.invalid:1"))
    with pytest.raises(ApiError) as raised:
        await body_of(api)
    await api.close()
    assert raised.value.problem
    assert "\n" not in raised.value.problem


@pytest.mark.parametrize("timeouts", [{"read_timeout_seconds": 0.05}, {"total_timeout_seconds": 0.05}])
async def test_silence_is_an_error(server: ApiServer, api: Api, timeouts: dict[str, float]) -> None:
    server.faults.add(Fault(verb="list", stall=True))
    with pytest.raises(ApiError, match="no answer in time"):
        async with api.request("GET", SERVICES, **timeouts):  # type: ignore[arg-type]
            pass


async def test_a_stream_that_falls_silent_is_an_error(server: ApiServer, api: Api) -> None:
    async with api.request("GET", SERVICES, query={"watch": "1"}, read_timeout_seconds=0.05) as response:
        with pytest.raises(ApiError, match="no answer in time"):
            await anext(response.chunks())


async def test_a_request_that_cannot_be_sent_is_an_error_without_its_token(tmp_path: Path) -> None:
    place = tmp_path / "kubeconfig"
    document = kubeconfig("http://127.0.0.1:1")
    document["users"] = [{"name": "u", "user": {"token": "very\nsecret"}}]
    place.write_text(json.dumps(document))
    api = await Api.connect(kubeconfig=place)
    with pytest.raises(ApiError) as raised:
        await body_of(api)
    await api.close()
    assert "secret" not in str(raised.value)


async def test_more_streams_than_any_pool_has_connections_are_open_at_once(server: ApiServer, api: Api) -> None:
    async with AsyncExitStack() as stack:
        for _ in range(120):
            await stack.enter_async_context(api.request("GET", SERVICES, query={"watch": "1"}))
        assert server.open_watches == 120


async def test_a_stream_notices_a_peer_that_is_gone(server: ApiServer, api: Api) -> None:
    async with api.request("GET", SERVICES, query={"watch": "1"}) as response:
        assert keeps_alive(response)


def keeps_alive(response: ApiResponse) -> bool:
    connection = response._response.connection
    assert connection is not None
    assert connection.transport is not None
    peer = connection.transport.get_extra_info("socket")
    return bool(peer.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE))


async def test_a_token_that_changed_is_used_when_its_time_has_come(server: ApiServer, tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("first\n")
    place = server.write_kubeconfig(tmp_path / "kubeconfig", token_file=token)
    api = await Api.connect(kubeconfig=place, recheck_seconds=0)
    await body_of(api)
    token.write_text("second\n")
    await body_of(api)
    token.unlink()  # between two tokens: the last one stays
    await body_of(api)
    await api.close()
    assert [call.user for call in server.calls] == ["first", "second", "second"]


async def test_a_token_that_changed_is_used_at_once_after_a_refresh(server: ApiServer, tmp_path: Path) -> None:
    place = tmp_path / "kubeconfig"
    api = await Api.connect(kubeconfig=server.write_kubeconfig(place, "first"))
    server.write_kubeconfig(place, "second")
    await body_of(api)
    await asyncio.gather(*(api.refresh_credentials() for _ in range(5)))
    await body_of(api)
    place.write_text("{")
    await api.refresh_credentials()
    await body_of(api)
    await api.close()
    assert [call.user for call in server.calls] == ["first", "second", "second"]


async def test_refreshes_that_wait_for_another_share_the_next(server: ApiServer, tmp_path: Path) -> None:
    document = kubeconfig(server.url) | {"users": [{"name": "u", "user": {"exec": plugin(tmp_path)}}]}
    place = tmp_path / "kubeconfig"
    place.write_text(json.dumps(document))
    api = await Api.connect(kubeconfig=place)
    await asyncio.gather(*(api.refresh_credentials() for _ in range(8)))
    await body_of(api)
    await api.close()
    # One at connect, one that was under way and may have begun too early for the others, one for all of these.
    assert [call.user for call in server.calls] == ["run-3"]


async def test_a_new_authority_is_for_new_connections_and_open_streams_live_on(tmp_path: Path) -> None:
    authority = tmp_path / "ca.crt"
    async with ApiServer(tls=True) as server:
        authority.write_bytes(server.authority_pem)
        place = server.write_kubeconfig(tmp_path / "kubeconfig", authority_file=authority)
        api = await Api.connect(kubeconfig=place, recheck_seconds=0)
        async with api.request("GET", SERVICES, query={"watch": "1"}) as response:
            server.renew_authority()
            authority.write_bytes(server.authority_pem)
            assert b'"items"' in await body_of(api)
            authority.write_text("half of a certi")  # what is malformed is not used
            assert b'"items"' in await body_of(api)
            server.put(SERVICE)
            assert b'"ADDED"' in await anext(response.chunks())
        await api.close()


async def test_an_unknown_authority_is_an_error_that_says_so(tmp_path: Path) -> None:
    async with ApiServer(tls=True) as server:
        api = await Api.connect(kubeconfig=server.write_kubeconfig(tmp_path / "kubeconfig"))
        server.renew_authority()
        with pytest.raises(ApiError, match=r"^the API server is not trusted.*: .*certificate"):
            await body_of(api)
        await api.close()


async def test_an_authority_that_is_none_cannot_connect(tmp_path: Path) -> None:
    authority, place = tmp_path / "ca.crt", tmp_path / "kubeconfig"
    authority.write_text("none")
    document = kubeconfig("https://127.0.0.1:1")
    document["clusters"] = [
        {"name": "c", "cluster": {"server": "https://127.0.0.1:1", "certificate-authority": str(authority)}}
    ]
    place.write_text(json.dumps(document))
    with pytest.raises(CannotConnect, match=r"certificates of https://127\.0\.0\.1:1"):
        await Api.connect(kubeconfig=place)
