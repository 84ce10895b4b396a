"""Follows references to Secrets, ConfigMaps and Services: the kind must be right, and other namespaces need a grant.

Whether the object exists is for others. Without a grant nobody learns that.
"""

from __future__ import annotations

from ingress.objects.gateway_references import ObjectReference, SecretReference, ServiceBackend
from ingress.translation.gateway.grants import Grants, Referrer
from ingress.translation.gateway.standings import Problem


def kind_problem(
    reference: ObjectReference | SecretReference | ServiceBackend, field: str, kind: str, *, odd_kind: str
) -> Problem | None:
    """That a `field` names something else than a core object of a `kind`, with the reason `odd_kind`; None if not."""
    if (reference.group, reference.kind) == ("", kind):
        return None
    return Problem(odd_kind, f"{field} names a {reference.kind} of the group {reference.group!r}: name a {kind}.")


def followed(
    reference: ObjectReference | SecretReference | ServiceBackend,
    referrer: Referrer,
    grants: Grants,
    *,
    field: str,
    kind: str,
    odd_kind: str,
) -> tuple[str, str] | Problem:
    """The namespace and name of the object of a `kind` that a `field` names; or why it may not be looked for.

    `odd_kind` is the reason for another kind. Without a namespace it is that of the `referrer`.
    """
    if (problem := kind_problem(reference, field, kind, odd_kind=odd_kind)) is not None:
        return problem
    namespace = reference.namespace or referrer.namespace
    if grants.allow(referrer, group="", kind=kind, namespace=namespace, name=reference.name):
        return namespace, reference.name
    message = (
        f"{field} names a {kind} of the namespace {namespace}, and no ReferenceGrant there allows that to a"
        f" {referrer.kind} of {referrer.namespace}: add one."
    )
    return Problem("RefNotPermitted", message)
