"""Envoy's static configuration, as JSON."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from tests.bench.peers.configs.grpc import SERVICE_PATH
from tests.bench.peers.configs.setup import ECHO_PATH, Setup

_TYPES = "type.googleapis.com/envoy.extensions"

Part = dict[str, object]


def proxy(setup: Setup) -> str:
    """Everything is as it comes, but one route, round robin and upgrades; threads are an argument of the program."""
    text: Part = {
        "static_resources": {
            "listeners": [
                _listener("http", setup.http_port, {}),
                _listener("https", setup.https_port, {"transport_socket": _tls(setup)}),
            ],
            "clusters": [
                _cluster("app", setup.endpoint_ports, {}),
                _cluster("calls", setup.grpc_ports, _http2()),
                _cluster("echo", (setup.echo_port,), {}),
            ],
        }
    }
    return msgspec.json.encode(text).decode()


def _listener(name: str, port: int, more: Part) -> Part:
    connection_manager = {
        "@type": f"{_TYPES}.filters.network.http_connection_manager.v3.HttpConnectionManager",
        "stat_prefix": name,
        "use_remote_address": True,
        "upgrade_configs": [{"upgrade_type": "websocket"}],
        "http_filters": [
            {"name": "router", "typed_config": {"@type": f"{_TYPES}.filters.http.router.v3.Router"}},
        ],
        "route_config": {
            "virtual_hosts": [
                {
                    "name": "all",
                    "domains": ["*"],
                    "routes": [
                        _route(ECHO_PATH, "echo", {"timeout": "0s"}),
                        _route(SERVICE_PATH, "calls", {}),
                        _route("/", "app", {}),
                    ],
                }
            ]
        },
    }
    filters = [{"name": "http", "typed_config": connection_manager}]
    return {"name": name, "address": _address(port), "filter_chains": [{"filters": filters, **more}]}


def _route(prefix: str, cluster: str, more: Part) -> Part:
    return {"match": {"prefix": prefix}, "route": {"cluster": cluster, **more}}


def _cluster(name: str, ports: Sequence[int], more: Part) -> Part:
    endpoints = [{"endpoint": {"address": _address(port)}} for port in ports]
    return {
        "name": name,
        "type": "STATIC",
        "connect_timeout": "5s",
        "lb_policy": "ROUND_ROBIN",
        "load_assignment": {"cluster_name": name, "endpoints": [{"lb_endpoints": endpoints}]},
        **more,
    }


def _http2() -> Part:
    """What makes a cluster speak HTTP/2."""
    name = "envoy.extensions.upstreams.http.v3.HttpProtocolOptions"
    options = {"@type": f"type.googleapis.com/{name}", "explicit_http_config": {"http2_protocol_options": {}}}
    return {"typed_extension_protocol_options": {name: options}}


def _address(port: int) -> Part:
    return {"socket_address": {"address": "127.0.0.1", "port_value": port}}


def _tls(setup: Setup) -> Part:
    certificate = {
        "certificate_chain": {"filename": str(setup.certificate)},
        "private_key": {"filename": str(setup.key)},
    }
    context = {
        "@type": f"{_TYPES}.transport_sockets.tls.v3.DownstreamTlsContext",
        "common_tls_context": {"tls_certificates": [certificate], "alpn_protocols": ["h2", "http/1.1"]},
    }
    return {"name": "tls", "typed_config": context}
