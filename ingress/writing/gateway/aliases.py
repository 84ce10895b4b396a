"""Decides which aliases of Gateways are made, changed and deleted. Pure.

An alias is a Service in the namespace of a Gateway that stands for the DNS name of the Gateway's own Service, so that
who lives there needs no name of ours. It has the labels and annotations that the Gateway asks for, and goes with it,
even if nobody of ours is there any more: the Gateway is its owner, which the Service in our namespace cannot have.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Final

import msgspec

from ingress.objects.gateway_references import GATEWAY_GROUP
from ingress.objects.kinds import Service
from ingress.settings.gateway_ports import GatewayServices
from ingress.translation.gateway.own_ports import Exposure
from ingress.translation.gateway.register import GatewayKey, service_name
from ingress.writing.gateway.services import (
    DIGEST,
    GATEWAY_LABEL,
    Document,
    ServiceWrite,
    carried,
    gateway_label,
    service_write,
    without_carried,
)

_API: Final = f"{GATEWAY_GROUP}/v1"

ALIAS_ANNOTATION: Final = "zonal-ingress.io/alias-of"
"""On an alias: the Gateway that it is for, as `namespace/name`."""


def due_aliases(
    exposures: Iterable[Exposure], services: Iterable[Service], options: GatewayServices
) -> tuple[ServiceWrite, ...]:
    """The calls that are due. `services` are all of the cluster. A Service of somebody else by the name stays as it is.

    A Gateway in the namespace of its own Service needs no alias. Without a domain of the cluster there are none.
    """
    known = {(each.metadata.namespace, each.metadata.name): each for each in services}
    wanted = [each for each in exposures if options.cluster_domain and each.gateway[0] != options.namespace]
    found: list[ServiceWrite] = []
    for each in wanted:
        namespace, name = each.gateway[0], service_name(each.gateway)
        alias, document = known.get((namespace, name)), _document(each, options)
        if alias is None:
            found.append(service_write("POST", namespace, "", document, name))
        elif gateway_aliased(alias) == each.gateway and not _is_made_of(alias, document):
            found.append(service_write("PATCH", namespace, name, _patch(alias, document)))
    kept = {each.gateway for each in wanted}
    for service in known.values():
        gateway = gateway_aliased(service)
        if gateway is not None and gateway not in kept:
            metadata = service.metadata
            sure: Document = {"preconditions": {"uid": metadata.uid, "resourceVersion": metadata.resource_version}}
            found.append(service_write("DELETE", metadata.namespace, metadata.name, sure))
    return tuple(found)


def gateway_aliased(service: Service) -> GatewayKey | None:
    """The Gateway whose alias a Service is; None: it is none."""
    namespace, _, name = service.metadata.annotations.get(ALIAS_ANNOTATION, "").partition("/")
    gateway = (namespace, name)
    place = (service.metadata.namespace, service.metadata.name)
    return gateway if name and place == (namespace, service_name(gateway)) else None


def _document(exposure: Exposure, options: GatewayServices) -> Document:
    namespace, name = exposure.gateway
    own = service_name(exposure.gateway)
    spec: Document = {
        "type": "ExternalName",
        "externalName": f"{own}.{options.namespace}.svc.{options.cluster_domain}",
    }
    labels = {**exposure.labels, GATEWAY_LABEL: gateway_label(name)}
    annotations = {**exposure.annotations, ALIAS_ANNOTATION: f"{namespace}/{name}", **carried(exposure)}
    owners = [{"apiVersion": _API, "kind": "Gateway", "name": name, "uid": exposure.uid}] if exposure.uid else []
    digest = hashlib.sha256(msgspec.json.encode([spec, labels, annotations, owners], order="sorted")).hexdigest()[:16]
    metadata: Document = {
        "name": own,
        "labels": labels,
        "annotations": {**annotations, DIGEST: digest},
        "ownerReferences": owners,
    }
    return {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec}


def _is_made_of(alias: Service, wanted: Document) -> bool:
    metadata, spec = wanted["metadata"], wanted["spec"]
    assert isinstance(metadata, dict)
    assert isinstance(spec, dict)
    digest: str = metadata["annotations"][DIGEST]
    return alias.spec.external_name == str(spec["externalName"]) and alias.metadata.annotations.get(DIGEST) == digest


def _patch(alias: Service, wanted: Document) -> Document:
    metadata = wanted["metadata"]
    assert isinstance(metadata, dict)
    owners = {"ownerReferences": metadata["ownerReferences"]}
    return {"metadata": {**without_carried(alias, metadata), **owners}, "spec": wanted["spec"]}
