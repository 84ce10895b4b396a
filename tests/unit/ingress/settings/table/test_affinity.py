"""Values about affinity: what each word means, and what is refused."""

from __future__ import annotations

import pytest

from balancer.model.policies import Affinity
from ingress.settings.table.affinity import AFFINITY_OPTIONS, AffinityOptions
from ingress.settings.values import InvalidValue
from tests.unit.ingress.said import said

GRAMMARS = {option.name: option.grammar for option in AFFINITY_OPTIONS}


def test_words_mean_fields() -> None:
    texts = {"affinity": "cookie", "affinity-canary-behavior": "legacy", "affinity-mode": "persistent"}
    assert said(texts).over(AffinityOptions()) == AffinityOptions(by_cookie=True, sticky=False)
    assert said(texts).over(Affinity()) == Affinity(persistent=True)
    texts = {"affinity-canary-behavior": " sticky ", "affinity-mode": "balanced", "session-cookie-path": "/x"}
    assert said(texts).over(AffinityOptions()) == AffinityOptions(cookie_path="/x")
    assert said(texts).over(Affinity()) == Affinity()


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("affinity", "Cookie"),
        ("affinity-mode", ""),
        ("session-cookie-name", "a b"),
        ("session-cookie-path", "shop"),
        ("session-cookie-domain", "a;b"),
        ("session-cookie-expires", "007"),
        ("session-cookie-max-age", "1.5"),
        ("session-cookie-samesite", "loose"),
        ("upstream-hash-by", "$nobody_knows_it"),
    ],
)
def test_what_does_not_parse_is_refused(name: str, text: str) -> None:
    with pytest.raises(InvalidValue):
        GRAMMARS[name](text)
