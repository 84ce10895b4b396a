"""A check of a cluster reads everything that the translation wants, once, and writes nothing."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path

import msgspec
import pytest

from ingress.migration.asking import check_cluster, read_once
from ingress.migration.verdicts import IngressOutcome, NameStanding
from ingress.sources.contract import CannotFollow, Wanted
from ingress.sources.events import Event, SourceFindings
from tests.fakes.apiserver import ApiServer
from tests.integration.manifests import endpoint_slice, ingress_class, service
from tests.unit.ingress.migration.dumped import CONTEXT, PlacedEndpoint, nginx, of, settings

pytestmark = pytest.mark.large

LOCAL = msgspec.structs.replace(CONTEXT, allow_local_endpoints=True)


async def test_a_cluster_is_read_once_with_its_configmap_and_secrets(tmp_path: Path) -> None:
    nginx_class = ingress_class("nginx")
    nginx_class["spec"]["controller"] = "k8s.io/ingress-nginx"
    secured = nginx("secured", "/tls", backend_protocol="HTTPS", proxy_ssl_secret="shop/missing")
    async with ApiServer() as server:
        place = (service("cart"), endpoint_slice(PlacedEndpoint("cart")))
        for document in (nginx_class, *place, nginx("web"), secured, settings(keep_alive="60")):
            server.put(document)
        kubeconfig = server.write_kubeconfig(tmp_path / "kubeconfig")
        before = {kind: server.objects(kind) for kind in ("Ingress", "IngressClass", "ConfigMap", "Event", "Lease")}
        found = await check_cluster(kubeconfig, LOCAL, seconds=30.0)
        assert {kind: server.objects(kind) for kind in before} == before
    assert of(found, "web").verdict is IngressOutcome.WORKS
    assert of(found, "secured").verdict is IngressOutcome.CLOSED
    assert [(key.name, key.standing) for key in found.config_map.keys] == [("keep-alive", NameStanding.SAME)]
    assert found.assumed == ()


async def test_a_kubeconfig_that_is_of_no_use_is_said(tmp_path: Path) -> None:
    with pytest.raises(CannotFollow, match="kubeconfig"):
        await check_cluster(tmp_path / "missing", CONTEXT, seconds=1.0)


class _Silent:
    """A source that never says everything."""

    async def events(self) -> AsyncGenerator[Event, None]:
        yield SourceFindings("silent", ())

    def want(self, wanted: Wanted) -> bool:
        raise AssertionError(wanted)


async def test_a_cluster_that_does_not_answer_is_said() -> None:
    with pytest.raises(CannotFollow, match="within 0 s"):
        await read_once(_Silent(), msgspec.structs.replace(CONTEXT), seconds=0.0)
