"""The rules of a canary are read field by field, and are named as in the model."""

from __future__ import annotations

import msgspec
from msgspec.structs import FieldInfo

from balancer.model.routes import Canary
from ingress.settings.table.canaries import CanaryRules
from tests.unit.ingress.said import said


def test_each_rule_fills_its_field() -> None:
    texts = {
        "canary": "true",
        "canary-by-header": " X-Try ",
        "canary-by-header-value": "yes",
        "canary-by-header-pattern": "^a+$",
        "canary-by-cookie": "try",
        "canary-weight": "5",
        "canary-weight-total": "1000",
    }
    assert said(texts).over(CanaryRules()) == CanaryRules(True, "X-Try", "yes", "^a+$", "try", 5, 1000)


def test_the_rules_have_the_names_and_defaults_of_the_model() -> None:
    fields = {field.name: field.default for field in _fields(Canary)}
    for field in _fields(CanaryRules):
        assert field.name == "enabled" or field.default == fields[field.name]


def _fields(struct: type[msgspec.Struct]) -> tuple[FieldInfo, ...]:
    return msgspec.structs.fields(struct)
