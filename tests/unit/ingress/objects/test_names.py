"""Names follow the grammars of the Kubernetes API."""

from __future__ import annotations

import pytest

from ingress.objects.names import HOST, LABEL, LABEL_VALUE, PORT_NAME, SUBDOMAIN, WILDCARD_SUBDOMAIN, covering, is_host


@pytest.mark.parametrize("name", ["a", "a.b", "a-b.c-d", "0.1", "a" * 63 + "." + "b" * 63, "a" * 253])
def test_subdomains(name: str) -> None:
    assert SUBDOMAIN.fullmatch(name)


@pytest.mark.parametrize("name", ["", "A", "a..b", "-a", "a-", ".a", "a.", "a_b", "a b", "a\n", "a/b", "ä", "a" * 254])
def test_not_subdomains(name: str) -> None:
    assert not SUBDOMAIN.fullmatch(name)


def test_names_of_hosts_have_labels_that_dns_can_carry() -> None:
    assert HOST.fullmatch("a" * 63 + ".b-c.0")
    for name in ("a" * 64, "a." + "b" * 64, "c." + "b" * 64 + ".a", "a..b", "-a", "A", "a." * 127 + "a"):
        assert not HOST.fullmatch(name)


def test_a_wildcard_is_the_whole_first_label() -> None:
    assert WILDCARD_SUBDOMAIN.fullmatch("*.foo.com")
    for name in ("*", "*.", "foo.*.com", "*foo.com", "*.*.com"):
        assert not WILDCARD_SUBDOMAIN.fullmatch(name)


def test_labels_hold_no_dots_and_at_most_63_characters() -> None:
    assert LABEL.fullmatch("a" * 63)
    assert not LABEL.fullmatch("a" * 64)
    assert not LABEL.fullmatch("a.b")


def test_port_names_need_a_letter_and_at_most_15_characters() -> None:
    assert PORT_NAME.fullmatch("http-8080")
    for name in ("", "8080", "a--b", "HTTP", "a" * 16, "-a"):
        assert not PORT_NAME.fullmatch(name)


def test_label_values_are_what_zones_are_called() -> None:
    assert LABEL_VALUE.fullmatch("eu-central-1a")
    assert LABEL_VALUE.fullmatch("Zone_1.b")
    for value in ("", "a b", "-a", "a\n", "a" * 64):
        assert not LABEL_VALUE.fullmatch(value)


@pytest.mark.parametrize("grammar", [SUBDOMAIN, WILDCARD_SUBDOMAIN, LABEL, PORT_NAME, LABEL_VALUE])
def test_no_grammar_lets_a_line_break_through_at_the_end(grammar: object) -> None:
    assert not grammar.fullmatch("a\n")  # type: ignore[attr-defined]


def test_a_wildcard_covers_one_label() -> None:
    assert covering("a.b.test") == ("a.b.test", "*.b.test")
    assert covering("localhost") == ("localhost",)


def test_an_expression_is_no_host() -> None:
    assert is_host("a.test")
    assert is_host("*.a.test")
    assert not any(map(is_host, ("", "~^a[0-9]+[.]test$", "A.test", "a.*.test", "a.test:80")))
