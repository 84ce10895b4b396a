"""Which BackendTLSPolicy holds for a port of a Service, and whether it can be carried out.

A policy for a port outranks one for the whole Service; of two for the same target the older one counts, then the first
by namespace and name. A policy that cannot be carried out closes the backend: plain bytes never take its place.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping

import msgspec

from balancer.model.routes import Owner
from ingress.objects.gateway import BackendTlsPolicy, BackendTlsValidation
from ingress.objects.gateway_references import GATEWAY_GROUP, ObjectReference
from ingress.objects.kinds import key_of
from ingress.objects.names import HOST
from ingress.sources.inventory import Inventory
from ingress.translation.claims import Claims, created_epoch_seconds
from ingress.translation.gateway.references import kind_problem
from ingress.translation.gateway.service_references import NamedPort
from ingress.translation.gateway.standings import (
    AncestorStanding,
    ObjectStanding,
    ParentName,
    PolicyStatus,
    Problem,
    condition,
    standing_of,
)

ANCESTORS_MOST = 16
"""The most entries that a policy's status takes (gateway.networking.k8s.io/v1 PolicyStatus)."""

AuthorityProblem = Callable[[str, str], str]
"""Why the ConfigMap of a namespace and name holds no authority, as the end of a sentence; empty if it does."""

_Target = tuple[str, str, str]


class JudgedPolicy(msgspec.Struct, frozen=True):
    """A policy, the ConfigMaps whose authorities it trusts, and what is wrong with it.

    `invalid` closes what it protects, `unresolved` is told. `wins` are the targets that it has: namespace, Service and
    the name of a port, empty for all ports.
    """

    policy: BackendTlsPolicy
    authorities: tuple[tuple[str, str], ...] = ()
    invalid: Problem | None = None
    unresolved: Problem | None = None
    wins: frozenset[_Target] = frozenset()


class BackendPolicies:
    """Every policy of the cluster, judged."""

    __slots__ = ("_by_target", "_inventory", "judged")

    def __init__(self, inventory: Inventory, authority_problem: AuthorityProblem) -> None:
        self._inventory = inventory
        self._by_target: dict[_Target, JudgedPolicy] = {}
        self.judged: list[JudgedPolicy] = []
        """By age, then namespace and name."""
        known = sorted(inventory.of(BackendTlsPolicy), key=_seniority)
        for each in known:
            self._add(each, authority_problem)

    def of(self, port: NamedPort) -> JudgedPolicy | None:
        """The policy that holds for a port; None: there is none."""
        exact = self._by_target.get((port.namespace, port.service, port.port_name)) if port.port_name else None
        return exact or self._by_target.get((port.namespace, port.service, ""))

    def needs(self) -> Iterator[Claims]:
        """The ConfigMaps that each policy names, whether they exist or not, the most senior policy first."""
        for each in self.judged:
            metadata = each.policy.metadata
            references = filter(_is_authority, each.policy.spec.validation.ca_certificate_refs)
            named = tuple(dict.fromkeys((metadata.namespace, reference.name) for reference in references))
            if named:
                owner = Owner(each.policy.kind.value, metadata.namespace, metadata.name)
                yield Claims(owner, config_maps=named)

    def standings(self, used: Mapping[NamedPort, Collection[tuple[str, str]]], controller: str) -> list[ObjectStanding]:
        """What the statuses should say. `used` are the Gateways, by namespace and name, whose routes name a port."""
        by_service: dict[tuple[str, str], set[tuple[str, str]]] = {}
        for port, gateways in used.items():
            by_service.setdefault((port.namespace, port.service), set()).update(gateways)
        return [
            standing_of(each.policy, PolicyStatus(self._ancestors(each, by_service, controller)))
            for each in self.judged
        ]

    def _add(self, policy: BackendTlsPolicy, authority_problem: AuthorityProblem) -> None:
        judged = _judged(policy, authority_problem)
        asked = [_target_of(policy, each) for each in policy.spec.target_refs if _is_service(each)]
        won = frozenset(each for each in asked if each not in self._by_target)
        judged = msgspec.structs.replace(judged, wins=won)
        self.judged.append(judged)
        self._by_target.update(dict.fromkeys(won, judged))

    def _ancestors(
        self, item: JudgedPolicy, used: Mapping[tuple[str, str], Collection[tuple[str, str]]], controller: str
    ) -> tuple[AncestorStanding, ...]:
        """One entry for each Gateway. `used` are those whose routes name each Service."""
        targets = {_target_of(item.policy, each)[:2] for each in item.policy.spec.target_refs if _is_service(each)}
        gateways = frozenset[tuple[str, str]]().union(*(used[each] for each in targets if each in used))
        generation = item.policy.metadata.generation
        conditions = (
            condition("Accepted", self._refusal(item), generation, said="The policy holds."),
            condition("ResolvedRefs", item.unresolved, generation, said="Every authority was found."),
        )
        return tuple(
            AncestorStanding(ParentName(GATEWAY_GROUP, "Gateway", *each), controller, conditions)
            for each in sorted(gateways)[:ANCESTORS_MOST]
        )

    def _refusal(self, item: JudgedPolicy) -> Problem | None:
        if item.invalid is not None:
            return item.invalid
        targets = [_target_of(item.policy, each) for each in item.policy.spec.target_refs if _is_service(each)]
        if not any(self._exists(each) for each in targets):
            return Problem("TargetNotFound", "targetRefs names no port of the Service: correct sectionName.")
        if not item.wins:
            other = next(self._by_target[each].policy for each in targets if each in self._by_target)
            return Problem(
                "Conflicted", f"The policy {other.metadata.name} is older or comes first: remove one of them."
            )
        return None

    def _exists(self, target: _Target) -> bool:
        service = self._inventory.service(target[0], target[1])
        return service is not None and (not target[2] or any(each.name == target[2] for each in service.spec.ports))


def _judged(policy: BackendTlsPolicy, authority_problem: AuthorityProblem) -> JudgedPolicy:
    namespace, said = policy.metadata.namespace, policy.spec.validation
    if (invalid := _invalid(said)) is not None:
        return JudgedPolicy(policy, invalid=invalid)
    usable: list[tuple[str, str]] = []
    problems: list[Problem] = []
    for each in said.ca_certificate_refs:
        if (odd := kind_problem(each, "caCertificateRefs", "ConfigMap", odd_kind="InvalidKind")) is not None:
            problems.append(odd)
        elif problem := authority_problem(namespace, each.name):
            problems.append(Problem("InvalidCACertificateRef", f"ConfigMap {namespace}/{each.name} {problem}"))
        else:
            usable.append((namespace, each.name))
    refused = None
    if said.ca_certificate_refs and not usable:
        refused = Problem("NoValidCACertificate", "None of caCertificateRefs can be used: correct one.")
    return JudgedPolicy(policy, tuple(usable), refused, problems[0] if problems else None)


def _invalid(said: BackendTlsValidation) -> Problem | None:
    if said.well_known_ca_certificates not in {"", "System"}:
        message = f"wellKnownCACertificates {said.well_known_ca_certificates!r} is not known: use System."
        return Problem("Invalid", message)
    if bool(said.well_known_ca_certificates) == bool(said.ca_certificate_refs):
        return Problem("Invalid", "Either caCertificateRefs or wellKnownCACertificates is needed: name one of the two.")
    if not HOST.fullmatch(said.hostname):  # no handshake can send a name that DNS cannot have
        return Problem("Invalid", f"hostname {said.hostname!r} is none: correct it.")
    for each in said.subject_alt_names:
        if not (each.hostname if each.type == "Hostname" else each.uri if each.type == "URI" else ""):
            return Problem("Invalid", f"A name of the type {each.type!r} in subjectAltNames says nothing: correct it.")
    return None


def _seniority(policy: BackendTlsPolicy) -> tuple[float, tuple[str, str]]:
    return created_epoch_seconds(policy.metadata), key_of(policy)


def _target_of(policy: BackendTlsPolicy, reference: ObjectReference) -> _Target:
    return policy.metadata.namespace, reference.name, reference.section_name


def _is_service(reference: ObjectReference) -> bool:
    return (reference.group, reference.kind) == ("", "Service")


def _is_authority(reference: ObjectReference) -> bool:
    return (reference.group, reference.kind) == ("", "ConfigMap")
