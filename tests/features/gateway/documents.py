"""The objects of a case as Kubernetes documents, and their changes."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from typing import Any

from ingress.objects.definitions import definitions_in
from ingress.sources.manifests import Contents
from tests.features.gateway.cases import Case, Json
from tests.features.ingress_nginx.authorities import Authorities
from tests.integration.manifests import Document, tls_secret

CLASS: Document = {
    "apiVersion": "gateway.networking.k8s.io/v1",
    "kind": "GatewayClass",
    "metadata": {"name": "zonal"},
    "spec": {"controllerName": "zonal-ingress.io/controller"},
}

DEFINITION: Document = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {
        "name": "gatewayclasses.gateway.networking.k8s.io",
        "annotations": {
            "gateway.networking.k8s.io/bundle-version": "v1.6.1",
            "gateway.networking.k8s.io/channel": "experimental",
        },
    },
    "spec": {},
}
"""The definition that says which definitions of Gateway API there are."""

PROVISIONED = Contents({}, (), definitions_in(DEFINITION)).provisioned
"""What a source says about it."""

Place = tuple[str, int]
"""The address and port of an endpoint."""

Placing = Callable[[str, Json], dict[int, list[Place]]]
"""Where the endpoints of each port of a Service are: called with `namespace/name` and what the case says of it."""


class Cluster:
    """The objects of a case as they are now. Generations count as an API server counts them."""

    def __init__(self, case: Case, authorities: Authorities, placing: Placing) -> None:
        self._authorities = authorities
        self._placing = placing
        self._documents: dict[tuple[str, str], list[Document]] = {}
        if not any(each["kind"] == "GatewayClass" for each in case.manifests):
            self._put(CLASS)
        for item in case.manifests:
            self._put(item)
        for name, labels in case.namespaces.items():
            self.apply({"namespace": name, "labels": labels})
        for name, said in case.backends.items():
            self.apply({"backend": name, **said})
        for name, said in case.secrets.items():
            self.apply({"secret": name, **said})
        for name, said in case.configmaps.items():
            self.apply({"configmap": name, **said})
        settings = {str(key): str(value) for key, value in case.zone.get("config", {}).items()}
        self._put(_object("v1", "ConfigMap", "zonal/zonal", data=settings))

    def documents(self) -> list[Document]:
        """Every document."""
        return [each for documents in self._documents.values() for each in documents]

    def generation(self, of: str) -> int:
        """The generation of the object `Kind namespace/name`; 0 if there is none."""
        kind, _, name = of.partition(" ")
        documents = self._documents.get((kind, name), [{"metadata": {}}])
        return int(documents[0]["metadata"].get("generation", 0))

    def apply(self, change: Json) -> None:
        """One entry of `apply`."""
        if "namespace" in change:
            labels = {"kubernetes.io/metadata.name": change["namespace"], **change["labels"]}
            self._put(
                {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": change["namespace"], "labels": labels}}
            )
        elif "backend" in change:
            self._documents["Service", change["backend"]] = list(self._service(change["backend"], change))
        elif "secret" in change:
            self._put(self._secret(change["secret"], change))
        elif "configmap" in change:
            data = dict(change.get("data", {}))
            if "ca" in change:
                data["ca.crt"] = self._authorities.authority(change["ca"]).certificate_pem.decode()
            self._put(_object("v1", "ConfigMap", change["configmap"], data=data))
        elif "kind" in change:
            self._put(change)

    def delete(self, of: str) -> None:
        """One entry of `delete`: `Kind namespace/name`."""
        kind, _, name = of.partition(" ")
        del self._documents[kind, name]

    def _put(self, document: Document) -> None:
        metadata = document["metadata"]
        namespace = metadata.get("namespace")
        key = (document["kind"], f"{namespace}/{metadata['name']}" if namespace else metadata["name"])
        before = self._documents.get(key, [{"metadata": {}}])[0]
        generation = before["metadata"].get("generation", 0) + (before.get("spec") != document.get("spec"))
        self._documents[key] = [{**document, "metadata": {**metadata, "generation": max(1, generation)}}]

    def _service(self, place: str, said: Json) -> Iterator[Document]:
        ports = [_port(each) for each in said["ports"]]
        spec: Document = {"ports": ports}
        if said.get("headless"):
            spec["clusterIP"] = "None"
        if "external_name" in said:
            spec |= {"type": "ExternalName", "externalName": said["external_name"]}
        if "trafficDistribution" in said:
            spec["trafficDistribution"] = said["trafficDistribution"]
        yield _object("v1", "Service", place, spec=spec)
        hows = said.get("endpoints", 1)
        hows = [{} if not isinstance(each, dict) else each for each in ([{}] * hows if isinstance(hows, int) else hows)]
        for port in ports:
            for index, (address, number) in enumerate(self._placing(place, said).get(port["port"], ())):
                yield _slice(place, f"{port['port']}-{index}", port, (address, number), hows[index])

    def _secret(self, place: str, said: Json) -> Document:
        namespace, _, name = place.partition("/")
        pair = None
        if "certificate" in said:
            pair = self._authorities.certificate(tuple(said["certificate"]))
        elif "client" in said:
            pair = self._authorities.client(said["client"])
        if pair is not None:
            other = self._authorities.certificate((str(said["key_of"]),)) if "key_of" in said else pair
            return tls_secret(name, chain=pair.chain, key=other.key_pem, namespace=namespace)
        data = {key: base64.b64encode(text.encode()).decode() for key, text in said.get("data", {}).items()}
        return _object("v1", "Secret", place, type="Opaque", data=data)


def _object(version: str, kind: str, place: str, **rest: Any) -> Document:
    namespace, _, name = place.partition("/")
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name, "namespace": namespace}, **rest}


def _port(said: Json | int) -> Document:
    port = {"port": said} if isinstance(said, int) else {**said}
    return {"name": f"p{port['port']}", "protocol": "TCP", **port}


def _slice(place: str, suffix: str, port: Document, endpoint: Place, how: Json) -> Document:
    """A slice of its own for each endpoint, because their ports differ."""
    address, number = endpoint
    name = place.partition("/")[2]
    said: Document = {"addresses": [address], "conditions": {"ready": True}}
    if "zone" in how:
        said["zone"] = how["zone"]
    if "hint" in how:
        said["hints"] = {"forZones": [{"name": how["hint"]}]}
    document = _object(
        "discovery.k8s.io/v1", "EndpointSlice", f"{place}-{suffix}", addressType="IPv4", endpoints=[said]
    )
    document["ports"] = [{"name": port["name"], "port": number, "protocol": port["protocol"]}]
    document["metadata"]["labels"] = {"kubernetes.io/service-name": name}
    return document
