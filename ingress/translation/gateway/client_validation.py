"""Which authorities must have signed the certificates of clients (tls.frontend of a Gateway), and which can be used."""

from __future__ import annotations

import msgspec

from ingress.objects.gateway import ClientValidation, Gateway
from ingress.objects.gateway_references import ObjectReference
from ingress.translation.gateway.backend_policies import AuthorityProblem
from ingress.translation.gateway.grants import Grants, Referrer
from ingress.translation.gateway.listeners import ReadListener
from ingress.translation.gateway.references import followed
from ingress.translation.gateway.standings import Problem


class ReadValidation(msgspec.Struct, frozen=True):
    """The ConfigMaps whose authorities sign certificates of clients. `is_insecure`: others are let in as well.

    `refused`: nothing can be verified, so that nobody is let in. `unresolved` is told.
    """

    authorities: tuple[tuple[str, str], ...] = ()
    is_insecure: bool = False
    refused: Problem | None = None
    unresolved: Problem | None = None


def validation_of(gateway: Gateway, port: int) -> ClientValidation | None:
    """What a Gateway says about the clients of a port; None: nothing."""
    frontend = gateway.spec.tls.frontend
    if frontend is None:
        return None
    own = next((each.tls for each in frontend.per_port if each.port == port), None)
    return own.validation if own is not None else frontend.default.validation


def named_authorities(gateway: Gateway, grants: Grants) -> frozenset[tuple[str, str]]:
    """The ConfigMaps that a Gateway may use for its clients, whether they exist or not."""
    frontend = gateway.spec.tls.frontend
    if frontend is None:
        return frozenset()
    said = [frontend.default.validation, *(each.tls.validation for each in frontend.per_port)]
    references = [reference for each in said if each is not None for reference in each.ca_certificate_refs]
    followed = [_followed(each, gateway, grants) for each in references]
    return frozenset(each for each in followed if not isinstance(each, Problem))


def read_validation(
    said: ClientValidation, gateway: Gateway, grants: Grants, authority_problem: AuthorityProblem
) -> ReadValidation:
    """The authorities that can be used, and the first problem."""
    usable: list[tuple[str, str]] = []
    problems: list[Problem] = []
    for each in said.ca_certificate_refs:
        key = _followed(each, gateway, grants)
        if isinstance(key, Problem):
            problems.append(key)
        elif problem := authority_problem(*key):
            problems.append(Problem("InvalidCACertificateRef", f"ConfigMap {'/'.join(key)} {problem}"))
        else:
            usable.append(key)
    refused = None
    if not usable:
        refused = Problem("NoValidCACertificate", "None of caCertificateRefs can be used: correct one.")
    if said.mode not in {"AllowValidOnly", "AllowInsecureFallback"}:
        refused = Problem("UnsupportedValue", f"The mode {said.mode!r} is not known: use AllowValidOnly.")
    insecure = said.mode == "AllowInsecureFallback"
    return ReadValidation(tuple(usable), insecure, refused, problems[0] if problems else None)


def with_validation(listener: ReadListener, read: ReadValidation, digest: str = "") -> ReadListener:
    """The listener with the validation of its clients, and with what is wrong with it."""
    return msgspec.structs.replace(
        listener,
        refused=listener.refused or read.refused,
        unresolved=listener.unresolved or read.unresolved,
        authorities=read.authorities,
        authorities_digest=digest,
        lets_others_in=read.is_insecure,
        serves=listener.serves and read.refused is None,
    )


def _followed(reference: ObjectReference, gateway: Gateway, grants: Grants) -> tuple[str, str] | Problem:
    return followed(
        reference,
        Referrer("Gateway", gateway.metadata.namespace),
        grants,
        field="caCertificateRefs",
        kind="ConfigMap",
        odd_kind="InvalidCACertificateKind",
    )
