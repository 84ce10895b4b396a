"""Caddy's configuration, as JSON."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from tests.bench.peers.configs.grpc import SERVICE_PATH
from tests.bench.peers.configs.setup import ECHO_PATH, Setup

Part = dict[str, object]


def proxy(setup: Setup) -> str:
    """HTTP/2 over TLS and to endpoints of gRPC; no certificates of its own making. Threads are in its environment."""
    text: Part = {
        "admin": {"disabled": True},
        "logging": {"logs": {"default": {"level": "ERROR"}}},
        "apps": {
            "http": {
                "servers": {
                    "http": _listening(setup.http_port, setup, ["h1"], {}),
                    "https": _listening(
                        setup.https_port,
                        setup,
                        ["h1", "h2"],
                        {"tls_connection_policies": [{"alpn": ["h2", "http/1.1"]}]},
                    ),
                }
            },
            "tls": {
                "certificates": {"load_files": [{"certificate": str(setup.certificate), "key": str(setup.key)}]},
            },
        },
    }
    return msgspec.json.encode(text).decode()


def _listening(port: int, setup: Setup, protocols: Sequence[str], more: Part) -> Part:
    echo = _route(ECHO_PATH, _handler((setup.echo_port,)))
    calls = _route(SERVICE_PATH, _handler(setup.grpc_ports, versions=("h2c",)))
    return {
        "listen": [f"127.0.0.1:{port}"],
        "protocols": list(protocols),
        "automatic_https": {"disable": True},
        "routes": [echo, calls, {"handle": [_handler(setup.endpoint_ports)]}],
        **more,
    }


def _route(prefix: str, handler: Part) -> Part:
    return {"match": [{"path": [f"{prefix}*"]}], "handle": [handler], "terminal": True}


def _handler(ports: Sequence[int], *, versions: Sequence[str] = ("1.1",)) -> Part:
    keep_alive = {"enabled": True, "max_idle_conns_per_host": 64}
    return {
        "handler": "reverse_proxy",
        "upstreams": [{"dial": f"127.0.0.1:{port}"} for port in ports],
        "load_balancing": {"selection_policy": {"policy": "round_robin"}},
        "transport": {"protocol": "http", "versions": list(versions), "keep_alive": keep_alive},
    }
