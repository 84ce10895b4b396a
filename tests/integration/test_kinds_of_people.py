"""Thirty-four Ingresses of the kinds that people have: what the check says of each is what a socket shows.

The manifests stand in tests/cases/people. The expectations are those of ingress-nginx, but for what is closed.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml

from ingress.migration.checking import check_dump
from ingress.migration.verdicts import IngressOutcome
from ingress.settings.context import TranslationContext
from tests.fakes.backends import echoing
from tests.integration.in_process import DataPlane, data_plane
from tests.integration.manifests import Document, config_map, endpoint_slice, ingress_class, service
from tests.integration.test_migration import CASES, EXPECTED, answer_of
from tests.integration.wire import Connection, request_bytes

PLACE = Path(__file__).parents[1] / "cases" / "people"
SETTINGS = {"allow-snippet-annotations": "true", "annotations-risk-level": "Critical", "ssl-redirect": "false"}
CONTEXT = TranslationContext(ingress_class="nginx", configmap="ingress-nginx/ingress-nginx-controller")


class Kind(NamedTuple):
    """The verdict on an Ingress, and who answers its path: its Service or a status."""

    verdict: str
    answer: str


KINDS = {
    "plain": Kind("works", "app"),
    "timeouts": Kind("works", "app"),
    "upload": Kind("works", "app"),
    "ssl-redirect-off": Kind("works", "app"),
    "force-ssl": Kind("works", "308"),
    "rewrite": Kind("works", "app"),
    "app-root": Kind("works", "302"),
    "permanent": Kind("works", "301"),
    "temporal": Kind("works", "302"),
    "from-www": Kind("works", "app"),
    "cors": Kind("works", "app"),
    "office": Kind("works", "403"),
    "loopback": Kind("works", "app"),
    "denied": Kind("works", "403"),
    "limits": Kind("works differently", "app"),
    "sticky": Kind("works differently", "app"),
    "hashed": Kind("works differently", "app"),
    "buffers": Kind("works", "app"),
    "buffering": Kind("degraded", "app"),
    "websocket-old": Kind("works", "app"),
    "vhost": Kind("works", "app"),
    "alias": Kind("works", "app"),
    "no-log": Kind("works", "app"),
    "to-service": Kind("works", "app"),
    "frame-options": Kind("works", "app"),
    "security-fields": Kind("works", "app"),
    "bots": Kind("works", "app"),
    "maintenance": Kind("works", "503"),
    "old-host": Kind("works", "app"),
    "denied-by-line": Kind("works", "403"),
    "lua": Kind("closed", "503"),
    "inner-location": Kind("closed", "503"),
    "firewall": Kind("closed", "503"),
    "auth-snippet": Kind("closed", "503"),
}


class Effect(NamedTuple):
    """What one request of a kind shows: its `status`, fields of the response, or `target` and `host` as the endpoint
    got them. The host of the request is that of the kind unless `host` is another one.
    """

    kind: str
    shows: dict[str, str]
    target: str = "/"
    host: str = ""
    sends: tuple[str, ...] = ()
    body_bytes: int = 0


UPLOADED = 2 * 1024 * 1024  # twice the default of proxy-body-size
EFFECTS = (
    Effect("upload", {"status": "200"}, sends=(f"Content-Length: {UPLOADED}",), body_bytes=UPLOADED),
    Effect("plain", {"status": "413"}, sends=(f"Content-Length: {UPLOADED}",)),  # the head is enough
    Effect("force-ssl", {"location": "https://force-ssl.example.com/a?b=c"}, "/a?b=c"),
    Effect("rewrite", {"target": "/x?y=z"}, "/api/x?y=z"),
    Effect("app-root", {"location": "http://app-root.example.com/login"}),
    Effect("permanent", {"location": "https://new.example.com"}),
    Effect("temporal", {"location": "https://new.example.com"}),
    Effect(
        "from-www", {"status": "308", "location": "http://from-www.example.com/a"}, "/a", "www.from-www.example.com"
    ),
    Effect(
        "cors", {"access-control-allow-origin": "https://app.example.com"}, sends=("Origin: https://app.example.com",)
    ),
    Effect("sticky", {"set-cookie": "route="}),
    Effect("vhost", {"host": "internal.example.com"}),
    Effect("alias", {"status": "200"}, host="other.example.com"),
    Effect("frame-options", {"x-frame-options": "DENY"}),
    Effect("security-fields", {"x-content-type-options": "nosniff", "referrer-policy": "same-origin"}),
    Effect("bots", {"status": "403"}, sends=("User-Agent: AhrefsBot/7",)),
    Effect("denied", {"status": "403"}, "/any"),
    Effect("lua", {"status": "503"}, "/any"),
)


def documents() -> list[Document]:
    return [*yaml.safe_load_all((PLACE / "thirty-four.yaml").read_text())]


@pytest.fixture(scope="module")
def verdicts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, IngressOutcome]:
    place = tmp_path_factory.mktemp("dump")
    (place / "all.yaml").write_text((PLACE / "thirty-four.yaml").read_text())
    mine = config_map(**SETTINGS) | {"metadata": {"name": "ingress-nginx-controller", "namespace": "ingress-nginx"}}
    (place / "settings.yaml").write_text(yaml.safe_dump(mine))
    return {each.name: each.verdict for each in check_dump(place, CONTEXT, now_epoch_seconds=0.0).ingresses}


def test_the_verdicts_are_those_that_people_expect(verdicts: dict[str, IngressOutcome]) -> None:
    assert len(KINDS) == 34
    assert {name: verdict.value for name, verdict in verdicts.items()} == {
        name: kind.verdict for name, kind in KINDS.items()
    }


@asynccontextmanager
async def served() -> AsyncIterator[DataPlane]:
    """All of them, before one endpoint."""
    async with data_plane() as plane, echoing("app", {"zone-a": 1}) as endpoints:
        cluster = [ingress_class("nginx"), config_map(**SETTINGS), service("app"), *map(endpoint_slice, endpoints)]
        plane.serve([*cluster, *documents()], TranslationContext(allow_local_endpoints=True))
        yield plane


async def test_sockets_show_what_the_verdicts_say(verdicts: dict[str, IngressOutcome]) -> None:
    async with served() as plane:
        target = {"rewrite": "/api/x"}
        answers = {name: await answer_of(plane, f"{name}.example.com", target.get(name, "/")) for name in KINDS}
    assert answers == {name: kind.answer for name, kind in KINDS.items()}
    closed = {name for name, verdict in verdicts.items() if verdict is IngressOutcome.CLOSED}
    assert closed == {name for name, answer in answers.items() if answer == "503"} - {"maintenance"}


async def seen(plane: DataPlane, effect: Effect) -> dict[str, str]:
    """What the request of an effect shows, of the names that it expects."""
    host = effect.host or f"{effect.kind}.example.com"
    method = "POST" if any(each.startswith("Content-Length") for each in effect.sends) else "GET"
    head = request_bytes(method, effect.target, f"Host: {host}", *effect.sends)
    async with await Connection.open(plane.http_port) as connection:
        response = await connection.send(head + b"x" * effect.body_bytes, method=method)
    shown = {"status": str(response.status), **dict(response.fields)}
    if response.status == 200:
        got = response.json()
        shown |= {"target": got["target"], "host": dict(got["headers"])["Host"]}
    return {name: shown.get(name, "") for name in effect.shows}


async def test_what_works_has_the_effect_that_it_has_today() -> None:
    async with served() as plane:
        found = [await seen(plane, effect) for effect in EFFECTS]
    expected = [effect.shows for effect in EFFECTS]
    cookie = found[EFFECTS.index(next(each for each in EFFECTS if each.kind == "sticky"))]
    cookie["set-cookie"] = cookie["set-cookie"][: len("route=")]
    assert found == expected


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_the_older_cases_are_closed_where_sockets_show_503(name: str, tmp_path: Path) -> None:
    (tmp_path / "all.yaml").write_text((CASES / f"{name}.yaml").read_text())
    # One Secret, so that the check supposes no others: the sockets were asked without any.
    other = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "other", "namespace": "shop"}}
    (tmp_path / "secret.yaml").write_text(yaml.safe_dump(other))
    found = check_dump(tmp_path, CONTEXT, now_epoch_seconds=0.0)
    verdicts = {each.verdict for each in found.ingresses}
    assert (IngressOutcome.CLOSED in verdicts) is ("503" in EXPECTED[name].answers.values())
