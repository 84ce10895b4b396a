"""Caddy's configuration, as JSON."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from tests.bench.peers.configs.setup import ECHO_PATH, Setup

Part = dict[str, object]


def proxy(setup: Setup) -> str:
    """HTTP/1.1 only, as the clients are; no certificates of its own making. Threads are in its environment."""
    text: Part = {
        "admin": {"disabled": True},
        "logging": {"logs": {"default": {"level": "ERROR"}}},
        "apps": {
            "http": {
                "servers": {
                    "http": _listening(setup.http_port, setup, {}),
                    "https": _listening(setup.https_port, setup, {"tls_connection_policies": [{}]}),
                }
            },
            "tls": {
                "certificates": {"load_files": [{"certificate": str(setup.certificate), "key": str(setup.key)}]},
            },
        },
    }
    return msgspec.json.encode(text).decode()


def _listening(port: int, setup: Setup, more: Part) -> Part:
    echo: Part = {"match": [{"path": [f"{ECHO_PATH}*"]}], "handle": [_handler((setup.echo_port,))], "terminal": True}
    return {
        "listen": [f"127.0.0.1:{port}"],
        "protocols": ["h1"],
        "automatic_https": {"disable": True},
        "routes": [echo, {"handle": [_handler(setup.endpoint_ports)]}],
        **more,
    }


def _handler(ports: Sequence[int]) -> Part:
    return {
        "handler": "reverse_proxy",
        "upstreams": [{"dial": f"127.0.0.1:{port}"} for port in ports],
        "load_balancing": {"selection_policy": {"policy": "round_robin"}},
        "transport": {"protocol": "http", "keep_alive": {"enabled": True, "max_idle_conns_per_host": 64}},
    }
