"""With an autoscaler the chart never asks for fewer replicas than there are, nor than the autoscaler keeps to.

Helm itself installs and upgrades, on the test API server, a chart that has nothing else than the words of ours.
"""

from __future__ import annotations

import asyncio
import re
import shutil
from pathlib import Path

import pytest

from tests.fakes.apiserver import ApiServer
from tests.features.deploying.rendering import CHART
from tests.integration.manifests import Document

_WORDS = re.compile(r"^  \{\{- \$present := lookup .*?^  replicas: .*?$", re.MULTILINE | re.DOTALL)
_LEAST = 3


async def helm(*arguments: str) -> str:
    """What `helm` prints."""
    program = shutil.which("helm")
    if program is None:
        pytest.skip("no helm on the PATH")
    process = await asyncio.create_subprocess_exec(
        program, *arguments, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    said, _ = await process.communicate()
    assert process.returncode == 0, said.decode()
    return said.decode()


def scaled_chart(place: Path) -> Path:
    """A chart with a Deployment of which nothing is said but its replicas, in the words of our chart."""
    (words,) = _WORDS.findall((CHART / "templates" / "deployment.yaml").read_text())
    templates = place / "chart" / "templates"
    templates.mkdir(parents=True)
    (templates / "_helpers.tpl").write_text((CHART / "templates" / "_helpers.tpl").read_text())
    head = '{{- $name := "zonal" }}\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: zonal}\nspec:\n'
    (templates / "deployment.yaml").write_text(f"{head}{words}\n")
    (place / "chart" / "Chart.yaml").write_text("{apiVersion: v2, name: zonal, version: 0.1.0}")
    (place / "chart" / "values.yaml").write_text(f"replicas: {_LEAST}")
    return place / "chart"


def deployment(replicas: int) -> Document:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "zonal", "namespace": "zonal"},
        "spec": {"replicas": replicas},
    }


async def test_the_first_installation_has_the_least_and_an_upgrade_what_there_is(tmp_path: Path) -> None:
    if not (await helm("version", "--short")).startswith("v3."):
        pytest.skip("Helm 4 applies on the server, which the test API server cannot")
    chart = scaled_chart(tmp_path)
    async with ApiServer() as server:
        access = ("--kubeconfig", str(server.write_kubeconfig(tmp_path / "kubeconfig")), "--namespace", "zonal")
        server.put({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "zonal"}})

        async def upgraded() -> int:
            await helm("upgrade", "--install", "zonal", str(chart), "--disable-openapi-validation", *access)
            return int((server.get("Deployment", "zonal", "zonal") or {})["spec"]["replicas"])

        assert await upgraded() == _LEAST
        for present, kept in ((7, 7), (1, _LEAST), (0, 0)):
            server.put(deployment(present))
            assert await upgraded() == kept
