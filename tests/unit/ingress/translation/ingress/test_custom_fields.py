"""Header fields of an Ingress: what its ConfigMap may hold, and what closes the paths."""

from __future__ import annotations

import pytest

from balancer.model.edits import SetFields
from ingress.findings import Findings, Severity, Subject
from ingress.objects.kinds import ConfigMap, Metadata
from ingress.sources.events import Upserted
from ingress.sources.inventory import Inventory
from ingress.translation.denying import Denied
from ingress.translation.ingress.custom_fields import read_custom_fields
from ingress.translation.references import References

KEY = ("shop", "fields")
OWN, OTHERS = References("shop"), References("team", others_allowed=True)
SUBJECT = Subject("Ingress", "shop", "web")


def holding(**data: str) -> Inventory:
    inventory = Inventory()
    named = {name.replace("_", "-"): value for name, value in data.items()}
    inventory.apply(Upserted(ConfigMap(Metadata("fields", "shop"), named)))
    return inventory


def test_the_fields_become_an_edit() -> None:
    rules = read_custom_fields(
        KEY,
        references=OWN,
        allowed=("x-b", "x-a"),
        inventory=holding(X_B="$remote_addr", X_A=" 1 "),
        report=Findings().about(SUBJECT),
    )
    assert rules == (SetFields((("X-A", "1"), ("X-B", "$remote_addr"))),)


def test_hsts_is_for_https_alone() -> None:
    rules = read_custom_fields(
        KEY,
        references=OWN,
        allowed=("strict-transport-security", "x-a"),
        inventory=holding(Strict_Transport_Security="max-age=5", X_A="1"),
        report=Findings().about(SUBJECT),
    )
    assert rules == (
        SetFields((("X-A", "1"),)),
        SetFields((("Strict-Transport-Security", "max-age=5"),), secure_only=True),
    )


@pytest.mark.parametrize("data", [{}, None])
def test_without_fields_there_is_no_edit(data: dict[str, str] | None) -> None:
    key = None if data is None else KEY
    assert (
        read_custom_fields(key, references=OWN, allowed=(), inventory=holding(), report=Findings().about(SUBJECT)) == ()
    )


@pytest.mark.parametrize(
    ("inventory", "reason"),
    [
        (Inventory(), "ConfigMapMissing"),
        (holding(X_B="1"), "CustomHeadersDenied"),
        (holding(X_A="1\r\nSet-Cookie: a=b"), "CustomHeadersDenied"),
        (holding(X_A=""), "CustomHeadersDenied"),
        (holding(Content_Length="1"), "CustomHeadersDenied"),
        (holding(**{f"X_{number}": "1" for number in range(51)}), "CustomHeadersDenied"),
    ],
)
def test_what_must_not_be_sent_denies(inventory: Inventory, reason: str) -> None:
    findings = Findings()
    with pytest.raises(Denied):
        read_custom_fields(
            KEY,
            references=OWN,
            allowed=("x-a", "content-length"),
            inventory=inventory,
            report=findings.about(SUBJECT),
        )
    (finding,) = findings.frozen()
    assert (finding.reason, finding.severity) == (reason, Severity.CLOSED)


def denied(references: References) -> str:
    """What is said about a ConfigMap of `shop` with a field that is not allowed."""
    findings = Findings()
    with pytest.raises(Denied):
        read_custom_fields(
            KEY, references=references, allowed=(), inventory=holding(X_Key="1"), report=findings.about(SUBJECT)
        )
    (finding,) = findings.frozen()
    return finding.message


def test_a_config_map_of_another_namespace_denies_and_nothing_of_it_is_told() -> None:
    assert "X-Key" in denied(OWN)
    assert "is of another namespace: name one of team" in denied(References("team"))
    for references in (References("team"), OTHERS):
        assert "X-Key" not in denied(references)


def test_a_config_map_of_another_namespace_counts_where_the_operator_allows_it() -> None:
    rules = read_custom_fields(
        KEY, references=OTHERS, allowed=("x-a",), inventory=holding(X_A="1"), report=Findings().about(SUBJECT)
    )
    assert rules == (SetFields((("X-A", "1"),)),)
