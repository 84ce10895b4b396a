"""Traefik's two files, as JSON, which is YAML."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from tests.bench.peers.configs.grpc import SERVICE_PATH
from tests.bench.peers.configs.setup import ECHO_PATH, Setup

Part = dict[str, object]


def static(setup: Setup, dynamic: str) -> str:
    """`dynamic` is the name of the other file. Threads are in its environment."""
    text: Part = {
        "global": {"checkNewVersion": False, "sendAnonymousUsage": False},
        "log": {"level": "ERROR"},
        "entryPoints": {
            "http": {"address": f"127.0.0.1:{setup.http_port}"},
            "https": {"address": f"127.0.0.1:{setup.https_port}"},
        },
        "providers": {"file": {"filename": dynamic, "watch": False}},
    }
    return msgspec.json.encode(text).decode()


def dynamic(setup: Setup) -> str:
    """Routes, endpoints and the certificate."""
    routers: Part = {}
    for entry, more in (("http", {}), ("https", {"tls": Part()})):
        for name, path in (("app", "/"), ("calls", SERVICE_PATH), ("echo", ECHO_PATH)):
            rule = f"PathPrefix(`{path}`)"
            routers[f"{name}-{entry}"] = {"entryPoints": [entry], "rule": rule, "service": name, **more}
    pair = {"certFile": str(setup.certificate), "keyFile": str(setup.key)}
    text: Part = {
        "http": {
            "routers": routers,
            "services": {
                "app": _service(setup.endpoint_ports),
                "calls": _service(setup.grpc_ports, scheme="h2c"),
                "echo": _service((setup.echo_port,)),
            },
        },
        "tls": {"certificates": [pair], "stores": {"default": {"defaultCertificate": pair}}},
    }
    return msgspec.json.encode(text).decode()


def _service(ports: Sequence[int], *, scheme: str = "http") -> Part:
    return {"loadBalancer": {"servers": [{"url": f"{scheme}://127.0.0.1:{port}"} for port in ports]}}
