"""Which Ingresses are ours."""

from __future__ import annotations

import msgspec
import pytest

from ingress.findings import Findings, Severity
from ingress.objects.kinds import IngressClass
from ingress.settings.context import TranslationContext
from ingress.translation.ingress.acceptance import CLASS_ANNOTATION, classes_of, is_accepted, note_missing_class
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
    for name in ("zonall", "nginx"):
        note_missing_class(ingress(f"of-{name}", class_name=name), classes, context=CONTEXT, findings=findings)
    assert reasons(findings.frozen()) == [("of-zonall", "IngressClassMissing")]


@pytest.mark.parametrize(
    ("ours", "repair"),
    [
        ((OURS, FOREIGN), "set spec.ingressClassName: zonal if zonal shall serve it"),
        ((FOREIGN,), "create an IngressClass with spec.controller zonal-ingress.io/controller"),
    ],
)
def test_an_ingress_without_a_class_is_told_what_to_do(ours: tuple[IngressClass, ...], repair: str) -> None:
    findings = Findings()
    note_missing_class(ingress(class_name=None), classes_of(ours, OUR_CONTROLLER), context=CONTEXT, findings=findings)
    (finding,) = findings.frozen()
    assert (finding.reason, finding.severity) == ("IngressWithoutClass", Severity.CLOSED)
    assert repair in finding.message
    assert "--watch-ingress-without-class" in finding.message


def test_classes_are_not_missed_where_another_controller_or_nobody_is_meant() -> None:
    findings = Findings()
    watching = msgspec.structs.replace(CONTEXT, watch_namespaces=("shop",))
    annotated = ingress(class_name=None, annotations={CLASS_ANNOTATION: "nginx"})
    for item in (annotated, ingress(class_name=None, namespace="other"), ingress(class_name="x", namespace="other")):
        note_missing_class(item, classes_of((OURS,), OUR_CONTROLLER), context=watching, findings=findings)
    assert findings.frozen() == ()
