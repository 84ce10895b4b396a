"""The kinds of Gateway API on the wire: served or not, late, gone, refused, or of an older version."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from pathlib import Path

import msgspec
import pytest

from ingress.objects.gateway import Gateway, GatewayClass, Namespace
from ingress.objects.gateway_routes import HttpRoute
from ingress.objects.kinds import OPTIONAL_KINDS, Kind
from ingress.sources.contract import Wanted
from tests.fakes.apiserver import ApiServer
from tests.fakes.apiserver.faults import Fault
from tests.fakes.apiserver.kinds import Document
from tests.fakes.sockets import until
from tests.integration.sourcing import OPTIONS, Following, fill, following

GATEWAYS = msgspec.structs.replace(OPTIONS, gateways=True)
GROUP = "gateway.networking.k8s.io"
KINDS = frozenset(kind.value for kind in OPTIONAL_KINDS) - {"Namespace"}


def at(version: str, kinds: Iterable[str] = KINDS) -> frozenset[tuple[str, str]]:
    return frozenset((version, kind) for kind in kinds)


def thing(kind: str, name: str, namespace: str = "", **spec: object) -> Document:
    metadata = {"name": name, "namespace": namespace} if namespace else {"name": name}
    return {"apiVersion": f"{GROUP}/v1", "kind": kind, "metadata": metadata, "spec": spec}


def fill_gateways(server: ApiServer) -> None:
    fill(server)
    labels = {"team": "a"}
    server.put({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop", "labels": labels}})
    server.put({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "other"}})
    server.put(thing("GatewayClass", "zonal", controllerName="zonal-ingress.io/gateway"))
    server.put(thing("Gateway", "public", "shop", gatewayClassName="zonal"))
    server.put(thing("HTTPRoute", "web", "shop"))
    server.put(thing("HTTPRoute", "web", "other"))


def names(cluster: Following, record: type[Gateway | GatewayClass | HttpRoute | Namespace]) -> set[tuple[str, str]]:
    return {(item.metadata.namespace, item.metadata.name) for item in cluster.inventory.of(record)}


def known(cluster: Following) -> bool:
    return cluster.inventory.complete and cluster.source.want(Wanted())


def groups_watched(server: ApiServer) -> set[str]:
    return {call.resource for call in server.calls if call.group == GROUP and call.is_watch}


async def test_every_kind_that_is_served_is_known_before_anything_is_published(tmp_path: Path) -> None:
    async with ApiServer() as server:
        server.custom = at("v1")
        fill_gateways(server)
        async with following(server, tmp_path, GATEWAYS) as cluster:
            await until(lambda: known(cluster))
            assert all(cluster.inventory.knows(kind) for kind in OPTIONAL_KINDS)
            assert names(cluster, GatewayClass) == {("", "zonal")}
            assert names(cluster, Gateway) == {("shop", "public")}
            assert names(cluster, HttpRoute) == {("shop", "web"), ("other", "web")}
            labels = {item.metadata.name: item.metadata.labels for item in cluster.inventory.of(Namespace)}
            assert labels == {"shop": {"team": "a"}, "other": {}}
            assert cluster.reasons() == set()
            server.put(thing("HTTPRoute", "late", "shop"))
            await until(lambda: ("shop", "late") in names(cluster, HttpRoute))
        await until(lambda: server.open_watches == 0)


async def test_without_the_kinds_nothing_is_followed_or_found_and_one_line_says_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    async with ApiServer() as server:
        fill_gateways(server)
        async with following(server, tmp_path, GATEWAYS) as cluster:
            await until(lambda: known(cluster))
            looks = len([call for call in server.calls if call.path == f"/apis/{GROUP}"])
            await server.until_calls(lambda call: call.path == f"/apis/{GROUP}", looks + 2)
            assert all(cluster.inventory.knows(kind) for kind in OPTIONAL_KINDS)
            assert cluster.reasons() == set()
        assert not [call for call in server.calls if call.group == GROUP or call.resource == "namespaces"]
    lines = [record.message for record in caplog.records if "Gateway API" in record.message]
    assert len(lines) == 1
    assert "does not serve GatewayClass, Gateway, ListenerSet" in lines[0]


async def test_a_kind_that_appears_is_followed_and_one_that_goes_is_empty(tmp_path: Path) -> None:
    async with ApiServer() as server:
        fill_gateways(server)
        async with following(server, tmp_path, GATEWAYS) as cluster:
            await until(lambda: known(cluster))
            server.custom = at("v1", {"Gateway"})
            await until(lambda: names(cluster, Gateway) == {("shop", "public")})
            await until(lambda: len(cluster.inventory.of(Namespace)) == 2)
            server.custom = at("v1", {"Gateway", "HTTPRoute"})
            await until(lambda: len(cluster.inventory.of(HttpRoute)) == 2)
            server.custom = at("v1", {"Gateway"})
            await until(lambda: not cluster.inventory.of(HttpRoute))
            assert names(cluster, Gateway) == {("shop", "public")}
            await until(lambda: cluster.reasons() == set())
            server.custom = frozenset()
            await until(lambda: not cluster.inventory.of(Gateway) and not cluster.inventory.of(Namespace))
            await until(lambda: cluster.reasons() == set())


async def test_older_versions_are_read_where_v1_is_missing_and_a_new_version_loses_nothing(tmp_path: Path) -> None:
    async with ApiServer() as server:
        server.custom = at("v1beta1")
        fill_gateways(server)
        async with following(server, tmp_path, GATEWAYS) as cluster:
            await until(lambda: known(cluster))
            assert len(cluster.inventory.of(HttpRoute)) == 2
            assert groups_watched(server) == {"gatewayclasses", "gateways", "httproutes", "referencegrants"}
            assert {call.version for call in server.calls if call.group == GROUP} == {"v1beta1"}
            gone: list[bool] = []
            cluster.seen = lambda: gone.append(len(cluster.inventory.of(HttpRoute)) < 2)
            server.custom = at("v1")
            await until(lambda: any(call.version == "v1" and call.resource == "httproutes" for call in server.calls))
            server.put(thing("HTTPRoute", "late", "shop"))
            await until(lambda: ("shop", "late") in names(cluster, HttpRoute))
            assert gone
            assert not any(gone)


async def test_a_refusal_of_one_kind_stops_no_other(tmp_path: Path) -> None:
    async with ApiServer() as server:
        server.custom = at("v1")
        fill_gateways(server)
        server.faults.add(Fault(resource="grpcroutes", status=403))
        async with following(server, tmp_path, GATEWAYS) as cluster:
            await until(lambda: known(cluster))
            assert len(cluster.inventory.of(HttpRoute)) == 2
            assert cluster.inventory.knows(Kind.GRPC_ROUTE)
            await until(lambda: cluster.reasons() == {("GRPCRoute", "ApiForbidden")})


async def test_a_discovery_that_is_refused_stops_no_ingress_and_is_said(tmp_path: Path) -> None:
    async with ApiServer() as server:
        server.custom = at("v1")
        fill_gateways(server)
        refusal = Fault(matches=lambda call: call.path == f"/apis/{GROUP}", status=403)
        server.faults.add(refusal)
        async with following(server, tmp_path, GATEWAYS) as cluster:
            await until(lambda: known(cluster))
            assert ("HTTPRoute", "ApiForbidden") in cluster.reasons()
            server.faults.remove(refusal)
            await until(lambda: len(cluster.inventory.of(HttpRoute)) == 2)
            await until(lambda: cluster.reasons() == set())


async def test_of_an_unwatched_namespace_nothing_is_read(tmp_path: Path) -> None:
    options = msgspec.structs.replace(GATEWAYS, namespaces=("shop",))
    async with ApiServer() as server:
        server.custom = at("v1")
        fill_gateways(server)
        async with following(server, tmp_path, options) as cluster:
            await until(lambda: known(cluster))
            assert names(cluster, HttpRoute) == {("shop", "web")}
            assert names(cluster, Namespace) == {("", "shop")}
