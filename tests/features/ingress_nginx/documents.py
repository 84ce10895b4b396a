"""The objects of a case as Kubernetes documents."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

from tests.features.ingress_nginx.authorities import Authorities
from tests.features.ingress_nginx.cases import Json
from tests.features.ingress_nginx.endpoints import CLUSTER_IP, Endpoint
from tests.integration.manifests import Document, backend, config_map, ingress_class, tls_secret

_PREFIX = "nginx.ingress.kubernetes.io/"
_PORT_NAME = "http"


def cluster_documents(config: Mapping[str, str]) -> list[Document]:
    """The class of all Ingresses, and the settings."""
    return [ingress_class(), config_map(**config)]


def case_documents(
    objects: Json, endpoints: Mapping[str, list[Endpoint]], authorities: Authorities, *, shared_port: int
) -> list[Document]:
    """Everything that the objects of a case are in the cluster. A Service with a clusterIP has the `shared_port`."""
    namespace, services = objects["namespace"], objects.get("services", {})
    ports = {name: shared_port for name, service in services.items() if service.get("cluster_ip")}
    documents = [_ingress(namespace, each, ports) for each in objects.get("ingresses", ())]
    for name, service in services.items():
        if not service.get("missing"):
            documents += _service(namespace, name, service, endpoints.get(name, []), ports.get(name, 80))
    for name, secret in objects.get("secrets", {}).items():
        documents.append(_secret(*_place(namespace, name), secret, authorities))
    for name, data in objects.get("configmaps", {}).items():
        owner, short = _place(namespace, name)
        documents.append(_object("v1", "ConfigMap", owner, short, data=dict(data)))
    return documents


def _place(namespace: str, name: str) -> tuple[str, str]:
    """Namespace and name of what is called `name` or `namespace/name`."""
    owner, _, short = name.rpartition("/")
    return owner or namespace, short


def _object(version: str, kind: str, namespace: str, name: str, **rest: Any) -> Document:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name, "namespace": namespace}, **rest}


def _ingress(namespace: str, ingress: Json, ports: Mapping[str, int]) -> Document:
    spec: Document = {
        "ingressClassName": "zonal",
        "rules": [_rule(each, ports) for each in ingress.get("rules", ())],
        "tls": [_entry(each) for each in ingress.get("tls", ())],
    }
    if ingress.get("defaultBackend"):
        spec["defaultBackend"] = _backend(ingress["defaultBackend"], ports)
    document = _object("networking.k8s.io/v1", "Ingress", namespace, ingress["name"], spec=spec)
    document["metadata"]["annotations"] = {
        f"{_PREFIX}{name}": str(value) for name, value in ingress.get("annotations", {}).items()
    }
    document["metadata"]["creationTimestamp"] = f"2026-01-{ingress.get('created', 1):02}T00:00:00Z"
    return document


def _rule(rule: Json, ports: Mapping[str, int]) -> Document:
    document: Document = {"host": rule["host"]} if rule.get("host") else {}
    if rule.get("paths"):
        paths = [
            {"path": text, "pathType": kind, "backend": _backend(service, ports)}
            for text, kind, service in rule["paths"]
        ]
        document["http"] = {"paths": paths}
    return document


def _entry(entry: Json) -> Document:
    document: Document = {"hosts": entry["hosts"]} if entry.get("hosts") else {}
    return {**document, "secretName": entry["secret"]} if entry.get("secret") else document


def _backend(named: str | None, ports: Mapping[str, int]) -> Document:
    if named is None:
        return {"resource": {"apiGroup": "example.test", "kind": "Bucket", "name": "static"}}
    name, _, port_name = named.partition(":")
    return backend(name, port_name or ports.get(name, 80))


def _service(namespace: str, name: str, service: Json, endpoints: list[Endpoint], port: int) -> list[Document]:
    spec: Document = {"ports": [{"name": _PORT_NAME, "port": port}]}
    if "external_name" in service:
        spec |= {"type": "ExternalName", "externalName": service["external_name"]}
    if endpoints and endpoints[-1].index == CLUSTER_IP:
        spec["clusterIP"] = endpoints[-1].host
    slices = [_slice(namespace, each) for each in endpoints if each.index != CLUSTER_IP]
    return [_object("v1", "Service", namespace, name, spec=spec), *slices]


def _slice(namespace: str, endpoint: Endpoint) -> Document:
    """A slice of its own for each endpoint, because their ports differ."""
    document = _object(
        "discovery.k8s.io/v1",
        "EndpointSlice",
        namespace,
        f"{endpoint.service}-{endpoint.index}",
        addressType="IPv4",
        ports=[{"name": _PORT_NAME, "port": endpoint.port}],
        endpoints=[{"addresses": [endpoint.host], "conditions": {"ready": True}}],
    )
    document["metadata"]["labels"] = {"kubernetes.io/service-name": endpoint.service}
    return document


def _secret(namespace: str, name: str, secret: Json, authorities: Authorities) -> Document:
    document = _object("v1", "Secret", namespace, name, type="Opaque", data={})
    if "certificate" in secret:
        pair = authorities.certificate(tuple(secret["certificate"]))
        document = tls_secret(name, chain=pair.chain, key=pair.key_pem, namespace=namespace)
    data = {key: text.encode() for key, text in secret.get("data", {}).items()}
    if "ca" in secret:
        data["ca.crt"] = authorities.authority(secret["ca"]).certificate_pem
    if "crl" in secret:
        data["ca.crl"] = authorities.revocations(secret["crl"])
    document["data"] |= {key: base64.b64encode(value).decode() for key, value in data.items()}
    return document
