"""A whole dump of a cluster that runs ingress-nginx, with its controller, its ports and 18 Ingresses of all kinds.

What each command says of the dump is what the others say, and what sockets show.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ingress.migration.checking import check_dump
from ingress.migration.rehearsal.command import RehearseOptions, run_rehearse
from ingress.migration.writing import MigrateOptions, run_migrate
from ingress.settings.context import TranslationContext
from tests.integration.whole_dumps import PEOPLE, Probe, log_line, seen, serving_dump

DUMP = PEOPLE / "whole-dump.yaml"
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


def probe(ingress: str, host: str, answer: str, target: str = "/", **more: Any) -> Probe:
    """A probe of a host of the shop."""
    return Probe(ingress, f"{host}.shop.example.com", answer, target, **more)


PROBES = (
    probe("web", "www", "web", sends=("X-Canary: never",)),  # whatever its weight says
    probe("web-canary", "www", "web-canary", sends=("X-Canary: always",)),
    probe("api-rewrite", "api", "api", "/api/users?x=1", shows={"target": "/v2/users?x=1"}),
    probe("snippets", "snip", "web", shows={"x-frame-options": "DENY", "x-content-type-options": "nosniff"}),
    probe("snippets", "snip", "403", sends=("User-Agent: curl/8",)),
    probe("snippets", "snip", "301", "/old/a", shows={"location": "https://snip.shop.example.com/new/a"}),
    probe("mirrored", "mirror", "web", shows={"sent-host": "internal.shop.example.com"}),
    probe("sticky", "sticky", "web"),
    probe("apex", "apex", "302", shows={"location": "http://apex.shop.example.com/home"}),
    probe("legacy", "ws", "503", "/ws"),
    probe("moved", "moved", "503"),
    probe("server-location", "loc", "503", "/metrics"),
    probe("server-simple", "naked", "503"),
    probe("typo", "typo", "503"),
    probe("waf", "waf", "503"),
)


@pytest.fixture(scope="module")
def verdicts() -> dict[str, str]:
    return {each.name: each.verdict.value for each in check_dump(DUMP, CONTEXT, now_epoch_seconds=0.0).ingresses}


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
    async with serving_dump(DUMP, SERVED, ("web", "web-canary", "api", "errors")) as plane:
        found = [await seen(plane, each) for each in PROBES]
    assert found == [(each.answer, each.shows) for each in PROBES]
    assert {each.ingress for each in PROBES if each.answer == "503"} == {
        name for name, verdict in verdicts.items() if verdict == "closed"
    }
    log = tmp_path / "access.log"
    log.write_text("\n".join(log_line(each, answer) for each, (answer, _) in zip(PROBES, found, strict=True)))
    assert run_rehearse(RehearseOptions(log=log, source=DUMP, context=CONTEXT)) == 0, capsys.readouterr().out
