"""What tests of whole dumps share: a dump that is served, requests to it, and lines of the log of ingress-nginx."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import yaml

from ingress.settings.context import TranslationContext
from tests.fakes.backends import echoing
from tests.integration.in_process import DataPlane, data_plane
from tests.integration.manifests import Document, endpoint_slice
from tests.integration.wire import Connection, request_bytes

PEOPLE = Path(__file__).parents[1] / "cases" / "people"


class Probe(NamedTuple):
    """A request, and what sockets show: the Service that answers or a status, and fields or the `target`."""

    ingress: str
    host: str
    answer: str
    target: str = "/"
    shows: Mapping[str, str] = MappingProxyType({})
    method: str = "GET"
    sends: tuple[str, ...] = ("User-Agent: Mozilla/5.0",)


def documents(dump: Path) -> list[Document]:
    return [*yaml.safe_load_all(dump.read_text())]


@asynccontextmanager
async def serving_dump(
    dump: Path, context: TranslationContext, services: Iterable[str], *others: Document
) -> AsyncIterator[DataPlane]:
    """Serves a dump with one endpoint for each of `services`, and `others`, which the dump leaves out."""
    async with data_plane() as plane, AsyncExitStack() as stack:
        slices: list[Document] = []
        for name in services:
            endpoints = await stack.enter_async_context(echoing(name, {"zone-a": 1}))
            slices += map(endpoint_slice, endpoints)
        listed = [each for document in documents(dump) for each in document.get("items", [document])]
        plane.serve([*listed, *others, *slices], context)
        yield plane


async def seen(plane: DataPlane, probe: Probe) -> tuple[str, dict[str, str]]:
    """Who answers, and what is shown of what the probe expects."""
    head = request_bytes(probe.method, probe.target, f"Host: {probe.host}", *probe.sends)
    async with await Connection.open(plane.http_port) as connection:
        response = await connection.send(head, method=probe.method)
    shown, answer = dict(response.fields), str(response.status)
    if response.status == 200:
        got = response.json()
        answer = got["service"]
        shown |= {"target": got["target"]} | {f"sent-{name.lower()}": value for name, value in got["headers"]}
    return answer, {name: shown.get(name, "") for name in probe.shows}


def log_line(probe: Probe, answer: str) -> str:
    """The line that ingress-nginx would write, had it answered so."""
    agent = next((each.partition(": ")[2] for each in probe.sends if each.startswith("User-Agent")), "-")
    status, upstream, address = (answer, "-", "-") if answer.isdigit() else ("200", f"shop-{answer}-80", "10.0.0.1:80")
    return (
        f'203.0.113.7 - - [26/Nov/2026:10:00:00 +0000] "{probe.method} {probe.target} HTTP/1.1" {status} 512 "-"'
        f' "{agent}" 100 0.001 [{upstream}] [] {address} 512 0.001 {status} 0123 {probe.host}'
    )
