"""The admin port of a serving process: health through its whole life, and debugging for loopback peers only."""

from __future__ import annotations

import signal
import socket
from pathlib import Path

import aiohttp
import pytest

from tests.fakes.clients import RawClient
from tests.integration.manifests import ManifestFolder, ingress, path, rule, service
from tests.integration.running import running, started, until
from tests.integration.shop import HOST, shop
from tests.integration.wire import get

_MANY = 4_000  # Ingresses: enough that a translation takes many times longer than a request


async def test_ready_only_after_the_first_publication(tmp_path: Path) -> None:
    folder = ManifestFolder(tmp_path / "manifests")
    rules = (ingress(f"web-{number}", rule(f"{number}.test", path("/", "cart"))) for number in range(_MANY))
    folder.write("all.json", service("cart"), *rules)
    async with started(folder.place, "--shutdown-grace-period", "0") as zonal:
        await zonal.is_serving()
        early = await zonal.admin("/readyz")
        assert (early.status, early.body) == (503, b"no configuration yet\n")
        assert (await zonal.admin("/livez")).status == 200
        assert await zonal.model() == {"generation": 0, "health": []}
        await zonal.is_ready()
        assert (await zonal.admin("/healthz")).status == 200
        assert await zonal.generation() == 1
        await zonal.stop()


async def test_not_ready_but_alive_while_draining(tmp_path: Path) -> None:
    async with shop(tmp_path, {"zone-a": 1}) as place, running(place.place, grace="60") as zonal:
        zonal.tell(signal.SIGTERM)
        answer = await zonal.is_unready()
        assert (answer.status, answer.body) == (503, b"draining\n")
        assert (await zonal.admin("/livez")).status == 200
        assert (await get(zonal.http_port, HOST)).status == 200
        zonal.tell(signal.SIGTERM)
        assert await zonal.has_ended() == 0


async def test_a_malformed_request_leaves_no_traceback_in_the_log(tmp_path: Path) -> None:
    async with shop(tmp_path, {"zone-a": 1}) as place, running(place.place) as zonal:
        async with RawClient(zonal.admin_port) as client:
            client.send(b"GET / HTTP/1.1\r\nHost : a\r\n\r\n")
            assert b" 400 " in await client.rest()
        await zonal.stop()


async def test_unknown_pages_and_methods(tmp_path: Path) -> None:
    async with (
        shop(tmp_path, {"zone-a": 1}) as place,
        running(place.place) as zonal,
        aiohttp.ClientSession(f"http://127.0.0.1:{zonal.admin_port}") as client,
    ):
        async with client.get("/nothing") as response:
            assert response.status == 404
        async with client.post("/readyz") as response:
            assert response.status == 405
        async with client.head("/readyz") as response:
            assert response.status == 200


async def test_the_model_shows_what_is_served(tmp_path: Path) -> None:
    async with shop(tmp_path, {"zone-a": 1, "zone-b": 1}) as place, running(place.place, "--zone", "zone-b") as zonal:
        model = (await zonal.model())["model"]
    (host,) = model["hosts"]
    assert (host["name"], host["routes"][0]["branches"][0]["backend"]) == (HOST, "shop/cart:80")
    (backend,) = model["backends"]
    assert {(each["port"], each["zone"]) for each in backend["endpoints"]} == {
        (endpoint.port, endpoint.zone) for endpoint in place.endpoints
    }
    assert model["own_zone"] == {"zone": "zone-b", "source": "flag", "node": None, "labels": []}


def _address_beyond_loopback() -> str | None:
    """An address of this machine that is not loopback. Connecting a UDP socket sends nothing."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError:
            return None
        address = str(probe.getsockname()[0])
    return None if address.startswith("127.") else address


@pytest.mark.parametrize(("options", "status"), [((), 403), (("--debug-remote",), 200)])
async def test_debugging_is_for_loopback_peers(tmp_path: Path, options: tuple[str, ...], status: int) -> None:
    address = _address_beyond_loopback()
    if address is None:
        pytest.skip("this machine has no address but loopback")
    async with (
        shop(tmp_path, {"zone-a": 1}) as place,
        running(place.place, "--admin-address", "0.0.0.0", *options) as zonal,
        aiohttp.ClientSession(f"http://{address}:{zonal.admin_port}") as remote,
    ):
        async with remote.get("/metrics") as response:
            assert response.status == 200
        forged = {"X-Forwarded-For": "127.0.0.1", "Host": "localhost"}
        for page in ("/debug/model", "/debug/findings"):
            async with remote.get(page, headers=forged) as response:
                assert response.status == status
            assert (await zonal.admin(page)).status == 200


async def test_scrapes_do_not_hold_up_the_end(tmp_path: Path) -> None:
    """A monitoring system keeps its connection open; the process must end all the same."""
    async with (
        shop(tmp_path, {"zone-a": 1}) as place,
        running(place.place) as zonal,
        aiohttp.ClientSession(f"http://127.0.0.1:{zonal.admin_port}") as client,
    ):
        async with client.get("/metrics") as response:
            assert (await response.read()).startswith(b"# HELP zonal_")
        zonal.tell(signal.SIGTERM)
        await until(lambda: zonal.exit_status is not None, seconds=5.0)
