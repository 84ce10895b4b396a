"""Options about certificates of clients: how values are read."""

from __future__ import annotations

import pytest

from balancer.model.client_tls import ClientVerification
from ingress.settings.table.client_tls import CLIENT_TLS_OPTIONS, subject_pattern
from ingress.settings.values import InvalidValue

GRAMMARS = {option.name.removeprefix("auth-tls-"): option.grammar for option in CLIENT_TLS_OPTIONS}


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("verify-client", "on", ClientVerification.ON),
        ("verify-client", "optional_no_ca", ClientVerification.OPTIONAL_NO_CA),
        ("verify-client", " ", None),
        ("verify-depth", "2", 2),
        ("verify-depth", "0", 1),
        ("verify-depth", "", 1),
        ("error-page", "https://help.test/x?y=z", "https://help.test/x?y=z"),
        ("error-page", "", ""),
        ("match-cn", "CN=(alice|bob)", "CN=(alice|bob)"),
        ("match-cn", " ", ""),
        ("pass-certificate-to-upstream", "true", True),
        ("secret", "shop/clients", "shop/clients"),
    ],
)
def test_values_that_are_read(name: str, text: str, expected: object) -> None:
    assert GRAMMARS[name](text) == expected


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("verify-client", "On"),
        ("verify-client", "true"),
        ("verify-client", "any"),
        ("verify-depth", "-1"),
        ("verify-depth", "one"),
        ("error-page", "/error"),
        ("error-page", "javascript:alert(1)"),
        ("error-page", "https://help.test/\r\nX: y"),
        ("error-page", "https://$host/"),
        ("match-cn", "alice"),
        ("match-cn", "O=shop,CN=alice"),
        ("match-cn", "CN=("),
        ("match-cn", "CN=(a{1000}){1000}"),
        ("pass-certificate-to-upstream", "yes"),
        ("secret", "a/b/c"),
    ],
)
def test_values_that_are_not(name: str, text: str) -> None:
    with pytest.raises(InvalidValue):
        GRAMMARS[name](text)


def test_an_expression_may_have_alternatives() -> None:
    assert subject_pattern("CN=a|b") == "CN=a|b"
