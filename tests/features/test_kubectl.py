"""Real kubectl works with the test API server as with a real one, which keeps it honest."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.fakes.apiserver import ApiServer

KUBECTL = Path(sys.executable).with_name("kubectl")
PATIENCE_SECONDS = 60
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"

pytestmark = pytest.mark.skipif(not KUBECTL.exists(), reason="kubectl is not installed beside Python")


class Kubectl:
    """Runs kubectl with a home of its own."""

    def __init__(self, home: Path, kubeconfig: Path) -> None:
        self._environment = {"HOME": str(home), "KUBECONFIG": str(kubeconfig)}
        self._cache = f"--cache-dir={home / 'cache'}"

    async def start(self, *arguments: str) -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(
            KUBECTL,
            self._cache,
            *arguments,
            env=self._environment,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )

    async def __call__(self, *arguments: str, stdin: str = "", fails: bool = False) -> str:
        """Its output, or its error output when it has to fail."""
        process = await self.start(*arguments)
        async with asyncio.timeout(PATIENCE_SECONDS):
            output, errors = await process.communicate(stdin.encode())
        assert (process.returncode != 0) is fails, (output + errors).decode()
        return (errors if fails else output).decode()


@asynccontextmanager
async def watching(kubectl: Kubectl, *arguments: str) -> AsyncIterator[asyncio.StreamReader]:
    """What a kubectl that goes on prints, for as long as the context lasts."""
    process = await kubectl.start(*arguments)
    assert process.stdout is not None
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            yield process.stdout
    finally:
        process.kill()
        await process.communicate()


def manifests(host: str, *, port: int) -> str:
    """A Service of two ports and an Ingress, as a user writes them."""
    path = {"path": "/", "pathType": "Prefix", "backend": {"service": {"name": "web", "port": {"name": "http"}}}}
    ports = [{"name": "http", "port": 80}, {"name": "admin", "port": port}]
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"}, "spec": {"ports": ports}}
    ingress = {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "Ingress",
        "metadata": {"name": "shop"},
        "spec": {"ingressClassName": "zonal", "rules": [{"host": host, "http": {"paths": [path]}}]},
    }
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": [service, ingress]})


async def test_kubectl_applies_changes_and_deletes_over_tls_with_a_token(tmp_path: Path) -> None:
    async with ApiServer(tls=True, tokens={"secret"}) as server:
        kubectl = Kubectl(tmp_path, server.write_kubeconfig(tmp_path / "config", token="secret"))
        created = await kubectl("apply", "-f", "-", stdin=manifests("a.example.com", port=81))
        assert created.splitlines() == ["service/web created", "ingress.networking.k8s.io/shop created"]
        changed = await kubectl("apply", "-f", "-", stdin=manifests("b.example.com", port=82))
        assert changed.splitlines() == ["service/web configured", "ingress.networking.k8s.io/shop configured"]
        again = await kubectl("apply", "-f", "-", stdin=manifests("b.example.com", port=82))
        assert again.splitlines() == ["service/web unchanged", "ingress.networking.k8s.io/shop unchanged"]

        service, ingress = server.get("Service", "default", "web"), server.get("Ingress", "default", "shop")
        assert service is not None and ingress is not None
        assert [port["port"] for port in service["spec"]["ports"]] == [80, 82], "ports are merged by their number"
        assert service["spec"]["clusterIP"], "what the server filled in stays"
        assert ingress["spec"]["rules"][0]["host"] == "b.example.com"
        assert ingress["metadata"]["generation"] == 2
        assert json.loads(ingress["metadata"]["annotations"][LAST_APPLIED])["spec"] == ingress["spec"]

        refused = await kubectl("apply", "-f", "-", stdin=manifests("NOT_A_HOST", port=82), fails=True)
        assert 'The Ingress "shop" is invalid: spec.rules[0].host: Invalid value: "NOT_A_HOST"' in refused
        deleted = await kubectl("delete", "ingress/shop", "service/web")
        assert 'ingress.networking.k8s.io "shop" deleted' in deleted
        assert server.get("Ingress", "default", "shop") is None


async def test_kubectl_edits_in_all_its_ways(tmp_path: Path) -> None:
    async with ApiServer() as server:
        kubectl = Kubectl(tmp_path, server.write_kubeconfig(tmp_path / "config"))
        await kubectl("create", "-f", "-", stdin=manifests("a.example.com", port=81))
        await kubectl("label", "ingress", "shop", "tier=front")
        await kubectl("annotate", "ingress", "shop", "note=kept")
        await kubectl("patch", "ingress", "shop", "-p", '{"spec": {"ingressClassName": "strategic"}}')
        await kubectl("patch", "service", "web", "--type=json", "-p", '[{"op": "remove", "path": "/spec/ports/1"}]')
        status = {"loadBalancer": {"ingress": [{"ip": "203.0.113.7"}]}}
        change = json.dumps({"status": status, "spec": {"ingressClassName": "no"}})
        await kubectl("patch", "ingress", "shop", "--subresource=status", "--type=merge", "-p", change)

        service, ingress = server.get("Service", "default", "web"), server.get("Ingress", "default", "shop")
        assert service is not None and ingress is not None
        assert ingress["metadata"]["labels"] == {"tier": "front"}
        assert ingress["metadata"]["annotations"] == {"note": "kept"}
        assert ingress["spec"]["ingressClassName"] == "strategic", "a write of the status writes no spec"
        assert ingress["status"] == status
        assert [port["name"] for port in service["spec"]["ports"]] == ["http"]


async def test_kubectl_reads_waits_and_is_told_what_is_wrong(tmp_path: Path) -> None:
    async with ApiServer() as server:
        kubectl = Kubectl(tmp_path, server.write_kubeconfig(tmp_path / "config"))
        server.put({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"}})
        server.put({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one", "labels": {"a": "b"}}})
        assert await kubectl("get", "--raw", "/livez") == "ok"
        listed = await kubectl("get", "configmaps", "-A", "-l", "a in (b, c)", "-o", "name")
        assert listed == "configmap/one\n"
        missing = await kubectl("get", "ingress", "nope", fails=True)
        assert missing.strip() == 'Error from server (NotFound): ingresses.networking.k8s.io "nope" not found'
        server.rules = [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list"]}]
        forbidden = await kubectl("get", "nodes", fails=True)
        assert 'cannot list resource "nodes" in API group "" at the cluster scope' in forbidden


async def test_kubectl_get_w_prints_each_change(tmp_path: Path) -> None:
    async with ApiServer() as server:
        kubectl = Kubectl(tmp_path, server.write_kubeconfig(tmp_path / "config"))
        server.put({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one"}})
        arguments = ("get", "configmaps", "-w", "--output-watch-events", "--no-headers")
        async with watching(kubectl, *arguments) as lines:
            assert (await lines.readline()).split()[:2] == [b"ADDED", b"one"]
            server.put({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one"}, "data": {"a": "b"}})
            assert (await lines.readline()).split()[:2] == [b"MODIFIED", b"one"]
            server.put({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "two"}})
            assert (await lines.readline()).split()[:2] == [b"ADDED", b"two"]
            server.delete("ConfigMap", "default", "one")
            assert (await lines.readline()).split()[:2] == [b"DELETED", b"one"]
            assert server.open_watches == 1
