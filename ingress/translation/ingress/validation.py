"""Decides what the Kubernetes API would refuse in an Ingress.

Repeats the validation of networking.k8s.io/v1, because a manifest folder has no API server and a hostile writer may
bypass one. Every string that reaches the model passes one of these functions. A problem is a sentence fragment about
the value; None means valid. Does not know what is done about a problem.
"""

from __future__ import annotations

import ipaddress
import re

from ingress.findings import quote
from ingress.objects.kinds import IngressBackend, ServicePortReference
from ingress.objects.names import LABEL, PORT_NAME, SUBDOMAIN, WILDCARD_SUBDOMAIN

PATH_TYPES = ("Exact", "Prefix", "ImplementationSpecific")

# The API has no limit. nginx's default head line is 8 KiB, and no real path comes near this.
PATH_LIMIT = 1024
# Control characters (C0, DEL, C1), line separators, and characters that UTF-8 cannot encode.
_FORBIDDEN = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
# validation.go invalidPathSequences and invalidPathSuffixes.
_INVALID_SEQUENCES = ("//", "/./", "/../", "%2f", "%2F")
_INVALID_SUFFIXES = ("/..", "/.")


def host_problem(host: str) -> str | None:
    """What is wrong with a rule's or a TLS section's host; empty is not a host name but valid in a rule."""
    if SUBDOMAIN.fullmatch(host):
        return f"host {quote(host)} is an IP address; use a name" if _is_address(host) else None
    if WILDCARD_SUBDOMAIN.fullmatch(host):
        return None
    return f"host {quote(host)} is not a lower case DNS name, or *. and one"


def path_problem(path: str, path_type: str | None) -> str | None:
    """What is wrong with a path of a rule and its pathType."""
    if path_type not in PATH_TYPES:
        return f"path {quote(path)} needs a pathType: Exact, Prefix or ImplementationSpecific"
    if len(path) > PATH_LIMIT or _FORBIDDEN.search(path):
        return f"path {quote(path)} holds control characters or more than {PATH_LIMIT} characters"
    if path_type == "ImplementationSpecific":
        return None if path[:1] in {"", "/"} else f"path {quote(path)} must start with /"
    if not path.startswith("/"):
        return f"path {quote(path)} must start with /"
    if any(part in path for part in _INVALID_SEQUENCES) or path.endswith(_INVALID_SUFFIXES):
        return f"path {quote(path)} must not hold //, /./, /../ or an encoded slash"
    return None


def backend_problem(backend: IngressBackend) -> str | None:
    """What is wrong with a reference to a backend."""
    if (backend.service is None) == (backend.resource is None):
        return "the backend must name either a service or a resource"
    if backend.service is None:
        return None
    if not LABEL.fullmatch(backend.service.name):
        return f"service name {quote(backend.service.name)} is not a DNS label"
    return _port_problem(backend.service.port)


def secret_name_problem(name: str) -> str | None:
    """What is wrong with the secretName of a TLS section; empty is valid and names no Secret."""
    return None if not name or SUBDOMAIN.fullmatch(name) else f"secretName {quote(name)} is not a DNS name"


def _port_problem(port: ServicePortReference) -> str | None:
    if bool(port.name) == bool(port.number):
        return "the backend's port must have either a name or a number"
    if port.name and not PORT_NAME.fullmatch(port.name):
        return f"port name {quote(port.name)} is not valid"
    if port.number and not 1 <= port.number <= 65535:
        return "the backend's port number must be from 1 to 65535"
    return None


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
