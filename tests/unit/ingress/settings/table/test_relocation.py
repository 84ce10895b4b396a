"""proxy-redirect and proxy-cookie: what is taken, and what becomes of it."""

from __future__ import annotations

import pytest

from balancer.model.redirects import UrlForm
from balancer.model.relocation import RewriteCookies, RewriteLocation
from ingress.settings.table.relocation import Relocation
from ingress.settings.values import InvalidValue
from tests.unit.ingress.said import BY_NAME, said

FORM = UrlForm(relative=True)


def relocation(**texts: str) -> Relocation:
    return said({name.replace("_", "-"): text for name, text in texts.items()}).over(Relocation())


@pytest.mark.parametrize(
    "texts",
    [
        {},
        {"proxy_redirect_from": "off", "proxy_redirect_to": "http://a.test/"},
        {"proxy_redirect_from": "default", "proxy_redirect_to": "http://a.test/"},
        {"proxy_redirect_from": "http://a.test/"},
        {"proxy_redirect_to": "http://a.test/"},
        {"proxy_cookie_domain": "off", "proxy_cookie_path": "off"},
    ],
)
def test_off_default_and_one_half_alone_rewrite_nothing(texts: dict[str, str]) -> None:
    assert relocation(**texts).rules(FORM) == ()


def test_two_texts_rewrite_locations() -> None:
    (rule,) = relocation(proxy_redirect_from=" http://a.test/ ", proxy_redirect_to="$scheme://$host/").rules(FORM)
    assert rule == RewriteLocation("http://a.test/", "$scheme://$host/", FORM)


def test_two_words_rewrite_cookies() -> None:
    (rule,) = relocation(proxy_cookie_domain="a.test  b.test", proxy_cookie_path="/one/ /").rules(FORM)
    assert rule == RewriteCookies(("a.test", "b.test"), ("/one/", "/"))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("proxy-cookie-path", "/one"),
        ("proxy-cookie-path", "/one /two /three"),
        ("proxy-cookie-path", "/one $nothing"),
        ("proxy-cookie-path", "/one /two;"),
        ("proxy-cookie-domain", ""),
        ("proxy-cookie-domain", "a.test $1"),
        ("proxy-cookie-domain", "~(a).test $2"),
        ("proxy-cookie-path", "~( /"),
        ("proxy-cookie-path", "~(a{1,900}b{1,900}){1,900} /"),
        ("proxy-redirect-from", ""),
        ("proxy-redirect-from", "http://a.test/ http://b.test/"),
        ("proxy-redirect-to", 'http://a.test/"'),
        ("proxy-redirect-to", "http://a.test/\r\nX: y"),
    ],
)
def test_what_nginx_would_not_take_is_refused(name: str, text: str) -> None:
    with pytest.raises(InvalidValue):
        BY_NAME[name].grammar(text)


@pytest.mark.parametrize("to", ["http://b.test/$1", "$nothing", "$"])
def test_texts_that_do_not_fit_together_are_refused(to: str) -> None:
    with pytest.raises(InvalidValue):
        relocation(proxy_redirect_from="http://a.test/", proxy_redirect_to=to).rules(FORM)
