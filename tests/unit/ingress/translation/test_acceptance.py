"""Which Ingresses are ours."""

from __future__ import annotations

import msgspec
import pytest

from ingress.findings import Findings
from ingress.objects import IngressClass
from ingress.translation.acceptance import CLASS_ANNOTATION, classes_of, is_accepted, note_missing_class
from ingress.translation.context import TranslationContext
from tests.unit.ingress.cluster import OUR_CONTROLLER, ingress, ingress_class, reasons

OURS, FOREIGN = ingress_class(), ingress_class("nginx", "k8s.io/ingress-nginx")
CONTEXT = TranslationContext()


def accepts(
    *, name: str | None, annotation: str | None = None, classes: tuple[IngressClass, ...] = (OURS, FOREIGN)
) -> bool:
    annotations = {} if annotation is None else {CLASS_ANNOTATION: annotation}
    subject = ingress(class_name=name, annotations=annotations)
    return is_accepted(subject, classes_of(classes, OUR_CONTROLLER), context=CONTEXT)


@pytest.mark.parametrize(
    ("name", "annotation", "accepted"),
    [
        ("zonal", None, True),
        ("nginx", None, False),
        ("missing", None, False),
        ("", None, False),
        ("zonal", "nginx", True),
        ("nginx", "zonal", False),
        (None, "zonal", True),
        (None, "nginx", False),
        (None, "", False),
        (None, None, False),
    ],
)
def test_the_field_outranks_the_annotation(name: str | None, annotation: str | None, accepted: bool) -> None:
    assert accepts(name=name, annotation=annotation) is accepted


def test_the_annotation_needs_no_ingress_class() -> None:
    assert accepts(name=None, annotation="zonal", classes=())


def test_without_a_class_ours_must_be_the_default() -> None:
    assert accepts(name=None, classes=(ingress_class(default=True), FOREIGN))
    assert not accepts(name=None, classes=(OURS, ingress_class("nginx", "k8s.io/ingress-nginx", default=True)))


def test_without_a_class_the_option_accepts_as_well() -> None:
    context = msgspec.structs.replace(CONTEXT, watch_ingress_without_class=True)
    classes = classes_of((OURS,), OUR_CONTROLLER)
    assert is_accepted(ingress(class_name=None), classes, context=context)
    assert not is_accepted(ingress(class_name="nginx"), classes, context=context)


def test_only_watched_namespaces_count() -> None:
    context = msgspec.structs.replace(CONTEXT, watch_namespaces=("shop",))
    classes = classes_of((OURS,), OUR_CONTROLLER)
    assert is_accepted(ingress(), classes, context=context)
    assert not is_accepted(ingress(namespace="other"), classes, context=context)


def test_a_class_that_exists_nowhere_is_a_finding_and_a_foreign_one_is_not() -> None:
    findings = Findings()
    classes = classes_of((OURS, FOREIGN), OUR_CONTROLLER)
    for name in ("zonall", "nginx", None):
        note_missing_class(ingress(f"of-{name}".lower(), class_name=name), classes, findings=findings)
    assert reasons(findings.frozen()) == [("of-zonall", "IngressClassMissing")]
