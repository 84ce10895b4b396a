"""Gates over HTTP/2: each of many requests on one connection has a verdict of its own, and edits of its own."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from ingress.settings.context import TranslationContext
from tests.fakes.backends import echoing
from tests.fakes.clients import Response
from tests.fakes.endpoints import ScriptedEndpoint, Visit
from tests.features.faults.http2_clients import Http2Client
from tests.features.faults.load import Ledger, body_of, honest, request_of
from tests.features.faults.stage import staged
from tests.features.faults.versions import Version, each_version
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
from tests.integration.test_sign_in import OF_BAR, basic, users

HOST = "shop.test"
_STREAMS = 100


@asynccontextmanager
async def _serving(*documents: Document, settings: dict[str, str], **said: str) -> AsyncIterator[DataPlane]:
    """A path `/` with these annotations before an endpoint that says what it got."""
    annotations = {f"nginx.ingress.kubernetes.io/{key.replace('_', '-')}": text for key, text in said.items()}
    config = config_map(ssl_redirect="false", http2_cleartext="true", **settings)
    async with data_plane() as plane, echoing("web", {"zone-a": 1}) as (web,):
        guarded = ingress("guarded", rule(HOST, path("/", "web")), annotations=annotations)
        cluster = [ingress_class(), config, service("web"), endpoint_slice(web), guarded, *documents]
        plane.serve(cluster, TranslationContext(allow_local_endpoints=True))
        yield plane


async def _ask(client: Http2Client, target: str, *lines: str) -> Response:
    head = [f"GET {target} HTTP/1.1", f"host: {HOST}", *lines, "", ""]
    return await client.ask("\r\n".join(head).encode())


def _got(response: Response, name: str) -> list[str]:
    """What the endpoint got under this name."""
    return [value for each, value in json.loads(response.body)["headers"] if each.lower() == name]


@pytest.mark.parametrize(("address", "status"), [("192.0.2.7", 200), ("203.0.113.9", 403)])
async def test_source_ranges_judge_the_address_of_the_proxy_header_on_every_stream(address: str, status: int) -> None:
    header = f"PROXY TCP4 {address} 198.51.100.1 56324 80\r\n".encode()
    settings = {"use_proxy_protocol": "true"}
    async with (
        _serving(settings=settings, whitelist_source_range="192.0.2.0/24") as plane,
        Http2Client.to(plane.http_port, says_first=header) as client,
    ):
        forged = ("x-forwarded-for: 192.0.2.7", "x-real-ip: 192.0.2.7", "forwarded: for=192.0.2.7")
        answers = await asyncio.gather(*(_ask(client, f"/{number}", *forged) for number in range(_STREAMS)))
    assert {answer.status for answer in answers} == {status}
    if status == 200:
        assert {value for answer in answers for value in _got(answer, "x-real-ip")} == {address}


async def test_a_preface_without_a_proxy_header_is_not_served() -> None:
    async with (
        _serving(settings={"use_proxy_protocol": "true"}) as plane,
        Http2Client.to(plane.http_port) as client,
    ):
        with pytest.raises(ConnectionResetError):
            await _ask(client, "/")


async def test_one_of_address_and_password_is_enough_for_each_stream_alone() -> None:
    secret = users("pw", f"foo:{OF_BAR}")
    said = {"auth_type": "basic", "auth_secret": "pw", "satisfy": "any", "whitelist_source_range": "192.0.2.0/24"}
    wanted = [(200, (basic("foo", "bar"),)), (401, (basic("foo", "wrong"),)), (401, ())]
    async with _serving(secret, settings={}, **said) as plane, Http2Client.to(plane.http_port) as client:
        asked = [wanted[number % 3] for number in range(60)]
        answers = await asyncio.gather(*(_ask(client, "/", *lines) for _, lines in asked))
    assert [answer.status for answer in answers] == [status for status, _ in asked]
    assert not any(_got(answer, "authorization") for answer in answers if answer.status == 200)


async def test_an_auth_service_judges_a_hundred_streams_one_by_one() -> None:
    """Verdicts come in another order than requests, and none of their fields reaches another stream."""
    waiting: list[tuple[int, asyncio.Event]] = []

    async def judge(visit: Visit) -> None:
        while True:
            head = (await visit.head()).decode()
            url = next(line for line in head.split("\r\n") if line.lower().startswith("x-original-url:"))
            number, turn = int(url.rpartition("/")[2]), asyncio.Event()
            waiting.append((number, turn))
            if len(waiting) == _STREAMS:
                for _, each in sorted(waiting, reverse=True):
                    each.set()
            await turn.wait()
            status = b"200 OK" if number % 2 else b"403 Forbidden"
            fields = b"X-User: %d\r\nSet-Cookie: who=%d\r\nContent-Length: 0" % (number, number)
            await visit.send(b"HTTP/1.1 %b\r\n%b\r\n\r\n" % (status, fields))

    async with ScriptedEndpoint(judge) as auth:
        said = {"auth_url": f"http://{auth.address}:{auth.port}/check", "auth_response_headers": "X-User"}
        async with _serving(settings={}, **said) as plane, Http2Client.to(plane.http_port) as client:
            forged = "x-user: 0"
            answers = await asyncio.gather(*(_ask(client, f"/{number}", forged) for number in range(_STREAMS)))
    assert sorted(number for number, _ in waiting) == list(range(_STREAMS))
    assert [answer.status for answer in answers] == [403, 200] * (_STREAMS // 2)
    for number, answer in enumerate(answers):
        if answer.status == 200:
            assert _got(answer, "x-user") == [str(number)]
            assert answer.fields[b"set-cookie"] == b"who=%d" % number


@each_version
@pytest.mark.parametrize("words", ["error", "error non_idempotent"])
async def test_a_request_whose_body_was_sent_in_part_is_not_processed_twice(
    tmp_path: Path, version: Version, words: str
) -> None:
    """Bodies of which more than 64 KiB have left: what is not kept is never sent again, nor is half a body."""
    ledger, begun, count, size = Ledger(), set[str](), 20, 300_000

    async def breaks_off(visit: Visit) -> None:
        begun.add((await visit.head()).decode().split(" ")[1].rpartition("/")[2])
        await visit.exactly(100_000)
        visit.reset()

    async with (
        version.endpoint(breaks_off) as broken,
        version.endpoint(honest(ledger)) as well,
        staged(
            tmp_path,
            {"app": [broken, well]},
            ledger=ledger,
            protocol=version.protocol,
            http2_cleartext="true",
            proxy_next_upstream=words,
        ) as stage,
        Http2Client.to(stage.port) as client,
    ):
        requests = [request_of(f"{number}", 0, post=body_of(f"{number}", size)) for number in range(count)]
        answers = await asyncio.gather(*map(client.ask, requests))
    statuses = {str(number): answer.status for number, answer in enumerate(answers)}
    assert begun
    assert {identity for identity, status in statuses.items() if status != 200} == begun
    assert not begun & set(ledger.posts)
