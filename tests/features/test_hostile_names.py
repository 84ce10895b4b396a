"""Hostile text in every field that users of a cluster control: page, terminal and logs show it as text."""

from __future__ import annotations

import asyncio
import os
import re
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.fakes.backends import EchoEndpoint
from tests.fakes.browser import browsing, chromium
from tests.features.cluster.stage import HOST, Stage, becomes, staged
from tests.integration.manifests import Document, endpoint_slice, ingress, path, rule, service
from tests.integration.running import Zonal
from tests.integration.wire import Connection, request_bytes
from tests.unit.ingress.cli.kubectl.clusters import replica_pod

pytestmark = pytest.mark.slow  # each command is a process

LONG = ".".join(["x" * 62] * 4)
HOSTILE = {
    "markup": '<img src=x onerror="alert(1)">',
    "script": "</td></script><script>alert(1)</script>",
    "entity": "&lt;b&gt;&#x1b;",
    "template": "{{7*7}}${7*7}%s%(x)s%n",
    "rich": "[red]x[/red][link=https://evil.test]y[/link]",
    "colours": "\x1b[31mred\x1b]0;title\x07",
    "line": "a\r\n2026-01-01 00:00:00,000 CRITICAL ingress: forged",
    "c1": "\x9b31m\x85next",
    "erased": "a\x08\x08\x7f\x00b",
    "turned": "\u202egnp.\u2066exe\u200f\u061c",
    "separators": "a\u2028b\u2029c\u00a0d",
    "invisible": "a\u200bb\ufeffc\u00add\U000e0041e",
    "host": LONG,
}
"""By what it tries. `host` has as many characters as a host may have."""

FORBIDDEN = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\U000e0041]"
)
"""What neither a terminal nor a page may get: characters that steer, turn or hide text. A line feed ends a line."""

COMMANDS = (
    "status",
    "routes",
    "endpoints",
    "certs --fail-within 1",
    "findings --fail-on cosmetic",
    "top --once --interval 0.2",
    f"explain http://{HOST}/ --verbose",
)
FORMATS = ("text", "json", "yaml")
WRITING = ("--update-status=true", "--publish-status-address=192.0.2.1")
"""Lets the replica lead, and so write Events."""

PAGES = {
    "zones": "document.querySelectorAll('.matrix td').length",
    "services": "document.querySelectorAll('tbody tr').length",
    "services/shop/cart": "document.querySelectorAll('tbody tr').length > 10",
    f"services/shop/{quote(HOSTILE['turned'])}": "true",
    "routes": "document.querySelectorAll('tbody tr').length > 10",
    "findings": "document.querySelectorAll('.findings li').length > 10",
    f"explain?url=http://{HOST}/?q={quote(HOSTILE['turned'])}": "document.querySelectorAll('.steps li').length",
    "replica": "document.querySelectorAll('tbody tr').length",
}
"""The address of each view, and when it shows what it has to show."""


def objects_with(text: str, number: int, endpoint: EchoEndpoint) -> Iterator[Document]:
    """Objects with `text` in every field that their author chooses."""
    document = endpoint_slice(endpoint)
    document["metadata"]["annotations"] = {text: text}
    document["endpoints"][0] |= {"zone": text, "nodeName": text, "hostname": text}
    document["endpoints"][0]["targetRef"] = {"kind": "Pod", "namespace": text, "name": text}
    document["endpoints"][0]["hints"] = {"forZones": [{"name": text}]}
    yield document
    paths = (path(f"/{text}", "cart"), path(f"/x{number}", text), path(f"/y{number}", "cart", kind=text))
    yield ingress(f"web-{number}", rule(HOST, *paths)) | {"metadata": _named(f"web-{number}", "shop", text)}
    annotations = {
        f"nginx.ingress.kubernetes.io/{name}": text
        for name in ("canary-weight", "whitelist-source-range", "auth-url", "custom-headers", "rewrite-target", text)
    }
    hosts = rule(text, path("/", "cart")), rule(f"other-{number}.test", path("/", "cart"))
    yield ingress(f"bad-{number}", *hosts, annotations=annotations, tls=[{"hosts": [text], "secretName": text}])
    yield ingress(f"classless-{number}", rule("class.test", path("/", "cart")), class_name=text)
    secret = {"apiVersion": "v1", "kind": "Secret", "type": text, "metadata": _named(f"tls-{number}", "shop", text)}
    yield secret | {"data": {"tls.crt": text, "tls.key": text}}
    yield {"apiVersion": "v1", "kind": "Node", "metadata": _named(f"node-{number}", "", text)}


def _named(name: str, namespace: str, text: str) -> Document:
    labels = {"topology.kubernetes.io/zone": text, text: text}
    place = {"namespace": namespace} if namespace else {}
    return {"name": name, **place, "labels": labels, "annotations": {text: text, "zonal-ingress.io/zone-policy": text}}


@asynccontextmanager
async def attacked(place: Path, *arguments: str) -> AsyncIterator[tuple[Stage, Zonal]]:
    """A replica that serves a cluster full of hostile text, and clients that send it in whatever they choose."""
    every = "".join(HOSTILE.values())
    async with staged(place) as stage:
        await stage.shop("zone-a")
        stage.put(service("cart") | {"metadata": _named("cart", "shop", every)})
        for number, text in enumerate(HOSTILE.values()):
            stage.put(*objects_with(text, number, await stage.endpoint(zone="zone-b")))
        stage.settings(zone_aware_routing="true", zone_policy=every, log_format_upstream=f"{every}$uri$http_user_agent")
        zonal = await stage.ready("--zone=zone-a", "--log-level=debug", *arguments)
        stage.put(replica_pod("zonal-0", zonal.admin_port))
        for text in HOSTILE.values():
            raw = text.encode().decode("latin-1")
            for target in ("/", f"/{raw}", f"/?q={raw}"):
                for fields in ((f"Host: {HOST}",), (f"Host: {HOST}", f"User-Agent: {raw}"), (f"Host: {raw}",)):
                    await _sent(zonal, request_bytes("GET", target, *fields))
        yield stage, zonal


async def _sent(zonal: Zonal, request: bytes) -> None:
    """Sends what may be no request at all."""
    async with await Connection.open(zonal.http_port) as connection:
        await connection.send(request)


async def output(*command: str, environment: dict[str, str]) -> bytes:
    """Everything that a command writes to a terminal."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *command,
        env={**os.environ, **environment},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    written, _ = await process.communicate()
    assert process.returncode in (0, 1), written
    return written


def assert_is_text(written: bytes, where: object) -> None:
    found = FORBIDDEN.search(written.decode())
    assert found is None, (where, found, written[max(0, (found.start() if found else 0) - 200) :][:400])


async def test_the_terminal_shows_hostile_text_as_text(tmp_path: Path) -> None:
    async with attacked(tmp_path) as (stage, zonal):
        zonal_command = ("-c", "from ingress.__main__ import main; main()")
        plugin = ("-c", "from ingress.__main__ import kubectl; kubectl()")
        kubeconfig = str(stage.server.write_kubeconfig(stage.place / "kubectl.yaml"))
        for command in COMMANDS:
            words = command.split()
            asked = [(*plugin, *words)]
            for form in FORMATS[:2] if words[0] == "explain" else FORMATS:  # zonal explain writes no YAML
                admin = f"http://127.0.0.1:{zonal.admin_port}"
                asked.append((*zonal_command, *words, "-o", form, "--admin", admin))
            for arguments in asked:
                assert_is_text(await output(*arguments, environment={"KUBECONFIG": kubeconfig}), arguments)


@pytest.mark.parametrize("format", ["json", "upstreaminfo"])
async def test_logs_and_events_show_hostile_text_as_text(tmp_path: Path, format: str) -> None:
    async with attacked(tmp_path, f"--access-log={format}", *WRITING) as (stage, zonal):

        async def has_events() -> bool:
            return len(stage.server.objects("Event")) >= len(HOSTILE)

        await becomes(has_events)
        for event in stage.server.objects("Event"):
            assert FORBIDDEN.search(event["note"]) is None
        for finding in await zonal.findings():
            assert [each for each in finding.values() if FORBIDDEN.search(each)] == []
    assert_is_text(zonal.stderr.encode(), "standard error")
    assert_is_text(zonal.stdout.encode(), "access log")
    assert [line for line in zonal.stderr.splitlines() if line.startswith("2026-01-01")] == []
    assert len(zonal.access_lines) > len(HOSTILE)


async def test_the_page_shows_hostile_text_as_text(tmp_path: Path) -> None:
    chromium()
    async with attacked(tmp_path) as (_, zonal), browsing() as page:
        admin = f"http://127.0.0.1:{zonal.admin_port}"
        await page.size(1280, 900)
        for address, is_filled in PAGES.items():
            await page.open(f"{admin}/ui#/{address}")
            await page.until("document.querySelector('#live')?.className === 'live on'")
            await page.until(f"!!document.querySelector('main h1') && ({is_filled})")
            shown = str(await page.value("document.title + document.body.innerText"))
            assert FORBIDDEN.search(shown.replace("\t", " ")) is None, address
            strange = "img, iframe, script:not([src]), [onerror], a[href*=evil]"
            assert await page.value(f"document.querySelectorAll('{strange}').length") == 0
            assert await page.value("document.documentElement.scrollWidth <= innerWidth"), address
        assert page.complaints == []
        assert {url for url in page.requests if not url.startswith((f"{admin}/", "about:"))} == set()
