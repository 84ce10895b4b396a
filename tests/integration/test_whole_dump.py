"""A whole dump of a cluster that runs ingress-nginx, with its controller, its ports and 18 Ingresses of all kinds.

What each command says of the dump is what the others say, and what sockets show.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import pytest
import yaml

from ingress.migration.checking import check_dump
from ingress.migration.rehearsal.command import RehearseOptions, run_rehearse
from ingress.migration.writing import MigrateOptions, run_migrate
from ingress.settings.context import TranslationContext
from tests.fakes.backends import echoing
from tests.integration.in_process import DataPlane, data_plane
from tests.integration.manifests import Document, endpoint_slice
from tests.integration.wire import Connection, request_bytes

DUMP = Path(__file__).parents[1] / "cases" / "people" / "whole-dump.yaml"
CONTEXT = TranslationContext(ingress_class="nginx", configmap="ingress-nginx/ingress-nginx-controller")
# As the arguments of the controller in the dump say.
SERVED = TranslationContext(
    ingress_class="nginx",
    controller_class="k8s.io/ingress-nginx",
    configmap="ingress-nginx/ingress-nginx-controller",
    enable_ssl_passthrough=True,
    allow_local_endpoints=True,
)
VERDICTS = {
    "admin": "works differently",
    "apex": "works",
    "api-rewrite": "works differently",
    "cm-acme-http-solver-abcde": "works",
    "grafana": "works",
    "grpc": "works",
    "legacy": "closed",
    "mirrored": "works differently",
    "moved": "closed",
    "server-location": "closed",
    "server-simple": "closed",
    "snippets": "works",
    "sticky": "works differently",
    "typo": "closed",
    "vault": "works differently",
    "waf": "closed",
    "web": "works",
    "web-canary": "works",
}


class Probe(NamedTuple):
    """A request, and what sockets show: the Service that answers or a status, and fields or the `target`."""

    ingress: str
    host: str
    answer: str
    target: str = "/"
    shows: Mapping[str, str] = MappingProxyType({})
    method: str = "GET"
    sends: tuple[str, ...] = ("User-Agent: Mozilla/5.0",)


PROBES = (
    Probe("web", "www", "web", sends=("X-Canary: never",)),  # whatever its weight says
    Probe("web-canary", "www", "web-canary", sends=("X-Canary: always",)),
    Probe("api-rewrite", "api", "api", "/api/users?x=1", {"target": "/v2/users?x=1"}),
    Probe("snippets", "snip", "web", shows={"x-frame-options": "DENY", "x-content-type-options": "nosniff"}),
    Probe("snippets", "snip", "403", sends=("User-Agent: curl/8",)),
    Probe("snippets", "snip", "301", "/old/a", {"location": "https://snip.shop.example.com/new/a"}),
    Probe("mirrored", "mirror", "web", shows={"host": "internal.shop.example.com"}),
    Probe("sticky", "sticky", "web"),
    Probe("apex", "apex", "302", shows={"location": "http://apex.shop.example.com/home"}),
    Probe("legacy", "ws", "503", "/ws"),
    Probe("moved", "moved", "503"),
    Probe("server-location", "loc", "503", "/metrics"),
    Probe("server-simple", "naked", "503"),
    Probe("typo", "typo", "503"),
    Probe("waf", "waf", "503"),
)


def documents() -> list[Document]:
    return [*yaml.safe_load_all(DUMP.read_text())]


@pytest.fixture(scope="module")
def verdicts() -> dict[str, str]:
    return {each.name: each.verdict.value for each in check_dump(DUMP, CONTEXT, now_epoch_seconds=0.0).ingresses}


@asynccontextmanager
async def served() -> AsyncIterator[DataPlane]:
    async with data_plane() as plane, AsyncExitStack() as stack:
        slices: list[Document] = []
        for name in ("web", "web-canary", "api", "errors"):
            endpoints = await stack.enter_async_context(echoing(name, {"zone-a": 1}))
            slices += map(endpoint_slice, endpoints)
        plane.serve([*documents(), *slices], SERVED)
        yield plane


async def seen(plane: DataPlane, probe: Probe) -> tuple[str, dict[str, str]]:
    """Who answers, and what is shown of what the probe expects."""
    head = request_bytes(probe.method, probe.target, f"Host: {probe.host}.shop.example.com", *probe.sends)
    async with await Connection.open(plane.http_port) as connection:
        response = await connection.send(head, method=probe.method)
    shown, answer = dict(response.fields), str(response.status)
    if response.status == 200:
        got = response.json()
        answer = got["service"]
        shown |= {"target": got["target"], "host": dict(got["headers"])["Host"]}
    return answer, {name: shown.get(name, "") for name in probe.shows}


def log_line(probe: Probe, answer: str) -> str:
    """The line that ingress-nginx would write, had it answered so."""
    agent = next((each.partition(": ")[2] for each in probe.sends if each.startswith("User-Agent")), "-")
    status, upstream, address = (answer, "-", "-") if answer.isdigit() else ("200", f"shop-{answer}-80", "10.0.0.1:80")
    return (
        f'203.0.113.7 - - [26/Nov/2026:10:00:00 +0000] "{probe.method} {probe.target} HTTP/1.1" {status} 512 "-"'
        f' "{agent}" 100 0.001 [{upstream}] [] {address} 512 0.001 {status} 0123 {probe.host}.shop.example.com'
    )


def test_the_check_says_what_is_expected(verdicts: dict[str, str]) -> None:
    assert verdicts == VERDICTS


def test_a_move_says_what_the_check_says(
    verdicts: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run_migrate(MigrateOptions(source=DUMP, output=tmp_path / "new", context=CONTEXT))
    said = capsys.readouterr().out
    told = {
        name: verdict for name, verdict in verdicts.items() if f"shop/{name} (whole-dump.yaml): {verdict}\n" in said
    }
    assert told == {name: verdict for name, verdict in verdicts.items() if verdict != "works"}


async def test_sockets_show_what_commands_foresee(
    verdicts: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with served() as plane:
        found = [await seen(plane, probe) for probe in PROBES]
    assert found == [(probe.answer, probe.shows) for probe in PROBES]
    assert {probe.ingress for probe in PROBES if probe.answer == "503"} == {
        name for name, verdict in verdicts.items() if verdict == "closed"
    }
    log = tmp_path / "access.log"
    log.write_text("\n".join(log_line(probe, answer) for probe, (answer, _) in zip(PROBES, found, strict=True)))
    assert run_rehearse(RehearseOptions(log=log, source=DUMP, context=CONTEXT)) == 0, capsys.readouterr().out
