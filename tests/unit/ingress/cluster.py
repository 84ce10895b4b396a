"""Small cluster objects for tests: say what matters, the rest is valid."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from ingress.findings import Finding
from ingress.objects.kinds import (
    ConfigMap,
    EndpointConditions,
    EndpointSlice,
    Ingress,
    IngressBackend,
    IngressClass,
    IngressClassSpec,
    IngressHttp,
    IngressPath,
    IngressRule,
    IngressSpec,
    IngressTls,
    Kind,
    KubernetesObject,
    Metadata,
    Node,
    Secret,
    Service,
    ServicePort,
    ServicePortReference,
    ServiceReference,
    ServiceSpec,
    SliceEndpoint,
    SlicePort,
)
from ingress.objects.node_status import Allocatable, NodeCondition, NodeSpec, NodeStatus, NodeTaint
from ingress.settings.context import TranslationContext
from ingress.settings.table.option import NGINX_PREFIX
from ingress.sources.events import Replaced
from ingress.sources.inventory import Inventory
from ingress.translation.assembly import Translation, translate

OUR_CONTROLLER = "zonal-ingress.io/controller"


def backend(name: str = "cart", port: int | str = 80) -> IngressBackend:
    reference = ServicePortReference(name=port) if isinstance(port, str) else ServicePortReference(number=port)
    return IngressBackend(service=ServiceReference(name, reference))


def path(text: str = "/", kind: str | None = "Prefix", to: IngressBackend | None = None) -> IngressPath:
    return IngressPath(text, kind, to or backend())


def rule(host: str = "shop.test", *paths: IngressPath) -> IngressRule:
    return IngressRule(host, IngressHttp(paths or (path(),)))


def ingress(
    name: str = "web",
    *rules: IngressRule,
    namespace: str = "shop",
    created: str = "2024-01-01T00:00:00Z",
    sequence: int = 0,
    annotations: Mapping[str, str] | None = None,
    class_name: str | None = "zonal",
    default: IngressBackend | None = None,
    tls: Sequence[IngressTls] = (),
) -> Ingress:
    metadata = Metadata(
        name,
        namespace,
        creation_timestamp=created,
        annotations=dict(annotations or {}),
        sequence=sequence,
    )
    return Ingress(metadata, IngressSpec(class_name, default, rules, tuple(tls)))


def ingress_class(name: str = "zonal", controller: str = OUR_CONTROLLER, *, default: bool = False) -> IngressClass:
    annotations = {"ingressclass.kubernetes.io/is-default-class": "true"} if default else {}
    return IngressClass(Metadata(name, annotations=annotations), IngressClassSpec(controller))


def service(
    name: str = "cart",
    *ports: ServicePort,
    namespace: str = "shop",
    kind: str = "ClusterIP",
    families: tuple[str, ...] = (),
    annotations: Mapping[str, str] | None = None,
    distribution: str = "",
) -> Service:
    metadata = Metadata(name, namespace, annotations=dict(annotations or {}))
    every_port = ports or (ServicePort(80, "http"),)
    return Service(metadata, ServiceSpec(kind, every_port, families, traffic_distribution=distribution))


def endpoint(
    address: str = "10.0.0.1",
    *,
    zone: str = "",
    node: str = "",
    ready: bool | None = None,
    serving: bool | None = None,
    terminating: bool | None = None,
    hints: object = None,
) -> SliceEndpoint:
    return SliceEndpoint((address,), EndpointConditions(ready, serving, terminating), node, zone, hints)


def hints(*zones: str, nodes: Sequence[str] = ()) -> object:
    """Hints as a document has them."""
    return {"forZones": [{"name": zone} for zone in zones], "forNodes": [{"name": name} for name in nodes]}


def endpoint_slice(
    name: str = "cart-1",
    *endpoints: SliceEndpoint,
    of: str = "cart",
    namespace: str = "shop",
    family: str = "IPv4",
    ports: tuple[SlicePort, ...] = (SlicePort("http", 8080),),
) -> EndpointSlice:
    metadata = Metadata(name, namespace, labels={"kubernetes.io/service-name": of})
    return EndpointSlice(metadata, family, endpoints or (endpoint(),), ports)


def node(name: str = "node-1", zone: str = "zone-a", label: str = "topology.kubernetes.io/zone") -> Node:
    return Node(Metadata(name, labels={label: zone}))


def full_node(
    name: str, zone: str | None, cpu: str | int = "1", *, ready: str = "True", labels: Mapping[str, str] | None = None
) -> Node:
    """A Node with its status; zone None is none."""
    every_label = {**({"topology.kubernetes.io/zone": zone} if zone is not None else {}), **(labels or {})}
    status = NodeStatus((NodeCondition("Ready", ready),), Allocatable(cpu))
    return Node(Metadata(name, labels=every_label), status)


def leaving_node(name: str, zone: str, taint: str = "ToBeDeletedByClusterAutoscaler") -> Node:
    """A Node with its status and a taint."""
    return msgspec.structs.replace(full_node(name, zone), spec=NodeSpec((NodeTaint(taint),)))


def nginx(**said: str) -> dict[str, str]:
    """Annotations under the prefix of ingress-nginx, with `_` in place of `-`."""
    return {NGINX_PREFIX + name.replace("_", "-"): text for name, text in said.items()}


def config_map(namespace: str = "zonal", name: str = "zonal", /, **data: str) -> ConfigMap:
    return ConfigMap(Metadata(name, namespace), {key.replace("_", "-"): text for key, text in data.items()})


def tls_secret(name: str, chain: bytes, key: bytes, *, namespace: str = "shop") -> Secret:
    encoded = {"tls.crt": base64.b64encode(chain).decode(), "tls.key": base64.b64encode(key).decode()}
    return Secret(Metadata(name, namespace), encoded)


def inventory(*objects: KubernetesObject) -> Inventory:
    """A complete inventory of these objects."""
    known = Inventory()
    for kind in Kind:
        known.apply(Replaced(kind, tuple(item for item in objects if item.kind is kind)))
    return known


def translated(*objects: KubernetesObject, context: TranslationContext | None = None) -> Translation:
    """The translation of these objects, with `supplements` to them and our IngressClass `zonal` besides."""
    return translate(inventory(ingress_class(), *supplements(*objects), *objects), context or TranslationContext())


def supplements(*objects: KubernetesObject) -> tuple[KubernetesObject, ...]:
    """What a cluster of these objects lacks to be in good order: a ConfigMap, and an EndpointSlice for each Service."""
    settings = () if any(isinstance(item, ConfigMap) for item in objects) else (config_map(),)
    labels = (item.metadata for item in objects if isinstance(item, EndpointSlice))
    sliced = {(item.namespace, item.labels.get("kubernetes.io/service-name")) for item in labels}
    services = (item for item in objects if isinstance(item, Service) and item.spec.type != "ExternalName")
    lacking = (item for item in services if (item.metadata.namespace, item.metadata.name) not in sliced)
    return *settings, *map(_slice_of, lacking)


def _slice_of(item: Service) -> EndpointSlice:
    name, namespace = item.metadata.name, item.metadata.namespace
    family = item.spec.ip_families[0] if item.spec.ip_families else "IPv4"
    ports = tuple(SlicePort(port.name, 8000 + number) for number, port in enumerate(item.spec.ports) if port)
    address = "2001:db8::1" if family == "IPv6" else "10.0.0.1"
    found = endpoint(address, zone="zone-a")
    return endpoint_slice(f"{name}-1", found, of=name, namespace=namespace, family=family, ports=ports)


def reasons(found: Sequence[Finding]) -> list[tuple[str, str]]:
    """Name of the object and reason of each finding."""
    return [(finding.name, finding.reason) for finding in found]


def routes(translation: Translation) -> dict[tuple[str, str, str], Any]:
    """Backend keys by host, path and kind."""
    return {
        (host.name, route.path, route.kind.value): route.main.backend
        for host in translation.model.hosts
        for route in host.routes
    }
