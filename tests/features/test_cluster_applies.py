"""What an apply brings within seconds warns of nothing; what stays wrong does, and its end is said as well."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.features.cluster.certificates import certified
from tests.features.cluster.stage import Stage, answers, becomes, has_finding, staged
from tests.integration.manifests import config_map, endpoint_slice, ingress, ingress_class, path, rule, service

pytestmark = pytest.mark.faults

HOST = "shop.test"
TLS = [{"hosts": [HOST], "secretName": "cert"}]
AGES = 0.1  # of the real times: a finding is told after half a second


def events(stage: Stage) -> list[tuple[str, str]]:
    """Type and reason of each Event about the objects of tenants."""
    return [
        (event["type"], event["reason"])
        for event in stage.server.objects("Event")
        if event["metadata"]["namespace"] == "shop"
    ]


async def has_events(stage: Stage, expected: list[tuple[str, str]]) -> None:
    async def has() -> bool:
        return sorted(events(stage)) == sorted(expected)

    await becomes(has)


async def test_an_apply_whose_objects_come_one_after_the_other_warns_of_nothing(tmp_path: Path) -> None:
    async with staged(tmp_path) as stage:
        stage.put(ingress_class(), config_map(ssl_redirect="false", zone_aware_routing="true"))
        zonal = await stage.ready("--update-status=true", "--zone=zone-a", scale=1.0)
        endpoint = await stage.endpoint("cart", zone="zone-a")
        arriving: list[dict[str, Any]] = [
            ingress("web", rule(HOST, path("/", "cart")), tls=TLS),
            service("cart"),
            endpoint_slice(endpoint),
        ]
        for document in arriving:
            stage.put(document)
            await has_finding(zonal, "Ingress", "CertificateUnusable")
        stage.put(certified("cert", HOST))
        await answers(zonal, 200, HOST)

        async def is_well() -> bool:
            return not await zonal.findings()

        await becomes(is_well)
        assert "CertificateUnusable" not in zonal.stderr
        assert "ServiceMissing" not in zonal.stderr
        assert "NoReadyEndpoint" not in zonal.stderr
        assert events(stage) == []
        assert "zone policy" not in zonal.stderr, "the first endpoints are no return to a policy"


async def test_what_stays_wrong_is_an_event_and_its_end_is_another(tmp_path: Path) -> None:
    async with staged(tmp_path) as stage:
        stage.put(ingress_class(), config_map(ssl_redirect="false"))
        zonal = await stage.ready("--update-status=true", scale=AGES)
        endpoint = await stage.endpoint("cart")
        stage.put(ingress("web", rule(HOST, path("/", "cart"))))
        warned = ("Warning", "ServiceMissing")
        await has_events(stage, [warned])
        stage.put(service("cart"), endpoint_slice(endpoint))
        await answers(zonal, 200, HOST)
        await has_events(stage, [warned, ("Normal", "ServiceMissing")])
        assert "closed: Ingress shop/web: ServiceMissing" in zonal.stderr
        assert "resolved: Ingress shop/web: ServiceMissing" in zonal.stderr


async def test_an_outage_of_the_api_server_is_one_warning_that_says_what_is_in_use(tmp_path: Path) -> None:
    async with staged(tmp_path) as stage:
        endpoint = await stage.endpoint("cart")
        stage.put(ingress_class(), config_map(ssl_redirect="false"))
        stage.put(service("cart"), endpoint_slice(endpoint), ingress("web", rule(HOST, path("/", "cart"))))
        zonal = await stage.ready("--update-status=true", scale=AGES)
        before = zonal.stderr
        await stage.server.stop()

        async def is_told() -> bool:
            return "ApiUnreachable" in zonal.stderr

        await becomes(is_told)
        await asyncio.gather(*(answers(zonal, 200, HOST) for _ in range(5)))
        warned = [line for line in zonal.stderr.removeprefix(before).splitlines() if " WARNING " in line]
        assert len(warned) == 1, warned
        line = warned[0]
        assert "degraded: ApiServer kubernetes: ApiUnreachable: The API server does not answer" in line
        assert "zonal uses what it read last" in line
        (finding,) = await zonal.findings()
        assert (finding["kind"], finding["severity"]) == ("ApiServer", "degraded")
        await stage.server.start()

        async def is_over() -> bool:
            return not await zonal.findings()

        await becomes(is_over)
