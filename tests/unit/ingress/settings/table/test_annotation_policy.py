"""Values about what tenants may say in annotations."""

from __future__ import annotations

import pytest

from ingress.settings.table.annotation_policy import ANNOTATION_RISKS, AnnotationPolicy, Risk, risk, words
from ingress.settings.unsupported import FOREIGN_ANNOTATIONS
from ingress.settings.values import InvalidValue
from tests.unit.ingress.said import said


def test_each_key_fills_its_field() -> None:
    texts = {"annotation-value-word-blocklist": "load_module, lua_package ,{,,", "annotations-risk-level": "medium"}
    expected = AnnotationPolicy(("load_module", "lua_package", "{"), Risk.MEDIUM)
    assert said(texts).over(AnnotationPolicy()) == expected


@pytest.mark.parametrize("text", ["", "none", "5"])
def test_other_levels_are_invalid(text: str) -> None:
    with pytest.raises(InvalidValue):
        risk(text)


def test_a_list_has_a_bound() -> None:
    assert words("") == ()
    with pytest.raises(InvalidValue):
        words(",".join(map(str, range(2000))))


@pytest.mark.parametrize(
    ("policy", "forbids_nothing"),
    [
        (AnnotationPolicy(), True),
        (AnnotationPolicy(most_risk=Risk.CRITICAL), True),
        (AnnotationPolicy(most_risk=Risk.MEDIUM), False),
        (AnnotationPolicy(words=("{",)), False),
    ],
)
def test_only_some_policies_forbid_anything(policy: AnnotationPolicy, forbids_nothing: bool) -> None:
    assert policy.forbids_nothing is forbids_nothing


def test_risks_are_those_of_annotations_that_ingress_nginx_has() -> None:
    assert not ANNOTATION_RISKS.keys() & FOREIGN_ANNOTATIONS
    assert ANNOTATION_RISKS["server-alias"] is Risk.HIGH
    assert ANNOTATION_RISKS["configuration-snippet"] is Risk.CRITICAL
