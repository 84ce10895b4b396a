"""Kubernetes objects as plain documents, and a folder of them: what a person would write by hand."""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Protocol

import yaml

Document = dict[str, Any]

NAMESPACE = "shop"


def ingress_class(name: str = "zonal") -> Document:
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "IngressClass",
        "metadata": {"name": name},
        "spec": {"controller": "zonal-ingress.io/controller"},
    }


def backend(service: str, port: int | str = 80) -> Document:
    return {"service": {"name": service, "port": {"name" if isinstance(port, str) else "number": port}}}


def path(text: str, service: str, *, kind: str = "Prefix") -> Document:
    return {"path": text, "pathType": kind, "backend": backend(service)}


def rule(host: str, *paths: Document) -> Document:
    return {"host": host, "http": {"paths": list(paths)}}


def ingress(
    name: str,
    *rules: Document,
    namespace: str = NAMESPACE,
    class_name: str = "zonal",
    tls: Iterable[Document] = (),
    annotations: Mapping[str, str] | None = None,
) -> Document:
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "Ingress",
        "metadata": {"name": name, "namespace": namespace, "annotations": dict(annotations or {})},
        "spec": {"ingressClassName": class_name, "rules": list(rules), "tls": list(tls)},
    }


def service(name: str, *, namespace: str = NAMESPACE, port: int = 80, port_name: str = "http") -> Document:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"ports": [{"port": port, "name": port_name}]},
    }


class Placed(Protocol):
    """An endpoint on loopback that belongs to a Service."""

    @property
    def service(self) -> str: ...
    @property
    def zone(self) -> str | None: ...
    @property
    def port(self) -> int: ...


def endpoint_slice(endpoint: Placed, *, namespace: str = NAMESPACE, port_name: str = "http") -> Document:
    """A slice of its own for each endpoint: on loopback it is the port that differs, not the address."""
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {
            "name": f"{endpoint.service}-{endpoint.port}",
            "namespace": namespace,
            "labels": {"kubernetes.io/service-name": endpoint.service},
        },
        "addressType": "IPv4",
        "ports": [{"name": port_name, "port": endpoint.port}],
        "endpoints": [{"addresses": ["127.0.0.1"], "conditions": {"ready": True}, "zone": endpoint.zone}],
    }


def config_map(**data: str) -> Document:
    """The settings; `_` in a key stands for `-`."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "zonal", "namespace": "zonal"},
        "data": {key.replace("_", "-"): text for key, text in data.items()},
    }


def tls_secret(name: str, *, chain: bytes, key: bytes, namespace: str = NAMESPACE) -> Document:
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "type": "kubernetes.io/tls",
        "metadata": {"name": name, "namespace": namespace},
        "data": {"tls.crt": base64.b64encode(chain).decode(), "tls.key": base64.b64encode(key).decode()},
    }


class ManifestFolder:
    """A folder of manifests that is edited as a careful editor would: each save replaces the file in one step."""

    def __init__(self, place: Path) -> None:
        self.place = place
        place.mkdir(parents=True, exist_ok=True)

    def write(self, name: str, *documents: Document) -> None:
        """Save documents as YAML, or as a JSON List where `name` ends in `.json`."""
        if name.endswith(".json"):
            self.write_text(name, json.dumps({"apiVersion": "v1", "kind": "List", "items": documents}))
        else:
            self.write_text(name, yaml.dump_all(documents, Dumper=yaml.CSafeDumper))

    def write_text(self, name: str, text: str) -> None:
        unfinished = self.place / f".{name}.unfinished"
        unfinished.write_text(text)
        os.replace(unfinished, self.place / name)
