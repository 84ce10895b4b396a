"""Decides which Ingresses are ours.

Decides only by class: spec.ingressClassName, the legacy annotation, and the default class. Does not know what an
accepted Ingress says.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from ingress.findings import Findings, Severity, quote
from ingress.objects.kinds import Ingress, IngressClass, subject_of
from ingress.settings.context import TranslationContext
from ingress.settings.near_names import suggestion

CLASS_ANNOTATION = "kubernetes.io/ingress.class"
DEFAULT_ANNOTATION = "ingressclass.kubernetes.io/is-default-class"


class Classes(msgspec.Struct, frozen=True):
    """The names of all known IngressClasses and of ours, and whether the default class is ours."""

    known: frozenset[str]
    ours: frozenset[str]
    default_is_ours: bool


def classes_of(classes: Iterable[IngressClass], controller_class: str) -> Classes:
    """Sorts the IngressClasses by whether `spec.controller` is `controller_class`."""
    known = tuple(classes)
    ours = tuple(item for item in known if item.spec.controller == controller_class)
    return Classes(
        known=frozenset(item.metadata.name for item in known),
        ours=frozenset(item.metadata.name for item in ours),
        default_is_ours=any(item.metadata.annotations.get(DEFAULT_ANNOTATION) == "true" for item in ours),
    )


def is_accepted(ingress: Ingress, classes: Classes, *, context: TranslationContext) -> bool:
    """Whether this controller serves the Ingress (KEP-1453; the field outranks the annotation).

    The API server fills in the default class when an Ingress is created. A folder has no API server, so an Ingress
    without a class is ours when the default class is.
    """
    if not _is_watched(ingress, context):
        return False
    if ingress.spec.ingress_class_name is not None:
        return ingress.spec.ingress_class_name in classes.ours
    annotation = ingress.metadata.annotations.get(CLASS_ANNOTATION, "")
    if annotation:
        return annotation == context.ingress_class
    return context.watch_ingress_without_class or classes.default_is_ours


def note_missing_class(ingress: Ingress, classes: Classes, *, context: TranslationContext, findings: Findings) -> None:
    """Notes that an Ingress which is not ours names no class, or a class that does not exist.

    Both are most likely mistakes. An Ingress with a class of another controller is not noted.
    """
    name = ingress.spec.ingress_class_name
    if not _is_watched(ingress, context):
        return
    if name is None and not ingress.metadata.annotations.get(CLASS_ANNOTATION):
        findings.add(
            subject_of(ingress),
            reason="IngressWithoutClass",
            message=f"The Ingress names no class: {_repair(classes, context)}, or start zonal with "
            "--watch-ingress-without-class.",
            effect="The Ingress is not served.",
            severity=Severity.CLOSED,
        )
    elif name is not None and name not in classes.known:
        findings.add(
            subject_of(ingress),
            reason="IngressClassMissing",
            message=f"There is no IngressClass {quote(name)}: create it or correct spec.ingressClassName."
            + suggestion(name, classes.known),
            severity=Severity.CLOSED,
            effect="The Ingress is not served.",
        )


def _repair(classes: Classes, context: TranslationContext) -> str:
    """The repair for an Ingress without a class, as a clause."""
    if classes.ours:
        return f"set spec.ingressClassName: {min(classes.ours)} if zonal shall serve it"
    return f"create an IngressClass with spec.controller {context.controller_class} and set spec.ingressClassName to it"


def _is_watched(ingress: Ingress, context: TranslationContext) -> bool:
    return not context.watch_namespaces or ingress.metadata.namespace in context.watch_namespaces
