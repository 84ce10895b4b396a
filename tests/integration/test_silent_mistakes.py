"""Mistakes that break nothing at once: each is a finding, a WARNING, a metric, and part of what explain says.

Each names the object and the repair.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.fakes.stopwatch import Stopwatch
from tests.integration.manifests import ingress, rule
from tests.integration.manifests import path as path_to
from tests.integration.running import Zonal, completed, running, until
from tests.integration.shop import HOST, Shop, shop
from tests.integration.wire import get

URL = f"http://{HOST}/"
_NOTICED_SECONDS = 2.0
_SOON = "--time-scale=0.01"  # a finding that may pass is told after a hundredth of the time
_PATIENCE_SECONDS = 20.0  # of a busy machine; the bound above is asked of the fastest of two tries


class Mistake(NamedTuple):
    """What is done to the shop, and what is said of it: an object, a reason, a severity, and words of the repair."""

    make: Callable[[Shop], None]
    subject: tuple[str, str, str]
    reason: str
    severity: str
    words: tuple[str, ...]
    options: tuple[str, ...] = ("--zone", "zone-a")


def edited(place: Shop, name: str, old: str, new: str) -> None:
    """Replace a text in every document of a manifest."""
    text = (place.place / name).read_text()
    assert old in text, text
    place.folder.write_text(name, text.replace(old, new))


def nothing(_: Shop) -> None:
    """The mistake is in the options."""


def without_configmap(place: Shop) -> None:
    (place.place / "settings.yaml").unlink()


def without_slices(place: Shop) -> None:
    edited(place, "cart.yaml", "kubernetes.io/service-name", "example.com/other")


def with_another_port_name(place: Shop) -> None:
    edited(place, "cart.yaml", "name: http\n    port: 80\n", "name: web\n    port: 80\n")


def without_zones(place: Shop) -> None:
    edited(place, "cart.yaml", "zone: zone-", "example: zone-")


def none_ready(place: Shop) -> None:
    edited(place, "cart.yaml", "ready: true", "ready: false")


def with_another_tls_host(place: Shop) -> None:
    web = ingress("web", rule(HOST, path_to("/", "cart")), tls=[{"hosts": ["shp.test"], "secretName": "cert"}])
    place.folder.write("web.yaml", web)


def without_class(place: Shop) -> None:
    web = ingress("web", rule(HOST, path_to("/", "cart")))
    del web["spec"]["ingressClassName"]
    place.folder.write("web.yaml", web)


def without_manifests(place: Shop) -> None:
    for file in place.place.iterdir():
        file.unlink()


SERVICE = ("Service", "shop", "cart")
MISTAKES = {
    "own zone unknown": Mistake(
        nothing, ("ConfigMap", "zonal", "zonal"), "OwnZoneUnknown", "degraded", ("--zone", "--node-name"), ()
    ),
    "node without a zone": Mistake(
        nothing, ("Node", "", "node-x"), "OwnZoneUnknown", "degraded", ("--node-name",), ("--node-name", "node-x")
    ),
    "zone in which nothing is": Mistake(
        nothing,
        ("Option", "", "--zone"),
        "OwnZoneEmpty",
        "degraded",
        ("zone-x", "correct --zone"),
        ("--zone", "zone-x"),
    ),
    "endpoints without a zone": Mistake(
        without_zones, SERVICE, "EndpointZoneMissing", "degraded", ("topology.kubernetes.io/zone",)
    ),
    "no ConfigMap": Mistake(
        without_configmap, ("ConfigMap", "zonal", "zonal"), "ConfigMapMissing", "degraded", ("create it",)
    ),
    "no slice": Mistake(
        without_slices, SERVICE, "EndpointSliceMissing", "closed", ("kubernetes.io/service-name: cart",)
    ),
    "no ready endpoint": Mistake(none_ready, SERVICE, "NoReadyEndpoint", "closed", ("port 80", "not ready")),
    "another port name": Mistake(
        with_another_port_name, SERVICE, "EndpointPortMissing", "closed", ('"web"', '"http"', "same name")
    ),
    "another TLS host": Mistake(
        with_another_tls_host, ("Ingress", "shop", "web"), "TlsHostMissing", "unprotected", (HOST, "add the host")
    ),
    "no class": Mistake(
        without_class, ("Ingress", "shop", "web"), "IngressWithoutClass", "closed", ("ingressClassName: zonal",)
    ),
    "empty folder": Mistake(without_manifests, ("File", "", "."), "FolderEmpty", "closed", ("write manifests",)),
}


@pytest.mark.parametrize("mistake", MISTAKES.values(), ids=MISTAKES.keys())
async def test_each_is_a_finding_a_warning_a_metric_and_explained(tmp_path: Path, mistake: Mistake) -> None:
    async with shop(tmp_path, zone_aware_routing="true") as place:
        mistake.make(place)
        async with running(place.place, _SOON, *mistake.options) as zonal:
            found = [item for item in await zonal.findings() if item["reason"] == mistake.reason]
            assert len(found) == 1, await zonal.findings()
            (finding,) = found
            assert (finding["kind"], finding["namespace"], finding["name"]) == mistake.subject
            assert finding["severity"] == mistake.severity
            assert all(word in finding["message"] for word in mistake.words), finding["message"]

            await until(lambda: mistake.reason in zonal.stderr, seconds=_PATIENCE_SECONDS)
            warned = [line for line in zonal.stderr.splitlines() if mistake.reason in line]
            assert len(warned) == 1, zonal.stderr
            assert " WARNING " in warned[0]
            assert finding["message"] in warned[0]

            samples = (await zonal.metrics())["zonal_findings"].samples
            labels = {"kind": finding["kind"], "reason": mistake.reason, "severity": mistake.severity}
            assert [sample.value for sample in samples if sample.labels == labels] == [1.0]

            assert finding["message"] in await explained("--admin", f"http://127.0.0.1:{zonal.admin_port}")
        options = ("--allow-local-endpoints", *mistake.options)
        assert finding["message"] in await explained("--source", str(place.place), *options)


async def test_a_shop_without_a_mistake_has_no_finding(tmp_path: Path) -> None:
    async with (
        shop(tmp_path, zone_aware_routing="true") as place,
        running(place.place, "--zone", "zone-a") as zonal,
    ):
        assert await zonal.findings() == []
        assert " WARNING " not in zonal.stderr


async def explained(*arguments: str) -> str:
    """What `zonal explain` prints about the shop."""
    ended = await completed("explain", URL, *arguments)
    assert ended.status == 0, ended.err
    return ended.out


async def test_a_service_that_loses_its_last_endpoint_says_so_until_it_returns(tmp_path: Path) -> None:
    """One finding and one line, and no line that says its requests go anywhere."""
    async with (
        shop(tmp_path, {"zone-a": 1}, zone_aware_routing="true") as place,
        running(place.place, "--zone", "zone-a") as zonal,
    ):
        assert (await get(zonal.http_port, HOST)).status == 200
        fastest = min([await lost_and_returned(place, zonal, number) for number in (1, 2)])
        assert fastest < _NOTICED_SECONDS


async def lost_and_returned(place: Shop, zonal: Zonal, number: int) -> float:
    """The only endpoint turns unready and ready again; how many seconds it took to notice the first."""
    before, watch = zonal.stderr, Stopwatch()
    none_ready(place)
    await has_findings(zonal, ["NoReadyEndpoint"])
    seconds = watch.seconds
    assert (await get(zonal.http_port, HOST)).status == 503
    await until(lambda: len(zonal.access_lines) == 2 * number, seconds=_PATIENCE_SECONDS)
    assert json.loads(zonal.access_lines[-1])["error"] == "no_endpoint"
    assert await ready_endpoints(zonal) == 0.0
    assert zonal.stderr == before, "what may pass is told when it has lasted some seconds"

    edited(place, "cart.yaml", "ready: false", "ready: true")
    await has_findings(zonal, [])
    assert (await get(zonal.http_port, HOST)).status == 200
    assert await ready_endpoints(zonal) == 1.0
    assert "every zone" not in zonal.stderr
    return seconds


async def has_findings(zonal: Zonal, reasons: list[str]) -> None:
    """Wait until these are the reasons of all findings."""
    async with asyncio.timeout(_PATIENCE_SECONDS):
        while [finding["reason"] for finding in await zonal.findings()] != reasons:
            pass


async def ready_endpoints(zonal: Zonal) -> float:
    """The sum of `zonal_endpoints` of the shop's Service; it must not be absent."""
    samples: list[Any] = (await zonal.metrics())["zonal_endpoints"].samples
    values = [sample.value for sample in samples if sample.labels["service"] == "cart"]
    assert values
    return float(sum(values))
