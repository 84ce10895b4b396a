"""Options about access: how values are read, and what a ConfigMap blocks."""

from __future__ import annotations

import pytest

from balancer.model.gates import BlockedClients
from balancer.model.routes import PathParameters
from ingress.settings.table.access import ACCESS_OPTIONS, AccessSettings, auth_type, blocked, secret_reference
from ingress.settings.values import InvalidValue

GRAMMARS = {option.name: option.grammar for option in ACCESS_OPTIONS}


@pytest.mark.parametrize(("text", "expected"), [("basic", True), (" basic ", True), ("", False), ("  ", False)])
def test_only_basic_asks_for_a_password(text: str, expected: bool) -> None:
    assert auth_type(text) is expected


@pytest.mark.parametrize("text", ["digest", "Basic", "kerberos", "off", "none"])
def test_another_type_is_invalid(text: str) -> None:
    with pytest.raises(InvalidValue, match="basic"):
        auth_type(text)


@pytest.mark.parametrize("text", ["pw", "shop/pw", " pw ", "", "a.b-c"])
def test_a_secret_is_named_with_or_without_its_namespace(text: str) -> None:
    assert secret_reference(text) == text.strip()


@pytest.mark.parametrize("text", ["/pw", "a/b/c", "shop/", "Shop/pw", "p w", "../pw", "a\nb", "."])
def test_what_names_no_secret_is_invalid(text: str) -> None:
    with pytest.raises(InvalidValue):
        secret_reference(text)


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("auth-secret-type", "auth-map", True),
        ("auth-secret-type", "auth-file", False),
        ("auth-secret-type", "", False),
        ("auth-realm", "The Shop - 1/2: x_y~z.", "The Shop - 1/2: x_y~z."),
        ("auth-realm", "off", "off"),
        ("satisfy", "any", True),
        ("satisfy", "all", False),
        ("satisfy", "", False),
        ("path-parameters", "refuse", PathParameters.REFUSE),
        ("path-parameters", " strip-for-matching ", PathParameters.STRIP),
        ("path-parameters", "pass", PathParameters.PASS),
    ],
)
def test_values_that_are_read(name: str, text: str, expected: object) -> None:
    assert GRAMMARS[name](text) == expected


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("auth-secret-type", "map"),
        ("path-parameters", "strip"),
        ("auth-realm", 'a"b'),
        ("auth-realm", "a\\b"),
        ("auth-realm", "a\r\nX: y"),
        ("auth-realm", "$host"),
        ("auth-realm", "é"),
        ("satisfy", "Any"),
        ("satisfy", "some"),
    ],
)
def test_values_that_are_not(name: str, text: str) -> None:
    with pytest.raises(InvalidValue):
        GRAMMARS[name](text)


def test_blocked_texts_are_a_list_and_quotes_do_not_count() -> None:
    assert blocked(" ~*chrome/68 , AlphaBot,, \"~my bot\", 'x' ") == ("AlphaBot", "x", "~*chrome/68", "~my bot")
    assert blocked(" ") == ()


@pytest.mark.parametrize("text", ["ok,~(", "~*[", ",".join(f"bot{number}" for number in range(501))])
def test_a_list_with_one_broken_expression_or_too_many_is_invalid(text: str) -> None:
    with pytest.raises(InvalidValue):
        blocked(text)


def test_only_lists_that_name_somebody_are_gates() -> None:
    assert AccessSettings().gates() == ()
    assert AccessSettings(blocked_referers=("x",)).gates() == (BlockedClients((), ("x",)),)
