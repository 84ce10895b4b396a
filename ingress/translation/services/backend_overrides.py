"""Collects what Ingresses set for the backends that they name, before any backend is made.

The first Ingress to name a backend wins, even if it sets nothing.
Does not know what an option means, nor which backends routes lead to.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from itertools import chain

from balancer.model.endpoints import BackendKey
from ingress.findings import Findings, Severity
from ingress.settings.table.option import Overrides
from ingress.sources.inventory import Inventory
from ingress.translation.claims import Claims, subject_of_owner
from ingress.translation.containment import contained
from ingress.translation.memory import Memory
from ingress.translation.services.backends import backend_key, port_of

SaidOverrides = tuple[tuple[BackendKey, Overrides], ...]
"""What one object sets, in the order in which it names the backends."""


def backend_overrides(
    claims: Iterable[Claims], memory: Memory[SaidOverrides], findings: Findings
) -> Mapping[BackendKey, Overrides]:
    """What Ingresses set, by `backend_key`. `claims` come by seniority, and a claim that lost its path counts too.

    A claim to a Service or port that does not exist sets nothing. `memory` has begun.
    """
    overrides: dict[BackendKey, Overrides] = {}
    for each in claims:
        for key, said in memory.of(each.owner, (each.claims,), partial(_contained, each), findings):
            overrides.setdefault(key, said)
    return overrides


def _contained(claims: Claims, inventory: Inventory, findings: Findings) -> SaidOverrides:
    made = contained(
        lambda: tuple(_said(claims, inventory)),
        findings.about(subject_of_owner(claims.owner)),
        severity=Severity.DEGRADED,
        effect="Its balancing settings for Services have no effect.",
    )
    return made or ()


def _said(claims: Claims, inventory: Inventory) -> Iterator[tuple[BackendKey, Overrides]]:
    for each in chain.from_iterable(claim.branches for claim in claims.claims):
        namespace, name = each.branch.service.namespace, each.branch.service.name
        service = inventory.service(namespace, name)
        port = port_of(service, each.port) if service is not None and each.port is not None else None
        if port is not None:
            yield backend_key(namespace, name, port=port), each.overrides
