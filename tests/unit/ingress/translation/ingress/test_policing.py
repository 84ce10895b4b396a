"""Which annotations the operator forbids."""

from __future__ import annotations

import pytest

from ingress.settings.table.annotation_policy import AnnotationPolicy, Risk
from ingress.translation.ingress.policing import forbidden

NGINX = "nginx.ingress.kubernetes.io/"


@pytest.mark.parametrize(
    ("name", "most_risk", "is_forbidden"),
    [
        (f"{NGINX}server-alias", Risk.HIGH, False),
        (f"{NGINX}server-alias", Risk.MEDIUM, True),
        (f"{NGINX}denylist-source-range", Risk.MEDIUM, False),
        (f"{NGINX}denylist-source-range", Risk.LOW, True),
        (f"{NGINX}whitelist-source-range", Risk.LOW, True),
        (f"{NGINX}canary", Risk.LOW, False),
        (f"{NGINX}no-such-name", Risk.LOW, False),
        ("cert-manager.io/server-alias", Risk.LOW, False),
        ("zonal-ingress.io/zone-policy", Risk.LOW, False),
    ],
)
def test_a_risk_above_the_level_is_forbidden(name: str, most_risk: Risk, is_forbidden: bool) -> None:
    found = forbidden({name: "x"}, AnnotationPolicy(most_risk=most_risk))
    assert [each for each, _ in found] == ([name] if is_forbidden else [])


@pytest.mark.parametrize(
    ("name", "value", "is_forbidden"),
    [
        (f"{NGINX}upstream-vhost", "a.bad.test", True),
        (f"{NGINX}upstream-vhost", "a.BAD.test", False),
        (f"{NGINX}upstream-vhost", "a.good.test", False),
        (f"{NGINX}configuration-snippet", "# {}", True),
        (f"{NGINX}no-such-name", "bad", True),
        ("zonal-ingress.io/zone-policy", "bad", True),
        ("other.test/upstream-vhost", "bad", False),
    ],
)
def test_a_word_of_the_list_is_forbidden_wherever_it_stands_in_a_value(
    name: str, value: str, is_forbidden: bool
) -> None:
    found = [each for each, _ in forbidden({name: value}, AnnotationPolicy(words=("bad", "{")))]
    assert found == ([name] if is_forbidden else [])


def test_why_names_the_annotation_and_the_key() -> None:
    ((_, why),) = forbidden({f"{NGINX}auth-url": "http://a"}, AnnotationPolicy(most_risk=Risk.LOW))
    assert "auth-url" in why
    assert "annotations-risk-level" in why
