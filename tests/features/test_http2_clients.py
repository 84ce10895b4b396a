"""Clients that others wrote speak HTTP/2 with the real process: curl, nghttp, h2load, Chromium."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
from pathlib import Path
from typing import cast

import pytest
from aiohttp import web

from tests.fakes.backends import EchoEndpoint
from tests.fakes.browser import browsing
from tests.features.http2.running import ENGINES
from tests.features.http2.stage import Stage, staged
from tests.integration.manifests import (
    ManifestFolder,
    config_map,
    endpoint_slice,
    ingress,
    ingress_class,
    path,
    rule,
    service,
)
from tests.integration.running import Zonal, running

_REQUESTS = 100_000
_MILLION = 1_000_000


async def _said(*command: str) -> str:
    """What a command writes, which must succeed. AddressSanitizer is for our processes: curl stops in it for ever."""
    own = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    process = await asyncio.create_subprocess_exec(
        *command, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT, env=own
    )
    output, _ = await process.communicate()
    assert process.returncode == 0, output
    return output.decode(errors="replace")


async def _curl(stage: Stage, target: str, *more: str) -> list[str]:
    """Body, version and status of one request."""
    port = stage.zonal.https_port
    route = ("--resolve", f"app.test:{port}:127.0.0.1")
    url = f"https://app.test:{port}{target}"
    return (await _said("curl", "-sk", "--http2", *route, *more, "-w", " %{http_version} %{http_code}", url)).split(" ")


@pytest.mark.skipif(shutil.which("curl") is None, reason="there is no curl")
@pytest.mark.parametrize("engine", ENGINES)
async def test_curl_uploads_and_downloads(engine: str, tmp_path: Path) -> None:
    upload = tmp_path / "upload"
    upload.write_bytes(bytes(3_000_000))
    (tmp_path / "stage").mkdir()
    async with staged(tmp_path / "stage", engine) as stage:
        assert await _curl(stage, "/x") == ["ok", "2", "200"]
        assert await _curl(stage, "/x", "--data-binary", f"@{upload}") == ["ok", "2", "200"]
        assert await _curl(stage, "/x", "-X", "POST", "-d", "") == ["ok", "2", "200"]
        assert await _curl(stage, "/1m", "-o", str(tmp_path / "download")) == ["", "2", "200"]
        assert len((tmp_path / "download").read_bytes()) == 1024 * 1024
        bodies = [len(request.body) for request in stage.http1["app"].received]
        assert bodies == [0, 3_000_000, 0, 0]


@pytest.mark.slow
@pytest.mark.faults
@pytest.mark.skipif(shutil.which("nghttp") is None, reason="there is no nghttp")
async def test_nghttp_loads_many_things_at_once(tmp_path: Path) -> None:
    async with staged(tmp_path, "ngh2") as stage:
        urls = [f"https://127.0.0.1:{stage.zonal.https_port}/{name}" for name in ("x", "1m", "64k", "slow")]
        said = await _said("nghttp", "-ns", "-m", "10", "-H", ":authority: app.test", *urls)
        assert len(re.findall(r"s +200 ", said)) == len(urls) * 10


@pytest.mark.slow
@pytest.mark.faults
@pytest.mark.skipif(shutil.which("h2load") is None, reason="there is no h2load")
async def test_h2load_fails_nothing(tmp_path: Path) -> None:
    async with staged(tmp_path, "ngh2", keep_alive_requests=str(_REQUESTS)) as stage:
        url = f"https://127.0.0.1:{stage.zonal.https_port}/x"
        count = ("-n", str(_REQUESTS), "-c", "10", "-m", "32")
        said = await _said("h2load", *count, "-H", ":authority: app.test", url)
        assert f"{_REQUESTS} succeeded, 0 failed, 0 errored, 0 timeout" in said
        assert f"status codes: {_REQUESTS} 2xx" in said


class _Quick(asyncio.Protocol):
    """An endpoint that costs little beside what is measured: one answer for each head, of requests without a body."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        self._transport.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok" * data.count(b"\r\n\r\n"))


@pytest.mark.slow
@pytest.mark.faults
@pytest.mark.alone
@pytest.mark.skipif(shutil.which("h2load") is None, reason="there is no h2load")
async def test_a_million_requests_on_one_connection_leave_nothing_behind(tmp_path: Path) -> None:
    server = await asyncio.get_running_loop().create_server(_Quick, "127.0.0.1", 0)
    endpoint = EchoEndpoint("app")
    endpoint.port = server.sockets[0].getsockname()[1]
    folder = ManifestFolder(tmp_path)
    folder.write("class.yaml", ingress_class())
    folder.write("settings.yaml", config_map(http2_cleartext="true", keep_alive_requests=str(2 * _MILLION)))
    folder.write(
        "app.yaml", service("app"), endpoint_slice(endpoint), ingress("app", rule("app.test", path("/", "app")))
    )
    async with running(folder.place, "--workers", "0") as zonal:
        await _load(zonal, _MILLION // 10)
        before = _resident_bytes(zonal)
        await _load(zonal, _MILLION)
        after = _resident_bytes(zonal)
    server.close()
    print(f"{before >> 10} KiB after {_MILLION // 10} requests, {after >> 10} KiB after {_MILLION} on one connection")
    assert after <= 1.05 * before


async def _load(zonal: Zonal, requests: int) -> None:
    """So many requests on one connection, 100 at a time."""
    url = f"http://127.0.0.1:{zonal.http_port}/x"
    said = await _said("h2load", "-n", str(requests), "-c1", "-m100", "-H", ":authority: app.test", url)
    assert f"{requests} succeeded, 0 failed, 0 errored, 0 timeout" in said


def _resident_bytes(zonal: Zonal) -> int:
    status = Path(f"/proc/{zonal.pid}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) * 1024


@pytest.mark.slow
@pytest.mark.faults
async def test_chromium_loads_a_page_over_one_connection_and_opens_a_websocket_beside_it(tmp_path: Path) -> None:
    runner = web.AppRunner(_site())
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    endpoint = EchoEndpoint("app")
    endpoint.port = runner.addresses[0][1]
    folder = ManifestFolder(tmp_path)
    folder.write("class.yaml", ingress_class())
    folder.write(
        "app.yaml", service("app"), endpoint_slice(endpoint), ingress("app", rule("app.test", path("/", "app")))
    )
    try:
        async with (
            running(folder.place) as zonal,
            browsing("--ignore-certificate-errors", "--host-resolver-rules=MAP app.test 127.0.0.1") as page,
        ):
            await page.open(f"https://app.test:{zonal.https_port}/")
            assert await page.until("window.loaded") == _RESOURCES
            protocols = "[...new Set(performance.getEntriesByType('resource').map(each => each.nextHopProtocol))]"
            assert await page.value(protocols) == ["h2"]
            assert await page.until("window.echoed") == "over and back"
            samples = (await zonal.metrics())["zonal_http2_clients"].samples
            assert {each.labels["kind"]: each.value for each in samples}["connections"] == 1
    finally:
        await runner.cleanup()


_RESOURCES = 100
_PAGE = f"""<!doctype html><title>many</title><link rel="icon" href="data:,"><script>
const all = [...Array({_RESOURCES}).keys()].map(number => fetch("/resource/" + number).then(each => each.text()));
Promise.all(all).then(texts => {{ window.loaded = texts.filter((text, at) => text === String(at)).length; }});
const socket = new WebSocket("wss://" + location.host + "/socket");
socket.onopen = () => socket.send("over and back");
socket.onmessage = event => {{ window.echoed = event.data; }};
</script>"""


def _site() -> web.Application:
    """A page with many resources, and a WebSocket that says what it hears."""

    async def page(request: web.Request) -> web.Response:
        return web.Response(text=_PAGE, content_type="text/html")

    async def resource(request: web.Request) -> web.Response:
        return web.Response(text=request.match_info["number"])

    async def socket(request: web.Request) -> web.WebSocketResponse:
        answer = web.WebSocketResponse()
        await answer.prepare(request)
        async for message in answer:
            await answer.send_str(message.data)
        return answer

    site = web.Application()
    site.add_routes([web.get("/", page), web.get("/resource/{number}", resource), web.get("/socket", socket)])
    return site
