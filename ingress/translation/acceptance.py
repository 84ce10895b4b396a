"""Which Ingresses are ours.

Responsible for the class decision alone: spec.ingressClassName, the legacy annotation, and the default class. It must
not know what an accepted Ingress says.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from ingress.findings import Findings, quote
from ingress.objects import Ingress, IngressClass, subject_of
from ingress.translation.context import TranslationContext

CLASS_ANNOTATION = "kubernetes.io/ingress.class"
DEFAULT_ANNOTATION = "ingressclass.kubernetes.io/is-default-class"


class Classes(msgspec.Struct, frozen=True):
    """Names of the known IngressClasses, of ours among them, and whether the default is ours."""

    known: frozenset[str]
    ours: frozenset[str]
    default_is_ours: bool


def classes_of(classes: Iterable[IngressClass], controller_class: str) -> Classes:
    """Sort the IngressClasses by whether `spec.controller` is `controller_class`."""
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
    if context.watch_namespaces and ingress.metadata.namespace not in context.watch_namespaces:
        return False
    if ingress.spec.ingress_class_name is not None:
        return ingress.spec.ingress_class_name in classes.ours
    annotation = ingress.metadata.annotations.get(CLASS_ANNOTATION, "")
    if annotation:
        return annotation == context.ingress_class
    return context.watch_ingress_without_class or classes.default_is_ours


def note_missing_class(ingress: Ingress, classes: Classes, *, findings: Findings) -> None:
    """A class that exists nowhere is most likely a slip; one of another controller is not our business."""
    name = ingress.spec.ingress_class_name
    if name is not None and name not in classes.known:
        findings.add(
            subject_of(ingress),
            reason="IngressClassMissing",
            message=f"There is no IngressClass {quote(name)}: create it or correct spec.ingressClassName.",
            effect="The Ingress is not served.",
        )
