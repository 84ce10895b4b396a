"""What the API adds to an object that is stored: identity, times, and the defaults of its kind.

Responsible for the fields that nobody writes. It must not know the store; the clock and chance come in as arguments.
"""

from __future__ import annotations

from tests.fakes.apiserver.gateway_defaults import defaulted
from tests.fakes.apiserver.kinds import Document, Resource

_SERVICE_SPEC: Document = {
    "type": "ClusterIP",
    "sessionAffinity": "None",
    "ipFamilies": ["IPv4"],
    "ipFamilyPolicy": "SingleStack",
    "internalTrafficPolicy": "Cluster",
}
_EVENT: Document = {"deprecatedSource": {}, "deprecatedFirstTimestamp": None, "deprecatedLastTimestamp": None}


def identified(resource: Resource, document: Document, old: Document | None, *, identity: Document) -> Document:
    """The document with what the server alone says of it: uid and creationTimestamp of `identity`, and a generation.

    Fields come in the order of the API.
    """
    given = {name: value for name, value in document["metadata"].items() if name != "managedFields"}
    first = {name: given.pop(name) for name in ("name", "generateName", "namespace") if given.get(name)}
    kept = {"uid": identity["uid"], "resourceVersion": ""}
    if resource.has_generation:
        kept["generation"] = 1 if old is None else _generation(document, old)
    kept["creationTimestamp"] = identity["creationTimestamp"]
    own = {name: value for name, value in given.items() if name not in kept and name != "generation" and value}
    rest = {name: value for name, value in document.items() if name not in ("kind", "apiVersion", "metadata")}
    return {"kind": resource.kind, "apiVersion": resource.api_version, "metadata": first | kept | own} | rest


def _generation(document: Document, old: Document) -> int:
    """A generation counts changes of what is wanted: of all but metadata and status."""
    generation: int = old["metadata"].get("generation", 1)
    return generation + (_wanted(document) != _wanted(old))


def _wanted(document: Document) -> Document:
    apart = ("kind", "apiVersion", "metadata", "status")
    return {name: value for name, value in document.items() if name not in apart}


def completed(resource: Resource, document: Document, *, cluster_ip: str) -> Document:
    """The document with the defaults of its kind; `cluster_ip` is for a Service that has none."""
    match resource.kind:
        case "Service":
            spec = _service_spec(document.get("spec") or {}, cluster_ip)
            added: Document = {"spec": spec, "status": _balanced(document)}
        case "Ingress":
            added = {"status": _balanced(document)}
        case "Event":
            added = _EVENT | document
        case "Node":
            status = resource.empty["status"] | (document.get("status") or {})
            added = {"spec": document.get("spec") or {}, "status": status}
        case "Secret":
            added = {"type": document.get("type") or "Opaque"}
        case "Pod":
            added = {"status": _pod_status(document.get("status") or {"phase": "Pending"})}
        case "Namespace":
            added = {"spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Active"}}
        case _:
            added = defaulted(resource.kind, document)
    return document | added


def _balanced(document: Document) -> Document:
    return document.get("status") or {"loadBalancer": {}}


def _pod_status(status: Document) -> Document:
    unknown = {"lastProbeTime": None, "lastTransitionTime": None}
    return status | {"conditions": [unknown | condition for condition in status.get("conditions") or []]}


def _service_spec(spec: Document, cluster_ip: str) -> Document:
    ports = [{"protocol": "TCP"} | port for port in spec.get("ports") or []]
    if spec.get("type") == "ExternalName":
        return {"sessionAffinity": "None"} | spec | ({"ports": ports} if ports else {})
    address = spec.get("clusterIP") or cluster_ip
    ports = [port if "targetPort" in port else port | {"targetPort": port.get("port")} for port in ports]
    return _SERVICE_SPEC | spec | {"ports": ports, "clusterIP": address, "clusterIPs": [address]}
