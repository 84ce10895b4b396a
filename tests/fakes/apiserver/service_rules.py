"""What the API refuses in a Service, as far as who makes Services for Gateways can get it wrong.

Responsible for names, labels, owners, ports and addresses (422). It must not know the store.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from ipaddress import ip_address
from typing import Any

from tests.fakes.apiserver.kinds import Document
from tests.fakes.apiserver.statuses import Problem

_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL}(\.{_LABEL})*"
_QUALIFIED = rf"({_SUBDOMAIN}/)?[A-Za-z0-9]([-A-Za-z0-9_.]{{0,61}}[A-Za-z0-9])?"
_VALUE = r"([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?"
_DISTRIBUTIONS = ("PreferClose", "PreferSameNode", "PreferSameZone")
_OUTSIDE = ("LoadBalancer", "NodePort")


def service_problems(document: Document) -> Iterator[Problem]:
    """What may not be so in a Service."""
    metadata, spec = document["metadata"], document.get("spec") or {}
    yield from _text("metadata.name", metadata["name"], r"[a-z]([-a-z0-9]*[a-z0-9])?", 63)
    for key, value in (metadata.get("labels") or {}).items():
        yield from _text("metadata.labels", key, _QUALIFIED, 317)
        yield from _text("metadata.labels", value, _VALUE, 63)
    for key in metadata.get("annotations") or {}:
        yield from _text("metadata.annotations", key, _QUALIFIED, 317)
    for number, owner in enumerate(metadata.get("ownerReferences") or ()):
        for name in ("apiVersion", "kind", "name", "uid"):
            if not owner.get(name):
                yield _required(f"metadata.ownerReferences[{number}].{name}")
    if spec.get("type") == "ExternalName":
        yield from _text("spec.externalName", spec.get("externalName"), _SUBDOMAIN, 253)
        return
    yield from _port_problems(spec)
    yield from _address_problems(spec)


def _port_problems(spec: Document) -> Iterator[Problem]:
    ports = spec.get("ports") or []
    if not ports and spec.get("clusterIP") != "None":
        yield _required("spec.ports")
    names, numbers = set[object](), set[object]()
    for index, port in enumerate(ports):
        place, name, number = f"spec.ports[{index}]", port.get("name"), port.get("port")
        if name or len(ports) > 1:
            yield from _text(f"{place}.name", name, _LABEL, 63)
        target = port.get("targetPort", number)
        for field, value in (("port", number), ("targetPort", target)):
            if isinstance(value, int) and not 0 < value < 65_536:
                yield _invalid(f"{place}.{field}", value, "must be between 1 and 65535, inclusive")
        if "appProtocol" in port:
            yield from _text(f"{place}.appProtocol", port["appProtocol"], _QUALIFIED, 317)
        pair = port.get("protocol", "TCP"), number
        if (name and name in names) or pair in numbers:
            yield Problem(place, "FieldValueDuplicate", f'Duplicate value: "{name or number}"')
        names.add(name)
        numbers.add(pair)


def _address_problems(spec: Document) -> Iterator[Problem]:
    addresses = spec.get("externalIPs") or []
    for index, text in enumerate(addresses):
        try:
            address = ip_address(text)
        except ValueError:
            yield _invalid(f"spec.externalIPs[{index}]", text, "must be a valid IP address")
            continue
        if address.is_loopback or address.is_link_local or address.is_multicast or address.is_unspecified:
            yield _invalid(f"spec.externalIPs[{index}]", text, "may not be an address of this range")
    if spec.get("externalTrafficPolicy") and spec.get("type") not in _OUTSIDE and not addresses:
        yield _invalid("spec.externalTrafficPolicy", spec["externalTrafficPolicy"], "may only be set for outside")
    if spec.get("trafficDistribution") not in (None, *_DISTRIBUTIONS):
        yield _invalid("spec.trafficDistribution", spec["trafficDistribution"], "is not supported")


def _text(place: str, value: Any, pattern: str, most: int) -> Iterator[Problem]:
    if not isinstance(value, str) or len(value) > most or not re.fullmatch(pattern, value):
        yield _invalid(place, value, f"must match '{pattern}', with no more than {most} characters")


def _invalid(place: str, value: Any, text: str) -> Problem:
    return Problem(place, "FieldValueInvalid", f'Invalid value: "{value}": {text}')


def _required(place: str) -> Problem:
    return Problem(place, "FieldValueRequired", "Required value")
