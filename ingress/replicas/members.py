"""Finds the other replicas in the cluster: the pods behind the Service that the replicas have in common. No I/O.

Readiness does not matter. A replica that is not ready yet, or that drains, serves requests and has something to tell.
"""

from __future__ import annotations

from ingress.sources.inventory import Inventory


def places_of(inventory: Inventory, own_service: tuple[str, str] | None, *, port: int) -> tuple[str, ...]:
    """`HOST:PORT` of each pod behind the own Service, this replica among them, sorted.

    A pod with addresses of two families has one place. Slices of this Service are written by the control plane; who
    listens at a place must prove itself all the same.
    """
    found: dict[str, str] = {}
    slices = inventory.slices(*own_service) if own_service is not None else ()
    for item in sorted(slices, key=lambda each: (each.address_type, each.metadata.name)):
        if item.address_type not in ("IPv4", "IPv6"):
            continue
        for endpoint in item.endpoints:
            if endpoint.addresses:
                address = endpoint.addresses[0]
                pod = endpoint.target_ref.name if endpoint.target_ref is not None else address
                found.setdefault(pod, f"[{address}]:{port}" if item.address_type == "IPv6" else f"{address}:{port}")
    return tuple(sorted(found.values()))
