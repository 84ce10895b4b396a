"""A GatewayClass says whether the definitions of the cluster have a version that is known, and all that is supported.

What the conformance test GatewayClassSupportedVersionCondition asks, and the list that decides which others it runs.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from ingress.translation.gateway.features import Needed, supported_features
from tests.bench.gateway_churn.objects import gateway_class
from tests.fakes.apiserver import ApiServer
from tests.features.gateway.api_stage import free_range, furnish, options
from tests.features.gateway.documents import DEFINITION
from tests.integration.running import Zonal

PATIENCE_SECONDS = 60.0
POLL_SECONDS = 0.05


def definition(version: str | None, channel: str = "experimental") -> dict[str, Any]:
    """The definition of GatewayClasses. `version` None: without the annotation that says it."""
    annotations = {"gateway.networking.k8s.io/channel": channel}
    if version is not None:
        annotations["gateway.networking.k8s.io/bundle-version"] = version
    return {**DEFINITION, "metadata": {**DEFINITION["metadata"], "annotations": annotations}}


async def becomes(server: ApiServer, wanted: tuple[str, str]) -> dict[str, Any]:
    """The status of the class, once SupportedVersion has this status and reason, and Accepted is true."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            status: dict[str, Any] = (server.get("GatewayClass", "", "zonal") or {}).get("status", {})
            known = {each["type"]: (each["status"], each["reason"]) for each in status.get("conditions", ())}
            if known.get("SupportedVersion") == wanted and known["Accepted"][0] == "True":
                return status
            await asyncio.sleep(POLL_SECONDS)


@pytest.mark.parametrize("unknown", [None, "v0.0.0"])
async def test_the_version_of_the_definitions_is_followed(tmp_path: Path, unknown: str | None) -> None:
    async with ApiServer() as server:
        furnish(server)
        server.put(gateway_class())
        zonal = Zonal(tmp_path, *options(server.write_kubeconfig(tmp_path / "kubeconfig"), free_range(4)))
        try:
            await zonal.is_serving()
            known = ("True", "SupportedVersion")
            first = await becomes(server, known)
            server.put(definition(unknown))
            await becomes(server, ("False", "UnsupportedVersion"))
            server.put(definition("v1.6.1"))
            assert await becomes(server, known) != {}
            listed = [each["name"] for each in first["supportedFeatures"]]
            assert listed == list(supported_features(set(Needed)))
            assert listed == sorted(listed)
        finally:
            zonal.kill()
