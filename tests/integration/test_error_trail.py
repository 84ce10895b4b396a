"""What `zonal run` leaves behind of a 503 and of a sick endpoint: log lines, exact counts, and 0 where none is."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest

from tests.integration.manifests import endpoint_slice, ingress, path, rule, service
from tests.integration.running import Zonal, running, until
from tests.integration.shop import HOST, Shop, shop
from tests.integration.wire import get

_SOON_SECONDS = 20.0


async def responses(zonal: Zonal) -> dict[tuple[str, str, str], float]:
    """What `zonal_responses_total` counts by Service, status and error."""
    samples = (await zonal.metrics())["zonal_responses"].samples
    return {(each.labels["service"], each.labels["status"], each.labels["error"]): each.value for each in samples}


async def ready(zonal: Zonal) -> dict[tuple[str, str], float]:
    """The ready endpoints of `zonal_endpoints` by Service and zone."""
    samples = (await zonal.metrics())["zonal_endpoints"].samples
    return {
        (each.labels["service"], each.labels["zone"]): each.value for each in samples if each.labels["state"] == "ready"
    }


async def has_ready(zonal: Zonal, expected: dict[tuple[str, str], float]) -> None:
    """Wait until the metric shows these ready endpoints."""
    deadline = time.monotonic() + _SOON_SECONDS
    while (found := await ready(zonal)) != expected:
        assert time.monotonic() < deadline, found
        await asyncio.sleep(0.01)


async def says(zonal: Zonal, text: str) -> None:
    """Send requests, all of which succeed, until the log has `text`."""
    deadline = time.monotonic() + _SOON_SECONDS
    while text not in zonal.stderr:
        assert (await get(zonal.http_port, HOST)).status == 200
        assert time.monotonic() < deadline, zonal.stderr


async def test_a_service_that_loses_its_last_endpoint_leaves_a_trail_until_one_is_back(tmp_path: Path) -> None:
    async with shop(tmp_path, {"zone-a": 1}) as place, running(place.place) as zonal:
        assert (await get(zonal.http_port, HOST)).status == 200
        place.folder.write("cart.yaml", service("cart"))
        await has_ready(zonal, {("cart", "unknown"): 0.0})
        assert (await get(zonal.http_port, HOST)).status == 503
        *_, line = await zonal.logs(2)
        assert (line["status"], line["error"], line["service"]) == (503, "no_endpoint", "cart")
        assert await responses(zonal) == {("cart", "200", ""): 1.0, ("cart", "503", "no_endpoint"): 1.0}
        place.folder.write("cart.yaml", service("cart"), *map(endpoint_slice, place.endpoints))
        await has_ready(zonal, {("cart", "zone-a"): 1.0})
        assert (await get(zonal.http_port, HOST)).status == 200
        assert "error" not in (await zonal.logs(3))[-1]


def with_broken_paths(place: Shop) -> None:
    """Paths to a Service that does not exist and to one without endpoints, and a host that is closed for protection."""
    auth = {"nginx.ingress.kubernetes.io/auth-snippet": "deny all;"}
    place.folder.write(
        "broken.yaml",
        service("empty"),
        ingress("broken", rule(HOST, path("/absent", "absent"), path("/empty", "empty"))),
        ingress("closed", rule("closed.test", path("/", "cart")), annotations=auth),
    )


ASKED = {
    (HOST, "/absent"): ("absent", "503", "no_backend"),
    (HOST, "/empty"): ("empty", "503", "no_endpoint"),
    ("closed.test", "/"): ("cart", "503", "path_closed"),
    ("elsewhere.test", "/"): ("", "404", "no_route"),
    (HOST, "/%zz"): ("", "400", "bad_request"),
}


@pytest.mark.parametrize("log_format", ["json", "upstreaminfo"])
async def test_each_503_says_its_kind_in_the_log_and_in_the_metrics(tmp_path: Path, log_format: str) -> None:
    async with shop(tmp_path, {"zone-a": 1}) as place:
        with_broken_paths(place)
        async with running(place.place, "--access-log", log_format) as zonal:
            for (host, target), (_, status, _) in ASKED.items():
                assert str((await get(zonal.http_port, host, target)).status) == status
            await until(lambda: len(zonal.access_lines) == len(ASKED), seconds=_SOON_SECONDS)
            for line, (_, status, error) in zip(zonal.access_lines, ASKED.values(), strict=True):
                if log_format == "json":
                    assert f'"status":{status},' in line and f'"error":"{error}"' in line
                else:
                    assert f'" {status} ' in line and f"] [error={error}] - - - - " in line
            assert await responses(zonal) == dict.fromkeys(ASKED.values(), 1.0)
            assert await ready(zonal) == {("cart", "zone-a"): 1, ("empty", "unknown"): 0, ("absent", "unknown"): 0}


async def test_an_endpoint_that_goes_and_returns_is_two_log_lines_and_counted_for_its_service(tmp_path: Path) -> None:
    settings = {"ejection_consecutive_errors": "1", "ejection_time": "100ms"}
    async with shop(tmp_path, {"zone-a": 2}, **settings) as place, running(place.place) as zonal:
        sick = place.endpoints[0]
        name = f"endpoint {sick.label} (zone-a) of shop/cart:80"
        await sick.stop()
        await says(zonal, f"{name} is ejected for 0.1 s")
        await sick.start(sick.port)
        await says(zonal, f"{name} is back")
        families = await zonal.metrics()
        for family in ("zonal_ejections", "zonal_retries"):
            counted = {
                (sample.labels["namespace"], sample.labels["service"])
                for sample in families[family].samples
                if sample.name.endswith("_total")
            }
            assert counted == {("shop", "cart")}
        lines = [line for line in zonal.stderr.splitlines() if name in line]
        assert [" WARNING " in line for line in lines] == [True, False]
        assert lines[0].endswith("it failed too often in a row, last with connect_refused")
