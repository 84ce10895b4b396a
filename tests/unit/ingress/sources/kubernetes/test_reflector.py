"""A reflector lives on what a real API server said, byte by byte as it was recorded."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.test_utils import RawTestServer

from ingress.objects.kinds import Kind
from ingress.sources.kubernetes.api import ApiServer as Api
from ingress.sources.kubernetes.decoding import Keeps
from ingress.sources.kubernetes.lines import LINE_BYTES_MAX
from ingress.sources.kubernetes.reflecting import ReflectorTimes
from ingress.sources.kubernetes.reflector import Reflector
from ingress.sources.kubernetes.resources import Scope
from ingress.sources.kubernetes.scope_events import (
    Condition,
    ScopeEvent,
    ScopeRemoved,
    ScopeReplaced,
    ScopeState,
    ScopeUpserted,
)
from tests.fakes.sockets import until
from tests.unit.ingress.sources.kubernetes.recordings import answer

pytestmark = pytest.mark.large

SERVICES = Scope(Kind.SERVICE, "shop")
QUICK = ReflectorTimes().scaled(0.01)

STREAMED = answer("watch services, streaming list")
LISTED = answer("list services")
FOLLOWED = answer("watch services from a version, server timeout 4 s")
COMPACTED = answer("watch from a compacted version")
NOT_STREAMING = answer("watch services, streaming list, storage without the feature")
NOT_VALID = answer("streaming list refused without its match")
TOO_OLD = answer("list at an exact version that is compacted")
TOKEN_EXPIRED = answer("paged list, continue token expired by compaction")
UNAUTHORISED = answer("unauthorised")
NO_SUCH_KIND = answer("kind that does not exist")
HTML = 502, b"<html><h1>502 Bad Gateway</h1></html>"


class Played:
    """What was said and what was asked for."""

    def __init__(self) -> None:
        self.events: list[ScopeEvent] = []
        self.queries: list[Mapping[str, str]] = []

    @property
    def kinds(self) -> list[type[ScopeEvent]]:
        return [type(event) for event in self.events]

    @property
    def conditions(self) -> list[Condition]:
        return [event.condition for event in self.events if isinstance(event, ScopeState)]


@asynccontextmanager
async def playing(
    place: Path, *answers: tuple[int, bytes], scope: Scope = SERVICES, keeps: Keeps | None = None
) -> AsyncIterator[Played]:
    """A reflector that gets these answers one after the other, and none to what it asks after the last."""
    played, left = Played(), list(answers)

    async def answer_next(request: web.BaseRequest) -> web.StreamResponse:
        played.queries.append(dict(request.query))
        if not left:
            await asyncio.Event().wait()
        status, body = left.pop(0)
        return web.Response(status=status, body=body, content_type="application/json")

    async with RawTestServer(answer_next, handler_cancellation=True) as server:
        api = await Api.connect(kubeconfig=kubeconfig(place / "kubeconfig", str(server.make_url("/"))))
        emit = played.events.append
        reflector = Reflector(api, scope, emit=emit, keeps=keeps, times=QUICK, random=lambda: 0.5)
        task = asyncio.ensure_future(reflector.run())
        try:
            await until(lambda: len(played.queries) == len(answers) + 1)
            yield played
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
            await api.close()


def kubeconfig(place: Path, server: str) -> Path:
    cluster, context = {"server": server.rstrip("/")}, {"cluster": "c", "user": "u"}
    document = {
        "current-context": "c",
        "contexts": [{"name": "c", "context": context}],
        "clusters": [{"name": "c", "cluster": cluster}],
        "users": [{"name": "u", "user": {}}],
    }
    place.write_text(json.dumps(document))
    return place


def is_streaming_list(query: Mapping[str, str]) -> bool:
    return "sendInitialEvents" in query


def is_watch(query: Mapping[str, str]) -> bool:
    return "watch" in query and not is_streaming_list(query)


def is_list(query: Mapping[str, str]) -> bool:
    return "watch" not in query


async def test_a_streaming_list_is_followed_from_the_version_of_its_end(tmp_path: Path) -> None:
    async with playing(tmp_path, STREAMED) as played:
        replaced, state = played.events
        assert isinstance(replaced, ScopeReplaced)
        assert [item.metadata.name for item in replaced.objects] == ["web", "web-auto", "web-close", "web-node"]
        assert state == ScopeState(SERVICES, Condition.SYNCED)
        assert played.queries[1]["resourceVersion"] == "288"


@pytest.mark.parametrize("refusal", [NOT_STREAMING, NOT_VALID])
async def test_either_refusal_of_a_streaming_list_leads_to_pages(tmp_path: Path, refusal: tuple[int, bytes]) -> None:
    async with playing(tmp_path, refusal, LISTED) as played:
        assert played.kinds == [ScopeReplaced, ScopeState]
        assert [
            check(query) for check, query in zip((is_streaming_list, is_list, is_watch), played.queries, strict=True)
        ]
        assert played.queries[2]["resourceVersion"] == "280"


async def test_a_watch_is_said_without_its_bookmark_which_the_next_watch_begins_at(tmp_path: Path) -> None:
    async with playing(tmp_path, NOT_VALID, LISTED, FOLLOWED) as played:
        assert played.kinds == [ScopeReplaced, ScopeState, ScopeUpserted, ScopeUpserted, ScopeRemoved]
        assert played.queries[3]["resourceVersion"] == "284"
        assert is_watch(played.queries[3])


async def test_history_that_is_replayed_is_no_news(tmp_path: Path) -> None:
    replayed = answer("watch from version 1 while history is still there")
    async with playing(tmp_path, NOT_VALID, LISTED, FOLLOWED, replayed) as played:
        assert len(played.events) == 5
        assert played.conditions == [Condition.SYNCED]


@pytest.mark.parametrize("gone", [COMPACTED, TOO_OLD, TOKEN_EXPIRED])
async def test_each_form_of_410_leads_to_a_list_that_replaces(tmp_path: Path, gone: tuple[int, bytes]) -> None:
    async with playing(tmp_path, NOT_VALID, LISTED, gone, LISTED) as played:
        assert played.kinds == [ScopeReplaced, ScopeState, ScopeReplaced]
        assert "resourceVersion" not in played.queries[3]
        assert is_watch(played.queries[4])


@pytest.mark.parametrize(
    "answers",
    [
        (TOKEN_EXPIRED, LISTED),
        (UNAUTHORISED, LISTED),
        (HTML, HTML, LISTED),
        (NO_SUCH_KIND, LISTED),
        ((200, b"<html>Log in</html>"), LISTED),
    ],
)
async def test_a_list_that_fails_is_asked_for_again(tmp_path: Path, answers: tuple[tuple[int, bytes], ...]) -> None:
    async with playing(tmp_path, NOT_VALID, *answers) as played:
        assert all(map(is_list, played.queries[1:-1]))
        assert is_watch(played.queries[-1])
        assert played.conditions[-1] is Condition.SYNCED


async def test_only_401s_that_stay_are_said(tmp_path: Path) -> None:
    async with playing(tmp_path, STREAMED, UNAUTHORISED, FOLLOWED, UNAUTHORISED, UNAUTHORISED) as played:
        assert played.conditions == [Condition.SYNCED, Condition.REJECTED]


async def test_a_version_of_the_future_is_waited_for(tmp_path: Path) -> None:
    future = answer("watch from a version in the future")
    async with playing(tmp_path, STREAMED, future) as played:
        assert [event for event in played.events if isinstance(event, ScopeUpserted)] == []
        assert is_watch(played.queries[2])


@pytest.mark.parametrize("answers", [(STREAMED,), (NOT_VALID, LISTED)], ids=["streamed", "in pages"])
async def test_what_is_not_wanted_is_said_by_name_only(tmp_path: Path, answers: tuple[tuple[int, bytes], ...]) -> None:
    async with playing(tmp_path, *answers, keeps=lambda identity: identity.name == "web") as played:
        replaced = played.events[0]
        assert isinstance(replaced, ScopeReplaced)
        assert [item.metadata.name for item in replaced.objects] == ["web"]
        assert replaced.passed_by == (("shop", "web-auto"), ("shop", "web-close"), ("shop", "web-node"))


async def test_what_is_not_wanted_is_no_news_when_it_changes(tmp_path: Path) -> None:
    async with playing(tmp_path, NOT_VALID, LISTED, FOLLOWED, keeps=lambda _: False) as played:
        assert played.kinds == [ScopeReplaced, ScopeState, ScopeRemoved]
        assert played.queries[3]["resourceVersion"] == "284"


async def test_where_few_are_wanted_pages_are_small_and_smaller_if_they_are_too_large(tmp_path: Path) -> None:
    too_large = 200, b" " * (LINE_BYTES_MAX + 1)
    async with playing(tmp_path, NOT_VALID, too_large, LISTED, COMPACTED, LISTED, keeps=lambda _: True) as played:
        assert [query.get("limit") for query in played.queries] == [None, "50", "25", None, "25", None]
        assert "resourceVersion" not in played.queries[1]
        assert played.conditions == [Condition.SYNCED]


async def test_a_list_of_one_object_is_the_newest(tmp_path: Path) -> None:
    async with playing(tmp_path, NOT_VALID, LISTED, scope=Scope(Kind.SERVICE, "shop", "web")) as played:
        assert played.queries[1] == {"limit": "500", "fieldSelector": "metadata.name=web"}
    async with playing(tmp_path, NOT_VALID, LISTED) as played:
        assert played.queries[1] == {"limit": "500", "resourceVersion": "0"}
