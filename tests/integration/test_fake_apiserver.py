"""The test API server answers the recorded requests in the shape in which a real API server answered them.

All exchanges are played in their order against one server that holds the recorded cluster; then each is compared:
status, fields, keys and types at every depth, types of events in order, refusals word for word. What differs is said in
`DIFFERENT`. Versions, uids and tokens of the recording are translated to those of this server as they are met.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from yarl import URL

from tests.fakes.apiserver import ApiServer

Exchange = dict[str, Any]

WIRE = Path(__file__).parents[1] / "cases" / "wire.json"
EXCHANGES: list[Exchange] = json.loads(WIRE.read_text(encoding="utf-8"))["exchanges"]
BY_NAME = {exchange["name"]: exchange for exchange in EXCHANGES}

DIFFERENT: dict[str, str] = {
    "watch slices while zone-a becomes unready": "no controller runs here: the test itself writes the recorded slices",
    "list slices before": "the Auto Service's controller removed an annotation: the test writes the recorded slices",
}
"""Exchanges that need help to look alike, and why. They are compared like the others."""

SECOND = 0.05
SLICES = "/apis/discovery.k8s.io/v1/namespaces/shop/endpointslices"
METADATA = "application/json;as=PartialObjectMetadata{};g=meta.k8s.io;v=v1"
ACCEPT = {
    "nodes as metadata only": METADATA.format("List"),
    "one node as metadata only": METADATA.format(""),
    "watch nodes as metadata only": METADATA.format("List"),
}


@dataclass
class Answer:
    """What the test API server answered: a body, or the events of a watch."""

    status: int
    headers: Mapping[str, str]
    body: Any
    events: list[Any]


@dataclass
class Player:
    """Plays exchanges in order. `versions` are recorded versions and what they are here."""

    server: ApiServer
    session: aiohttp.ClientSession
    answers: dict[str, Answer] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    tokens: dict[str, str] = field(default_factory=dict)

    def put_cluster(self) -> None:
        """The recorded cluster, its Services in the order in which they were created."""
        services = BY_NAME["watch from version 1 while history is still there"]["response"]["events"]
        nodes = BY_NAME["watch nodes as metadata only"]["response"]["events"]
        for event in (*nodes, *services[:4]):
            self.server.put(event["event"]["object"])
        self.put_items("list endpointslices", "EndpointSlice", "discovery.k8s.io/v1")
        self.put_items("list with resourceVersion=0", "Ingress", "networking.k8s.io/v1")
        for name in ("pod with topology labels", "pod unready web-a2"):
            self.server.put(BY_NAME[name]["response"]["body"])

    def put_items(self, name: str, kind: str, version: str) -> None:
        for item in BY_NAME[name]["response"]["body"]["items"]:
            self.server.put({"kind": kind, "apiVersion": version} | item)

    async def play(self, exchange: Exchange) -> None:
        before = BEFORE.get(exchange["name"])
        if before is not None:
            await before(self)
        self.answers[exchange["name"]] = await self.ask(exchange)
        self.remember(exchange)

    async def ask(self, exchange: Exchange) -> Answer:
        request = exchange["request"]
        body = self.translated(request["body"]) if "body" in request else None
        headers = {"Accept": ACCEPT.get(exchange["name"], "application/json")}
        if body is not None:
            headers["Content-Type"] = request["contentType"]
        path = re.sub(r"(?<=resourceVersion=)\d+", lambda found: self.version(found[0]), request["path"])
        path = re.sub(r"(?<=continue=)[^&]+", lambda found: self.tokens.get(found[0], found[0]), path)
        url = URL(self.server.url + path, encoded=True)
        data = None if body is None else json.dumps(body)
        async with self.session.request(request["method"], url, data=data, headers=headers) as response:
            text = await response.text()
            return _answer(response.status, response.headers, text, is_watch="events" in exchange["response"])

    def translated(self, body: Any) -> Any:
        """The body with the version that is meant and the uid of the object as it is here."""
        metadata = body.get("metadata", {}) if isinstance(body, dict) else {}
        if "resourceVersion" not in metadata:
            return body
        stored = self.server.get(body["kind"], metadata["namespace"], metadata["name"])
        assert stored is not None
        here = {"resourceVersion": self.version(metadata["resourceVersion"]), "uid": stored["metadata"]["uid"]}
        return body | {"metadata": metadata | here}

    def version(self, recorded: str) -> str:
        return self.versions.get(recorded, recorded)

    def remember(self, exchange: Exchange) -> None:
        """Which versions and tokens of the recording are which here."""
        recorded, here = exchange["response"].get("body"), self.answers[exchange["name"]].body
        if isinstance(recorded, dict) and isinstance(here, dict):
            self.remember_metadata(recorded.get("metadata", {}), here.get("metadata", {}))
            for one, other in zip(recorded.get("items", ()), here.get("items", ()), strict=False):
                self.remember_metadata(one["metadata"], other["metadata"])

    def remember_metadata(self, recorded: Mapping[str, str], here: Mapping[str, str]) -> None:
        if "resourceVersion" in recorded and "resourceVersion" in here:
            self.versions.setdefault(recorded["resourceVersion"], here["resourceVersion"])
        if "continue" in recorded and "continue" in here:
            self.tokens[recorded["continue"]] = here["continue"]

    async def refuse_everybody(self) -> None:
        self.server.tokens = {"another token"}

    async def admit_everybody(self) -> None:
        self.server.tokens = None

    async def write_slices(self) -> None:
        self.put_items("list slices before", "EndpointSlice", "discovery.k8s.io/v1")

    async def write_unready_slices(self) -> None:
        for event in BY_NAME["watch slices while zone-a becomes unready"]["response"]["events"]:
            self.server.put(event["event"]["object"])

    async def use_an_old_storage(self) -> None:
        self.server.streaming_lists = False

    async def compact(self) -> None:
        """History ends, but somebody is in the middle of a paged list."""
        async with self.session.get(f"{self.server.url}{SLICES}?limit=2") as response:
            page = await response.json()
        later = BY_NAME["paged list, continue token expired by compaction"]["request"]["path"]
        self.tokens[later.partition("continue=")[2]] = page["metadata"]["continue"]
        self.server.put({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "later", "namespace": "other"}})
        self.server.compact()


BEFORE: dict[str, Callable[[Player], Any]] = {
    "unauthorised": Player.refuse_everybody,
    "field selector on secrets": Player.admit_everybody,
    "list slices before": Player.write_slices,
    "watch slices while zone-a becomes unready": Player.write_unready_slices,
    "watch services, streaming list, storage without the feature": Player.use_an_old_storage,
    "watch from a compacted version": Player.compact,
}


def _answer(status: int, headers: Mapping[str, str], text: str, *, is_watch: bool) -> Answer:
    if is_watch:
        return Answer(status, headers, None, [json.loads(line) for line in text.splitlines()])
    is_json = headers["Content-Type"] == "application/json" and text
    return Answer(status, headers, json.loads(text) if is_json else text, [])


async def _play_all() -> dict[str, Answer]:
    async with ApiServer(second=SECOND) as server, aiohttp.ClientSession() as session:
        player = Player(server, session)
        player.put_cluster()
        for exchange in EXCHANGES:
            await player.play(exchange)
        return player.answers


@pytest.fixture(scope="module")
def answers() -> dict[str, Answer]:
    return asyncio.run(_play_all())


def shape(value: Any) -> Any:
    """Keys and types at every depth."""
    if isinstance(value, dict):
        return {name: shape(item) for name, item in sorted(value.items())}
    return [shape(item) for item in value] if isinstance(value, list) else type(value).__name__


def _wording(status: Any) -> Any:
    """A refusal without what is another each time."""
    text = re.sub(r"\(\d+\)", "(now)", json.dumps(status))
    return json.loads(re.sub(r'(?<="continue": ")[^"]*', "", text))


@pytest.mark.parametrize("name", BY_NAME)
def test_an_exchange_looks_as_recorded(name: str, answers: dict[str, Answer]) -> None:
    recorded, answer = BY_NAME[name]["response"], answers[name]
    assert answer.status == recorded["status"]
    for header in ("Content-Type", "Cache-Control"):
        assert answer.headers.get(header) == recorded["headers"].get(header, answer.headers.get(header))
    if "events" in recorded:
        events = [event["event"] for event in recorded["events"]]
        assert [event["type"] for event in answer.events] == [event["type"] for event in events]
        assert shape(answer.events) == shape(events)
        assert answer.headers["Transfer-Encoding"] == "chunked"
    else:
        assert shape(answer.body) == shape(recorded["body"])
        assert ("Content-Length" in answer.headers) is not ("Transfer-Encoding" in answer.headers)


@pytest.mark.parametrize("name", [name for name, exchange in BY_NAME.items() if exchange["response"]["status"] >= 400])
def test_a_refusal_says_what_was_recorded_word_for_word(name: str, answers: dict[str, Answer]) -> None:
    assert _wording(answers[name].body) == _wording(BY_NAME[name]["response"]["body"])


@pytest.mark.parametrize("name", [name for name, exchange in BY_NAME.items() if "events" in exchange["response"]])
def test_the_errors_of_a_watch_say_what_was_recorded(name: str, answers: dict[str, Answer]) -> None:
    recorded = [event["event"] for event in BY_NAME[name]["response"]["events"]]
    here = [_wording(event) for event in answers[name].events if event["type"] == "ERROR"]
    assert here == [_wording(event) for event in recorded if event["type"] == "ERROR"]


def test_every_exchange_was_played_and_the_exceptions_are_of_this_recording(answers: dict[str, Answer]) -> None:
    assert set(answers) == set(BY_NAME)
    assert len(EXCHANGES) == len(BY_NAME) == 48
    assert set(DIFFERENT) <= set(BY_NAME)
