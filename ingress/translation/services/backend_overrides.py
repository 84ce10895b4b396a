"""Collects what Ingresses set for the backends that they name, before any backend is made.

The first Ingress to name a backend wins, even if it sets nothing.
Does not know what an option means, nor which backends routes lead to.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from itertools import chain

from balancer.model.endpoints import BackendKey
from ingress.findings import Findings, Severity
from ingress.settings.table.option import Overrides
from ingress.sources.inventory import Inventory
from ingress.translation.claims import Claims, subject_of_owner
from ingress.translation.containment import contained
from ingress.translation.services.backends import backend_key, port_of


def backend_overrides(
    claims: Iterable[Claims], inventory: Inventory, findings: Findings
) -> Mapping[BackendKey, Overrides]:
    """What Ingresses set, by `backend_key`. `claims` come by seniority, and a claim that lost its path counts too.

    A claim to a Service or port that does not exist sets nothing.
    """
    overrides: dict[BackendKey, Overrides] = {}
    for each in claims:
        contained(
            partial(_collect, each, inventory, overrides),
            findings.about(subject_of_owner(each.owner)),
            severity=Severity.DEGRADED,
            effect="Its balancing settings for Services have no effect.",
        )
    return overrides


def _collect(claims: Claims, inventory: Inventory, overrides: dict[BackendKey, Overrides]) -> None:
    for each in chain.from_iterable(claim.branches for claim in claims.claims):
        namespace, name = each.branch.service.namespace, each.branch.service.name
        service = inventory.service(namespace, name)
        port = port_of(service, each.port) if service is not None and each.port is not None else None
        if port is not None:
            overrides.setdefault(backend_key(namespace, name, port=port), each.overrides)
