"""Decides which Services of Gateways are made, changed and deleted. Pure.

A port enters its Service when this replica serves it, and leaves as soon as no listener has it. A Service lives as long
as its Gateway, because its address may be known to the world: also while no listener can be served.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from ingress.objects.kinds import GATEWAY_ANNOTATION, Service
from ingress.settings.gateway_ports import GatewayServices
from ingress.sources.events import BoundPort
from ingress.translation.gateway.own_ports import ExposedPort, Exposure
from ingress.translation.gateway.register import GatewayKey, Register, service_name

GATEWAY_LABEL: Final = "gateway.networking.k8s.io/gateway-name"
_CLASS_LABEL: Final = "app.kubernetes.io/managed-by"
DIGEST: Final = "zonal-ingress.io/made-of"
"""On Services that we make: what stands for all that was wanted of them."""
_CARRIED: Final = "zonal-ingress.io/carried"
_LABEL_LETTERS: Final = 63

Document = dict[str, object]


class ServiceWrite(msgspec.Struct, frozen=True):
    """One call. `verb` is POST, PATCH or DELETE."""

    verb: str
    path: str
    document: Document
    told: str

    @property
    def body(self) -> bytes:
        """The document as JSON."""
        return msgspec.json.encode(self.document)


class ServiceForm(msgspec.Struct, frozen=True):
    """What is the same for all Services: where they are, of which type, and which pods they lead to.

    `distribution` is the trafficDistribution; empty for none.
    """

    options: GatewayServices
    selector: Mapping[str, str]
    distribution: str = "PreferSameZone"


def due_services(
    exposures: Iterable[Exposure], planned: Iterable[BoundPort], register: Register, form: ServiceForm
) -> tuple[ServiceWrite, ...]:
    """The calls that are due. `exposures` are those that all workers of this replica serve."""
    targets = {((each.namespace, each.name), each.port): each.target for each in planned}
    found: list[ServiceWrite] = []
    known = dict(register.services)
    for each in exposures:
        service = known.pop(each.gateway, None)
        ports = [
            (port.port, target, port.protocol)
            for port in each.ports
            if (target := _target(register, targets, each, port))
        ]
        if not ports:
            continue
        wanted = _document(each, ports, form)
        if service is None:
            found.append(service_write("POST", form.options.namespace, "", wanted, service_name(each.gateway)))
        elif not _is_made_of(service, wanted):
            found.append(service_write("PATCH", form.options.namespace, service.metadata.name, _patch(service, wanted)))
    for service in known.values():
        metadata = service.metadata
        conditions: Document = {"preconditions": {"uid": metadata.uid, "resourceVersion": metadata.resource_version}}
        found.append(service_write("DELETE", metadata.namespace, metadata.name, conditions))
    return tuple(found)


def _target(
    register: Register, planned: Mapping[tuple[GatewayKey, int], int], exposure: Exposure, port: ExposedPort
) -> int:
    """The bound port that the Service shall lead to; 0: none yet. What is registered stays."""
    place = (exposure.gateway, port.port)
    bound = register.ports.get(place)
    if bound is not None:
        return bound.target
    return port.target if port.target == planned.get(place) else 0


def service_write(verb: str, namespace: str, name: str, document: Document, told: str = "") -> ServiceWrite:
    """A call about the Service `name`; empty for a new one, which messages call `told`."""
    collection = f"/api/v1/namespaces/{namespace}/services"
    path = f"{collection}/{name}" if name else collection
    return ServiceWrite(verb, path, document, f"{namespace}/{name or told}")


def _document(exposure: Exposure, ports: list[tuple[int, int, str]], form: ServiceForm) -> Document:
    """The whole Service. Labels and annotations of the Gateway give way to ours."""
    namespace, name = exposure.gateway
    spec: Document = {
        "type": form.options.service_type,
        "selector": dict(sorted(form.selector.items())),
        "ports": [
            {
                "name": f"{protocol}-{port}",
                "port": port,
                "targetPort": target,
                "appProtocol": protocol,
                "protocol": "TCP",
            }
            for port, target, protocol in sorted(ports)
        ],
    }
    if form.options.service_type != "ClusterIP":
        spec["externalTrafficPolicy"] = "Local"
    if form.distribution:
        spec["trafficDistribution"] = form.distribution
    if exposure.external_ips:
        spec["externalIPs"] = list(exposure.external_ips)
    labels = {**exposure.labels, GATEWAY_LABEL: gateway_label(name), _CLASS_LABEL: "zonal-ingress.io"}
    annotations = {**exposure.annotations, GATEWAY_ANNOTATION: f"{namespace}/{name}", **carried(exposure)}
    digest = hashlib.sha256(msgspec.json.encode([spec, labels, annotations], order="sorted")).hexdigest()[:16]
    metadata: Document = {
        "name": service_name(exposure.gateway),
        "labels": labels,
        "annotations": {**annotations, DIGEST: digest},
    }
    return {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec}


def _is_made_of(service: Service, wanted: Document) -> bool:
    """Whether a Service is as it was last wanted, and its ports still are. What operators add to it may stay."""
    metadata, spec = wanted["metadata"], wanted["spec"]
    assert isinstance(metadata, dict)
    assert isinstance(spec, dict)
    ports = [(each["port"], each["targetPort"]) for each in spec["ports"]]
    present = sorted((each.port, each.target_port) for each in service.spec.ports)
    return service.metadata.annotations.get(DIGEST) == metadata["annotations"][DIGEST] and present == ports


def _patch(service: Service, wanted: Document) -> Document:
    """A merge patch that makes a Service so, without the labels and annotations that the Gateway no longer asks for."""
    spec = wanted["spec"]
    assert isinstance(spec, dict)
    return {"metadata": without_carried(service, wanted["metadata"]), "spec": {"externalIPs": None, **spec}}


def carried(exposure: Exposure) -> dict[str, str]:
    """The annotation that says which labels and annotations of a Service are those of its Gateway."""
    keys = (*(f"l:{key}" for key in exposure.labels), *(f"a:{key}" for key in exposure.annotations))
    return {_CARRIED: " ".join(keys)}


def without_carried(service: Service, metadata: object) -> Document:
    """A merge patch that gives a Service this metadata, and takes away what it carried of its Gateway before."""
    assert isinstance(metadata, dict)
    before = service.metadata.annotations.get(_CARRIED, "").split()
    return {
        "resourceVersion": service.metadata.resource_version,
        "labels": {each[2:]: None for each in before if each.startswith("l:")} | metadata["labels"],
        "annotations": {each[2:]: None for each in before if each.startswith("a:")} | metadata["annotations"],
    }


def gateway_label(name: str) -> str:
    """The name of a Gateway as a label. A long one is cut and made unlike others by a hash."""
    if len(name) <= _LABEL_LETTERS:
        return name
    digest = hashlib.sha256(name.encode()).hexdigest()[:8]
    return f"{name[: _LABEL_LETTERS - len(digest) - 1]}-{digest}"
