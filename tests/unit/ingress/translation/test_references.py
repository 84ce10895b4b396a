"""Objects that annotations name: of which namespace they are, and whether they may be used."""

from __future__ import annotations

from ingress.translation.references import References

OWN, ANY = References("shop"), References("shop", others_allowed=True)


def test_a_reference_without_a_namespace_is_of_the_ingress() -> None:
    assert OWN.key("pw") == ("shop", "pw")
    assert OWN.key("other/pw") == ("other", "pw")


def test_another_namespace_is_a_problem_unless_the_operator_allows_it() -> None:
    assert OWN.problem("auth-secret", "pw") is None
    assert OWN.problem("auth-secret", "shop/pw") is None
    assert ANY.problem("auth-secret", "other/pw") is None
    expected = 'auth-secret "other/pw" is of another namespace: name one of shop.'
    assert OWN.problem("auth-secret", "other/pw") == expected


def test_what_must_not_be_used_is_not_wanted() -> None:
    assert OWN.wanted("", "pw", "shop/ca", "other/ca", "a/b/c") == (("shop", "pw"), ("shop", "ca"))
    assert ANY.wanted("", "pw", "other/ca") == (("shop", "pw"), ("other", "ca"))


def test_the_content_of_an_object_is_told_to_its_own_namespace_alone() -> None:
    assert ANY.told("custom-headers", "shop/x", "Field X-Key is wrong.") == "Field X-Key is wrong."
    assert "X-Key" not in ANY.told("custom-headers", "other/x", "Field X-Key is wrong.")
