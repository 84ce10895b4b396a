"""A check of a cluster reads everything that the translation wants, once, and writes nothing."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path

import msgspec
import pytest

from ingress.migration.asking import check_cluster, read_once
from ingress.migration.texts import as_text
from ingress.migration.verdicts import IngressOutcome, NameStanding
from ingress.sources.contract import CannotFollow, Wanted
from ingress.sources.events import Event, SourceFindings
from tests.fakes.apiserver import ApiServer
from tests.integration.manifests import Document, endpoint_slice, ingress_class, service
from tests.unit.ingress.migration.dumped import CONTEXT, PlacedEndpoint, controller, nginx, of, settings

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


async def test_what_ingress_nginx_runs_with_counts_before_its_defaults(tmp_path: Path) -> None:
    """The ConfigMap, the namespaces and the ports that its arguments name, unless a person says others."""
    mine = settings(keep_alive="60") | {"metadata": {"name": "nginx", "namespace": "infra"}}
    tcp = settings() | {"metadata": {"name": "tcp", "namespace": "infra"}, "data": {"5432": "db/postgres:5432"}}
    arguments = ("--configmap=infra/nginx", "--watch-namespace=shop", "--tcp-services-configmap=infra/tcp")
    elsewhere = nginx("elsewhere", "/x")
    elsewhere["metadata"]["namespace"] = "apart"
    async with ApiServer() as server:
        place = (service("cart"), endpoint_slice(PlacedEndpoint("cart")))
        for document in (*place, nginx("web"), elsewhere, settings(keep_alive="70"), mine, tcp, controller(*arguments)):
            server.put(document)
        kubeconfig = server.write_kubeconfig(tmp_path / "kubeconfig")
        found = await check_cluster(kubeconfig, LOCAL, seconds=30.0)
        said = await check_cluster(kubeconfig, LOCAL, seconds=30.0, given=["configmap"])
    assert (found.config_map.name, [key.value for key in found.config_map.keys]) == ("infra/nginx", ["60"])
    assert [each.full_name for each in found.ingresses] == ["shop/web"]
    assert found.controller is not None
    assert "5432 to db/postgres:5432" in found.controller.arguments[1].how
    assert "Deployment ingress-nginx/ingress-nginx-controller: the arguments of ingress-nginx" in as_text(found)
    assert (said.config_map.name, [key.value for key in said.config_map.keys]) == (CONTEXT.configmap, ["70"])


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


async def test_listeners_of_a_cluster_stand_on_their_ports(tmp_path: Path) -> None:
    gateway: Document = {
        "apiVersion": "gateway.networking.k8s.io/v1",
        "kind": "Gateway",
        "metadata": {"name": "front", "namespace": "shop"},
        "spec": {"gatewayClassName": "any", "listeners": [{"name": "http", "port": 80, "protocol": "HTTP"}]},
    }
    gateway_class: Document = {
        "apiVersion": "gateway.networking.k8s.io/v1",
        "kind": "GatewayClass",
        "metadata": {"name": "any"},
        "spec": {"controllerName": "other.example/controller"},
    }
    async with ApiServer() as server:
        server.custom = frozenset({("v1", "GatewayClass"), ("v1", "Gateway")})
        for document in (nginx("web"), service("cart"), gateway_class, gateway):
            server.put(document)
        kubeconfig = server.write_kubeconfig(tmp_path / "kubeconfig")
        found = await check_cluster(kubeconfig, LOCAL, seconds=30.0)
    assert [(each.name, each.verdict) for each in found.routes] == [("front", IngressOutcome.WORKS)]
