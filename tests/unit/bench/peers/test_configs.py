"""What every contender is told: the same ports, whatever the language."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from ingress.sources.manifests import Manifest, read_manifest
from tests.bench.peers.cases import BROWSER_FIELDS
from tests.bench.peers.configs import caddy, envoy, haproxy, nginx, traefik, zonal
from tests.bench.peers.configs.features import FEATURES
from tests.bench.peers.configs.grpc import SERVICE_PATH
from tests.bench.peers.configs.setup import ECHO_PATH, Setup

Told = Callable[[Setup], str]


@pytest.mark.parametrize("told", [nginx.proxy, haproxy.proxy, envoy.proxy, caddy.proxy, traefik.dynamic])
def test_a_peer_is_told_all_endpoints_and_the_one_that_echoes(told: Told, setup: Setup) -> None:
    text = told(setup)
    assert all(str(port) in text for port in (*setup.endpoint_ports, setup.echo_port))
    assert ECHO_PATH in text


@pytest.mark.parametrize("told", [nginx.proxy, haproxy.proxy, envoy.proxy, caddy.proxy, traefik.dynamic])
def test_a_peer_that_takes_calls_is_told_where_they_go(told: Told, setup: Setup) -> None:
    text = told(setup)
    assert all(str(port) in text for port in setup.grpc_ports)
    assert SERVICE_PATH in text


@pytest.mark.parametrize(
    "told", [nginx.proxy, haproxy.proxy, envoy.proxy, caddy.proxy, lambda setup: traefik.static(setup, "/dynamic.yml")]
)
def test_a_peer_listens_on_both_its_ports(told: Told, setup: Setup) -> None:
    text = told(setup)
    assert str(setup.http_port) in text
    assert str(setup.https_port) in text


@pytest.mark.parametrize("told", [nginx.proxy, haproxy.proxy, envoy.proxy, caddy.proxy, traefik.dynamic])
def test_a_peer_has_the_certificate(told: Told, setup: Setup) -> None:
    text = told(setup)
    assert str(setup.both) in text or (str(setup.certificate) in text and str(setup.key) in text)


def test_caddy_speaks_http2_over_tls_and_to_the_endpoints_of_calls_alone(setup: Setup) -> None:
    servers = json.loads(caddy.proxy(setup))["apps"]["http"]["servers"]
    assert {name: server["protocols"] for name, server in servers.items()} == {"http": ["h1"], "https": ["h1", "h2"]}
    assert servers["https"]["tls_connection_policies"] == [{"alpn": ["h2", "http/1.1"]}]
    for server in servers.values():
        handlers = [route["handle"][0] for route in server["routes"]]
        assert [handler["transport"]["versions"] for handler in handlers] == [["1.1"], ["h2c"], ["1.1"]]


@pytest.mark.parametrize("told", [envoy.proxy, caddy.proxy, traefik.dynamic])
def test_what_is_json_is_json(told: Told, setup: Setup) -> None:
    assert json.loads(told(setup))


@pytest.mark.parametrize(
    "told", [nginx.proxy, lambda setup: nginx.endpoints(setup.place, (1,), grpc_ports=(2,), workers=1, is_root=True)]
)
def test_every_bracket_of_nginx_is_closed(told: Told, setup: Setup) -> None:
    text = told(setup)
    assert text.count("{") == text.count("}")


def test_endpoints_listen_on_every_port_and_answer_107_bytes(setup: Setup) -> None:
    text = nginx.endpoints(setup.place, setup.endpoint_ports, grpc_ports=setup.grpc_ports, workers=1, is_root=False)
    assert all(f"listen 127.0.0.1:{port} " in text for port in setup.endpoint_ports)
    assert f'return 200 "{"x" * 107}";' in text
    assert "user root" not in text
    assert "user root" in nginx.endpoints(setup.place, (1,), grpc_ports=(2,), workers=1, is_root=True)


def test_the_manifests_of_zonal_are_read_without_a_finding(setup: Setup) -> None:
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": list(zonal.objects(setup, is_zone_aware=True))})
    manifest = read_manifest(text.encode(), path="all.json", last=Manifest())
    assert manifest.findings == ()
    assert len(manifest.objects) == 2 + 3 + 8 + 1 + 1 + 1 + 1 + zonal.HOSTS + len(FEATURES) + 1


def test_half_of_the_endpoints_of_zonal_are_in_its_zone(setup: Setup) -> None:
    slices = [item for item in zonal.objects(setup, is_zone_aware=True) if item["kind"] == "EndpointSlice"]
    zones = {item["ports"][0]["port"]: item["endpoints"][0]["zone"] for item in slices}
    assert [zones[port] for port in setup.endpoint_ports] == [zonal.OWN_ZONE] * 2 + [zonal.OTHER_ZONE] * 2


def test_the_flag_is_off_where_it_must_be(setup: Setup) -> None:
    for is_zone_aware in (True, False):
        objects = zonal.objects(setup, is_zone_aware=is_zone_aware, hosts=0)
        (settings,) = [item["data"] for item in objects if item["kind"] == "ConfigMap"]
        assert settings["zone-aware-routing"] == ("true" if is_zone_aware else "false")


def test_a_browser_sends_fifteen_fields() -> None:
    assert len({field.partition(":")[0].lower() for field in BROWSER_FIELDS}) == 15
