"""Redirects: when they count, the form of their URLs, and how targets, statuses and names are written."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from balancer.model.redirects import HttpsRedirect, UrlForm
from ingress.settings.table.redirects import (
    HostAliases,
    Redirects,
    RedirectTargets,
    app_root,
    https_status,
    redirect_target,
    server_names,
)
from ingress.settings.values import InvalidValue
from tests.unit.ingress.said import said


@pytest.mark.parametrize(
    ("redirects", "has_tls", "redirected"),
    [
        (Redirects(), True, True),
        (Redirects(), False, False),
        (Redirects(ssl_redirect=False), True, False),
        (Redirects(ssl_redirect=False, force_ssl_redirect=True), False, True),
        (Redirects(plain_http_paths=("/a",)), True, False),
        (Redirects(force_ssl_redirect=True, plain_http_paths=("/a/b", "/a")), False, False),
        (Redirects(plain_http_paths=("/b",)), True, True),
    ],
)
def test_a_route_redirects_with_tls_or_by_force_and_never_a_plain_path(
    redirects: Redirects, has_tls: bool, redirected: bool
) -> None:
    assert redirects.to_https("/a/x", has_tls=has_tls) is redirected


def test_the_rule_of_redirects_to_https_has_a_port_only_if_asked_for() -> None:
    plain = Redirects(status=301, preserve_trailing_slash=True, https_port=8443)
    assert plain.https_rule == HttpsRedirect(301, 0, True)
    assert Redirects(ports=True, https_port=8443).https_rule == HttpsRedirect(port=8443)
    assert Redirects(ports=True).https_rule == HttpsRedirect(port=443)


def test_the_form_of_urls() -> None:
    assert Redirects(http_port=8080, https_port=8443).form == UrlForm()
    assert Redirects(relative=True, ports=True, http_port=8080, https_port=8443).form == UrlForm(True, 8080, 8443)


@pytest.mark.parametrize("text", ["https://new.test/home?a=b,c&d", "/new", "//other.test/x", " https://a.test\n", ""])
def test_targets_are_urls_and_paths(text: str) -> None:
    assert redirect_target(text) == text.strip()


@pytest.mark.parametrize(
    "text",
    [
        "https://a.test$request_uri",
        "https://a.test/\r\nSet-Cookie: a=1",
        "https://a.test/ x",
        "https://user@a.test",
        "https://a.test/;x",
        "https://a.test/\x00",
        "https://ä.test",
        "https://a.test/" + "a" * 3000,
    ],
)
def test_targets_hold_no_variables_and_nothing_that_ends_a_field(text: str) -> None:
    with pytest.raises(InvalidValue):
        redirect_target(text)


@pytest.mark.parametrize(
    ("text", "path"), [("/foo", "/foo"), (" /foo/ ", "/foo/"), ("//evil.test", "//evil.test"), ("", "")]
)
def test_an_app_root_is_a_path(text: str, path: str) -> None:
    assert app_root(text) == path


@pytest.mark.parametrize("text", ["https://a.test/", "foo", "/a$1", "/a?b", "/a\nb: c"])
def test_what_is_no_path_is_no_app_root(text: str) -> None:
    with pytest.raises(InvalidValue):
        app_root(text)


@given(st.text(max_size=40))
def test_whatever_is_taken_can_stand_in_a_field(text: str) -> None:
    for grammar in (redirect_target, app_root):
        try:
            taken = grammar(text)
        except InvalidValue:
            continue
        assert not {*taken} & {*" \r\n\t\x00$@#%\\"}
        assert taken.isascii()


@pytest.mark.parametrize("text", ["418", "200", "303", "", "x", "-301"])
def test_redirects_to_https_have_one_of_four_statuses(text: str) -> None:
    assert https_status("302") == 302
    with pytest.raises(InvalidValue):
        https_status(text)


def test_names_are_listed_once_and_in_lower_case() -> None:
    assert server_names("B.test, a.test,b.test,, *.c.test") == ("b.test", "a.test", "*.c.test")
    assert server_names(r"~^(www|api)\.a\.test$") == (r"~^(www|api)\.a\.test$",)
    assert server_names("") == ()


@pytest.mark.parametrize(
    "text", ["a.test; b", "a test", "a.test\nb", ",".join(f"a{number}.test" for number in range(101))]
)
def test_what_ingress_nginx_refuses_among_names_is_refused(text: str) -> None:
    with pytest.raises(InvalidValue):
        server_names(text)


def test_blank_annotations_are_as_if_they_were_missing() -> None:
    names = (
        "permanent-redirect permanent-redirect-code temporal-redirect temporal-redirect-code app-root"
        " from-to-www-redirect server-alias"
    )
    overrides = said(dict.fromkeys(names.split(), ""))
    assert overrides.over(RedirectTargets()) == RedirectTargets()
    assert overrides.over(HostAliases()) == HostAliases()
