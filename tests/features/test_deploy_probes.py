"""The pod of the chart as a kubelet would run it: its arguments, its environment, its probes, and its end.

No kubelet runs here. The requests are written as those of `pkg/probe/http` in Kubernetes: `kube-probe` as the agent,
the address of the pod as the host, and a connection for each. Every status from 200 to 399 is a success there.
"""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import pytest

from tests.features.cluster.documents import node
from tests.features.cluster.stage import HOST, staged
from tests.features.deploying.finding import container
from tests.features.deploying.rendering import chart
from tests.integration.manifests import service
from tests.integration.running import Zonal
from tests.integration.wire import get

_POD: dict[str, str] = {
    "spec.nodeName": "node-1",
    "metadata.name": "zonal-0",
    "metadata.namespace": "zonal",
    "status.podIP": "10.1.2.3",
    "metadata.labels['topology.kubernetes.io/zone']": "",
}
"""A pod before Kubernetes 1.35, which does not label pods with their zone."""


class Kubelet:
    """Runs the container of a choice of values, and probes it."""

    def __init__(self, choice: str) -> None:
        self._container = container(chart(choice))

    def arguments(self) -> list[str]:
        return [str(each) for each in self._container["args"][1:]]

    def environment(self) -> dict[str, str]:
        return {each["name"]: self._value(each) for each in self._container["env"]}

    def _value(self, variable: dict[str, Any]) -> str:
        if "value" in variable:
            return str(variable["value"])
        return _POD[variable["valueFrom"]["fieldRef"]["fieldPath"]]

    async def probe(self, kind: str, zonal: Zonal) -> bool:
        """Whether the startup, readiness or liveness probe succeeds."""
        asked = self._container[f"{kind}Probe"]["httpGet"]
        assert asked["port"] == "admin"
        fields = ("User-Agent: kube-probe/1.36", "Accept: */*", "Connection: close")
        answer = await get(zonal.admin_port, f"10.1.2.3:{zonal.admin_port}", asked["path"], *fields)
        return 200 <= answer.status < 400


@pytest.mark.parametrize("choice", ["default", "namespaces"])
async def test_the_container_starts_becomes_ready_and_ends_as_its_probes_expect(choice: str, tmp_path: Path) -> None:
    kubelet = Kubelet(choice)
    async with staged(tmp_path) as stage:
        await stage.shop("zone-a")
        stage.put(service("zonal", namespace="zonal"), node("node-1", zone="zone-a"))
        await stage.server.stop()
        zonal = await stage.started(*kubelet.arguments(), environment=kubelet.environment())
        assert await kubelet.probe("startup", zonal)
        assert await kubelet.probe("liveness", zonal)
        assert not await kubelet.probe("readiness", zonal)
        await stage.server.start()
        await zonal.is_ready()
        assert await kubelet.probe("readiness", zonal)
        assert (await get(zonal.http_port, HOST)).status == 200
        zonal.tell(signal.SIGTERM)
        await zonal.is_unready()
        assert not await kubelet.probe("readiness", zonal)
        assert await kubelet.probe("liveness", zonal)
        assert (await get(zonal.http_port, HOST)).status == 200
        zonal.tell(signal.SIGTERM)  # the grace period of 15 s need not pass here
        assert await zonal.has_ended() == 0
